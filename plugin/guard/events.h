// The policy and what it says of this node as events. What it says of a pair of ends pairs.cc
// tells, and guard.cc that it can't be enforced. Not for the data path.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/lint.h"
#include "policy/load.h"
#include "policy/verdict.h"

namespace nnd::guard {

// policy.loaded; a warning for each error in the file, of which the first led to this failure (0:
// to none).
// ignored: variables that a locked policy has taken out.
void emit_loaded(const policy::Loaded& loaded, policy::Mode mode,
                 const std::vector<std::string>& ignored, std::uint32_t failure);

// policy.refuse (error) or policy.warn (warn, in observe mode info).
void emit_verdicts(const std::vector<policy::Verdict>& verdicts);

// env.lint (warn, in observe mode info).
void emit_lint(const std::vector<policy::Lint>& lint, policy::Mode mode);

}  // namespace nnd::guard
