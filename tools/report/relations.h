// What of a model's observations explains what. Internal to the model.
#pragma once

#include "report/model.h"

namespace nnd::report {

// Fills in `by` and `how` of all observations, and the sinks.
void relate(Model& model, const Picture& picture);

}  // namespace nnd::report
