// The PCI bus: which GPUs are there, how far an HCA is from them, and RDMA hardware that no RDMA
// driver has taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "facts/sysfs.h"

namespace nnd::facts {

struct PciFunction {
  std::string address;  // "0000:c1:00.0"
  std::string path;     // within sysfs, all links followed
  int numa = -1;        // -1: not known
  // Of a GPU, where NVIDIA's driver tells (name_gpus).
  int index = -1;         // nvidia-smi's number
  std::string uuid = {};  // "GPU-8f5a..."
};

struct PciBus {
  std::vector<PciFunction> gpus;  // NVIDIA's, by address
  // InfiniBand controllers, and Mellanox Ethernet ones: what could do RDMA with a driver.
  std::size_t rdma = 0;
  bool infiniband = false;     // some of these
  std::size_t nvswitches = 0;  // where the whole bus was read
};

// The name of a folder of sysfs is a function's, "0000:c1:00.0", and not "pci0000:c0".
bool is_function(std::string_view name);

// One small file per function on the bus, one more per RDMA function, and three more per GPU. A big
// node has hundreds: unless the whole bus is wanted, only the GPUs that NVIDIA's driver has are
// looked at, where it is loaded.
PciBus read_pci_bus(const FileTree& sysfs, bool whole);

// Adds what /proc/driver/nvidia/gpus has (the README of NVIDIA's Linux driver 535, "proc"):
// nvidia-smi counts the GPUs there by PCI address. `files`: the parent of proc/.
void name_gpus(const FileTree& files, std::vector<PciFunction>& gpus);

// As NCCL names them (graph/topo.h, 2.18.3 to 2.30.7), nearest first.
enum class PciDistance : std::uint8_t {
  kPix,  // below one PCIe switch
  kPxb,  // over several switches, not over a CPU
  kPhb,  // over a CPU
  kSys,  // over the link between CPUs
  kUnknown
};

// From the two functions' places in sysfs; a NUMA node of -1 is not known.
PciDistance pci_distance(std::string_view path_a, int numa_a, std::string_view path_b, int numa_b);

const char* pci_distance_text(PciDistance distance);  // "PIX", ...; "unknown"

}  // namespace nnd::facts
