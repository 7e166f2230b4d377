// From a seed to a job. Nothing here knows how it is judged.
#pragma once

#include <string>
#include <vector>

#include "verdict/case.h"

namespace nnd::verdict {

// What is not drawn.
struct Wanted {
  std::vector<std::string> releases;  // to draw one from
  bool healthy = false;               // without a fault
  std::string fault;                  // that all have; empty: it is drawn too
  std::string ending;                 // that ending_of has to contain; empty: any
};

// Throws std::runtime_error where no draw is like it.
Case draw(unsigned long seed, const Wanted& wanted);

}  // namespace nnd::verdict
