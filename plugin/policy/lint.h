// What is odd in the environment, whether or not anything breaks. A pure function of facts.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/diagnosis.h"
#include "facts/node.h"

namespace nnd::policy {

struct Lint {
  std::string variable;
  std::string value;
  diagnosis::Diagnosis diagnosis;
};

// In the order of the variables' names. A clean environment gives none.
std::vector<Lint> lint_environment(const facts::Node& node, const facts::Environment& environment);

}  // namespace nnd::policy
