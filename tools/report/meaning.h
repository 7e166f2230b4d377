// What it means that something differs between nodes: which cause that is, of which HCA, and who of
// two is at fault. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_net_diag/causes.h"
#include "report/deviation.h"

namespace nnd::report {

struct DeviationMeaning {
  std::string_view what;  // how Deviation::what begins
  std::optional<nccl_net_diag::Cause> cause;
  bool of_end = false;   // only what fails on that HCA can follow from it
  std::size_t rank = 0;  // the less the more it tells
};

// Nothing: it explains no failure.
std::optional<DeviationMeaning> meaning_of(const std::string& what);

// "mlx5_0" of "GID index of mlx5_0 and 3 more"; empty: it is not one HCA's.
std::string device_of(const std::string& what);

// Of two camps as big: which of Deviation::others is at fault, where less is worse. Nothing: it
// can't be told.
std::optional<std::size_t> guilty_camp(const Deviation& odd);

// Links that carry at most half of what those of most do.
bool is_far_slower(const Deviation& odd);

}  // namespace nnd::report
