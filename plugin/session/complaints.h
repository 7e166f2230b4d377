// Tells what is wrong with a variable, as env.lint.
#pragma once

#include "config/settings.h"

namespace nnd::session {

void tell_complaint(const config::Complaint& complaint);

}  // namespace nnd::session
