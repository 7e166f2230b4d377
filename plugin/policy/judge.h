// Judging a node before NCCL sees its HCAs. A pure function: the same facts and the same policy
// give the same verdicts, here and in `nccl-net-diag check`. No I/O.
#pragma once

#include <string_view>

#include "facts/node.h"
#include "policy/verdict.h"

namespace nnd::policy {

// Only ports that NCCL would take are judged: NCCL_IB_HCA goes first and is never widened.
Judgement judge_node(const facts::Node& node, const Policy& policy, Mode mode,
                     std::string_view host);

// In enforce mode, where a refusal makes room for ports beyond NCCL's limit: these are taken then.
void fill_places(facts::Node& node, const Judgement& judgement);

// By hca.deny or hca.allow, whatever state it is in. `policy` is one of Policy::for_host().
bool denied_by_name(const Policy& policy, std::string_view host, std::string_view device);

// The mode in effect: the environment's where it was given, else the file's.
Mode effective_mode(const Policy& policy, const config::Settings& settings);

// "NCCL_IB_HCA==mlx5_0,mlx5_1": takes exactly these ports ("mlx5_0:1") of this node.
std::string hca_setting(const facts::Node& node, const std::vector<std::string>& ports);

}  // namespace nnd::policy
