// Whether a report names what was planted.
#pragma once

#include <string>

#include "report/report.h"
#include "synth/job.h"

namespace nnd::synth {

// Empty: it does. Else one clause: what it says instead.
std::string wrong_about(const report::Report& report, const Spec& spec, const Planted& planted);

// Likewise where logs are missing: it may say less, and nothing that is not so.
std::string false_about(const report::Report& report, const Spec& spec, const Planted& planted);

}  // namespace nnd::synth
