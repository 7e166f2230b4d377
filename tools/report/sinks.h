// Where waits end: at the ends of chains, and where no chain shows it.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "report/model.h"

namespace nnd::report {

struct WaitsFor {
  std::vector<std::optional<std::size_t>> sink;  // of each process: of Waits::sinks
  std::set<std::size_t> inside;                  // who is, or was, inside what others are behind in
};

// Fills in model.waits.sinks. `stuck`: as chains_of() takes it.
WaitsFor add_sinks(Model& model, const Picture& picture, const std::vector<const Wait*>& stuck);

}  // namespace nnd::report
