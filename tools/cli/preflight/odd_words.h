// What differs between nodes, in sentences. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/preflight/allocation.h"
#include "report/deviation.h"

namespace nnd::cli {

// How report::Deviation::what begins, or what it is.
inline constexpr std::string_view kStateOf = "state of ", kSubnetOf = "subnet of ",
                                  kSpeedOf = "Mbit/s of ", kGdrOf = "GPUDirect RDMA of ",
                                  kMemlock = "limit on locked memory", kInUse = "HCAs in use";

// One of NCCL's or UCX's variables, or NCCL itself.
bool is_variable(const report::Deviation& odd);
// Two camps as big, of several nodes each: perhaps they are meant to be so.
bool is_two_kinds(const report::Deviation& odd);
// Two camps as big, where nothing says which is at fault.
bool is_tie(const report::Deviation& odd);

// Null: the node hasn't it.
const log::Hca* hca_of(const Node& node, const std::string& device);

// With both values; ends with a full stop. Deviation::Differing::members are indices into nodes.
std::string odd_text(const std::vector<Node>& nodes, const report::Deviation& odd);
std::string odd_remedy(const std::vector<Node>& nodes, const report::Deviation& odd,
                       const Finding& finding);

}  // namespace nnd::cli
