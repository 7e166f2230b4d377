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

// GPUs that are more than the ports nearest to them.
struct SharedPorts {
  std::vector<std::string> gpus;   // "GPU 0 0000:11:00.0"
  std::vector<std::string> ports;  // "mlx5_0:1"
};

struct Carried {
  std::size_t ports = 0;
  double gbit = 0;  // what the slots let through; 0: a port's speed isn't known
  std::size_t gpus = 0;
  std::vector<SlotLimit> slots;  // that let through less than their ports carry
  std::vector<SharedPorts> shared;
  // HCAs that can't reach GPUs' memory, and why not. None where there is no GPU, or no driver that
  // tells what its GPUs can do.
  std::vector<std::string> through_host;
  std::set<std::string> why_through_host;
  bool all_through_host = false;
};

// ports: "mlx5_0:1", as policy::Judgement::remaining has them.
Carried carried_by(const facts::Node& node, const std::set<std::string>& ports);

// What the PCIe link of an HCA's card carries, less the line code, in Gbit/s; 0: not known, or GPUs
// may be reached by another link.
double slot_gbit(const facts::Hca& hca);

// "the 8 ports carry 3200 Gbit/s, …", and a line for each thing that bounds it; none where nothing
// is known.
std::vector<std::string> carried_lines(const Carried& carried);

}  // namespace nnd::cli
