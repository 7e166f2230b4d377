// What the machine and the process bring along: limits, kernel, driver versions, environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis/memory.h"
#include "facts/nccl_rules.h"
#include "facts/sysfs.h"

namespace nnd::facts {

struct Limits {
  std::uint64_t memlock_soft = 0;  // bytes; UINT64_MAX: unlimited
  std::uint64_t memlock_hard = 0;
  std::uint64_t nofile_soft = 0;
  std::uint64_t nofile_hard = 0;
  bool cap_ipc_lock = false;  // effective: memlock does not apply

  bool known() const { return memlock_soft != 0 || memlock_hard != 0 || nofile_soft != 0; }
};

// Of this process. `files`: the parent of proc/.
Limits read_limits(const FileTree& files);

diagnosis::LockedMemory locked_memory(const Limits& limits) noexcept;

struct ConfFile {
  std::string path;
  std::uint64_t hash = 0;  // FNV-1a of its values as they are shown
  // Names as NCCL reads them, values as they may be shown (config/redact.h).
  std::vector<std::pair<std::string, std::string>> values;
};

struct System {
  std::string kernel;  // "5.15.0-113-generic"
  int kernel_major = 0;
  int kernel_minor = 0;
  std::string ofed;        // module/mlx_compat/version or module/mlx5_core/version
  std::string rdma_core;   // from the file name of the loaded libibverbs: "1.14.48.0"
  std::string gpu_driver;  // "550.90.07"
  bool gpu_driver_loaded = false;
  std::optional<bool> gpu_driver_open;  // none: not told
  std::string iommu;                    // the iommu and ACS words of the kernel's command line
  std::vector<std::string> container;   // what hints at one; empty: none seen
  bool dev_infiniband = false;          // /dev/infiniband is there
  Limits limits;
  // NCCL_* and UCX_*, sorted; values as they may be shown (config/redact.h).
  std::vector<std::pair<std::string, std::string>> environment;
  std::uint64_t environment_hash = 0;  // of what is shown, but for NCCL_NET_DIAG_*
  // NCCL_* names that process 1 (a container's first) has and this one lacks, where it may be read.
  std::vector<std::string> missing_from_init;
  std::vector<ConfFile> conf_files;  // those that NCCL reads and that are there
  // By which NCCL knows the PCI bus, before it asks sysfs; empty: there is none.
  std::string topology_file;
};

struct SystemSources {
  FileTree sysfs;
  std::string root;  // put before /proc, /dev, /etc
  std::string home;
  const Environment& environment;
};

System read_system(const SystemSources& sources);

// "/usr/lib/libibverbs.so.1.14.48.0": "1.14.48.0"; empty where the name has no full version.
std::string library_version(std::string_view path);

std::uint64_t fnv1a(std::string_view bytes, std::uint64_t seed = 0xcbf29ce484222325ULL);

}  // namespace nnd::facts
