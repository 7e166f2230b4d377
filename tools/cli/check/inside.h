// What NCCL's processes need of this node besides its HCAs, as far as a process can see it without
// a GPU and a job: shared memory, CPUs, threads, the bridges between GPUs, what catches sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/check/inside_words.h"
#include "config/launchers.h"
#include "facts/node.h"

namespace nnd::cli {

struct SharedMemory {
  std::uint64_t bytes = 0, free = 0;
};

struct Cpus {
  double usable = 0;  // by this process: its affinity, and its cgroup's share of time
  std::size_t all = 0;
  std::string by;  // "its CPU affinity"
};

struct Inside {
  std::size_t gpus = 0;  // that this process may find: /dev/nvidia<N>
  std::optional<SharedMemory> shm;
  std::optional<Cpus> cpus;
  std::optional<FewThreads> threads;  // the limit that leaves least
  std::size_t nvswitches = 0;
  std::optional<bool> fabric_manager;  // none: not all processes can be seen from here
  // PCIe bridges below a switch with GPUs and HCAs, which send on to the root complex what these
  // send each other; none: only root can read it.
  std::optional<std::vector<std::string>> redirecting;
  std::vector<std::string> translated;  // GPUs behind an IOMMU that translates
  std::vector<std::string> apart;       // "NCCL_P2P_DISABLE=1": what keeps its GPUs apart
  std::string virtual_machine;  // "Microsoft Corporation Virtual Machine"; empty: it is none
  std::optional<MeshProxy> mesh;
  std::optional<MoreRanksThanGpus> tasks;  // under a launcher, whether or not they fit
};

// Reads /proc, /dev and sysfs, less than a thousand small files. root: put before /proc, /dev and
// /sys/fs/cgroup; empty but in tests.
Inside look_inside(const facts::Node& node, const std::string& root,
                   const config::Lookup& variable);

// What is wrong; empty on a healthy node, and on one without GPUs.
std::vector<diagnosis::Diagnosis> troubles_of(const Inside& inside, const facts::Node& node);

// In a line each; empty: there is no GPU here.
std::vector<std::string> inside_lines(const Inside& inside, const facts::Node& node);

nlohmann::json inside_json(const std::optional<Inside>& inside, const facts::Node& node);

}  // namespace nnd::cli
