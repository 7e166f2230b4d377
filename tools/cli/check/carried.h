// What the ports that NCCL will use carry, and what keeps them from it on this side of the cable.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "facts/node.h"

namespace nnd::cli {

// Gbit/s of 10^9 bits, each way.
struct SlotLimit {
  std::string hcas;  // "mlx5_0", "mlx5_0, mlx5_1" of one card
  double gts = 0;    // the PCIe link as it trained
  int width = 0;
  double slot_gbit = 0, ports_gbit = 0;
};

struct Carried {
  std::size_t ports = 0;
  double gbit = 0;  // what the slots let through; 0: a port's speed isn't known
  std::size_t gpus = 0;
  std::vector<SlotLimit> slots;  // that let through less than their ports carry
};

// ports: "mlx5_0:1", as policy::Judgement::remaining has them.
Carried carried_by(const facts::Node& node, const std::set<std::string>& ports);

// "the 8 ports carry 3200 Gbit/s, …", and a line for each slot; none where nothing is known.
std::vector<std::string> carried_lines(const Carried& carried);

}  // namespace nnd::cli
