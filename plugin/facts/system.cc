#include "facts/system.h"

#include <link.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <limits>

#include "config/redact.h"

namespace nnd::facts {

namespace {

constexpr unsigned kCapIpcLock = 14;
constexpr std::size_t kMaxConf = 256 * 1024;

std::uint64_t bytes_or_all(rlim_t value) {
  return value == RLIM_INFINITY ? std::numeric_limits<std::uint64_t>::max() : value;
}

// libibverbs.so.1.14.48.0: the last numbers are rdma-core's version. From the loader's list: no
// file is read but one link.
std::string loaded_rdma_core() {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        const std::string_view name = info->dlpi_name ? info->dlpi_name : "";
        if (name.find("/libibverbs.so") == std::string_view::npos) return 0;
        *static_cast<std::string*>(out) = name;
        return 1;
      },
      &path);
  if (path.empty()) return {};
  std::array<char, PATH_MAX> real;
  if (!realpath(path.c_str(), real.data())) return {};
  return library_version(real.data());
}

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.90.07  Release Build ..."
void read_gpu_driver(const FileTree& files, const FileTree& sysfs, System& out) {
  const FileText file = files.read("proc/driver/nvidia/version");
  if (!file.ok()) {
    out.gpu_driver_loaded = sysfs.exists("module/nvidia");
    if (out.gpu_driver_loaded) out.gpu_driver = sysfs.read("module/nvidia/version", 64).text;
    return;
  }
  out.gpu_driver_loaded = true;
  const std::string_view line = std::string_view(file.text).substr(0, file.text.find('\n'));
  out.gpu_driver_open = line.find("Open Kernel Module") != std::string_view::npos;
  std::size_t at = 0;
  while (at < line.size()) {
    const auto start = line.find_first_not_of(' ', at);
    if (start == std::string_view::npos) break;
    at = std::min(line.find(' ', start), line.size());
    const auto word = line.substr(start, at - start);
    if (word.find_first_not_of("0123456789.") == std::string_view::npos &&
        word.find('.') != std::string_view::npos) {
      out.gpu_driver = word;
      return;
    }
  }
}

std::string iommu_words(const std::string& cmdline) {
  std::string out;
  std::size_t at = 0;
  while (at < cmdline.size()) {
    const auto end = std::min(cmdline.find(' ', at), cmdline.size());
    const std::string word = cmdline.substr(at, end - at);
    if (word.find("iommu") != std::string::npos || word.find("smmu") != std::string::npos ||
        word.find("acs") != std::string::npos)
      out += (out.empty() ? "" : " ") + word;
    at = end + 1;
  }
  return out;
}

std::vector<std::string> container_hints(const FileTree& files, const Environment& environment) {
  std::vector<std::string> out;
  for (const char* file : {".dockerenv", "run/.containerenv", ".singularity.d"})
    if (files.exists(file)) out.push_back(std::string("/") + file);
  for (const char* name : {"KUBERNETES_SERVICE_HOST", "SINGULARITY_CONTAINER",
                           "APPTAINER_CONTAINER", "ENROOT_ROOTFS", "container"})
    if (environment.get(name)) out.emplace_back(name);
  return out;
}

void read_environment(const Environment& environment, System& out) {
  out.environment_hash = fnv1a("");
  for (const auto& [name, value] : environment.values()) {
    if (!name.starts_with("NCCL_") && !name.starts_with("UCX_")) continue;
    const std::string& shown =
        out.environment.emplace_back(name, config::shown_value(name, value)).second;
    // Our own are often meant to differ from process to process.
    if (name.starts_with("NCCL_NET_DIAG_")) continue;
    // Of what is shown: a hash of a short secret gives it away.
    for (const std::string_view part : {std::string_view(name), std::string_view("="),
                                        std::string_view(shown), std::string_view("\n")})
      out.environment_hash = fnv1a(part, out.environment_hash);
  }
}

void compare_with_init(const FileTree& files, const Environment& environment, System& out) {
  const FileText file = files.read("proc/1/environ", 256 * 1024);
  for (std::size_t at = 0; at < file.text.size();) {
    const auto end = std::min(file.text.find('\0', at), file.text.size());
    const auto entry = std::string_view(file.text).substr(at, end - at);
    const auto name = entry.substr(0, entry.find('='));
    if (name.starts_with("NCCL_") && !environment.get(name))
      out.missing_from_init.emplace_back(name);
    at = end + 1;
  }
}

// NCCL (src/misc/param.cc): NCCL_CONF_FILE or ~/.nccl.conf, then /etc/nccl.conf; lines name=value,
// '#' in the first column is a comment; what the environment has already is not replaced.
void read_conf(const std::string& shown, const FileTree& tree, const std::string& path,
               System& out) {
  const FileText file = tree.read(path, kMaxConf);
  if (!file.ok()) return;
  ConfFile conf;
  conf.path = shown;
  conf.hash = fnv1a("");
  std::size_t at = 0;
  while (at < file.text.size()) {
    const auto end = std::min(file.text.find('\n', at), file.text.size());
    const std::string line = file.text.substr(at, end - at);
    const auto equals = line.find('=');
    if (!line.starts_with('#') && equals != std::string::npos) {
      const std::string name = line.substr(0, equals);
      const std::string& value =
          conf.values.emplace_back(name, config::shown_value(name, line.substr(equals + 1))).second;
      for (const std::string_view part : {std::string_view(name), std::string_view("="),
                                          std::string_view(value), std::string_view("\n")})
        conf.hash = fnv1a(part, conf.hash);
    }
    at = end + 1;
  }
  out.conf_files.push_back(std::move(conf));
}

void read_conf_files(const SystemSources& sources, System& out) {
  const FileTree files(sources.root);
  const std::string* named = sources.environment.get("NCCL_CONF_FILE");
  if (named && !named->empty())
    read_conf(*named, FileTree(named->starts_with('/') ? "" : "."), *named, out);
  else if (!sources.home.empty())
    read_conf(sources.home + "/.nccl.conf", FileTree(sources.home), ".nccl.conf", out);
  read_conf("/etc/nccl.conf", files, "etc/nccl.conf", out);
}

// ncclTopoGetSystem (NCCL v2.18.3-1 and v2.28.9-1 src/graph/topo.cc). One that is missing is passed
// over there.
std::string topology_file(const FileTree& files, const Environment& environment) {
  const std::string* const named = environment.get("NCCL_TOPO_FILE");
  const std::string path = named ? *named : "/var/run/nvidia-topologyd/virtualTopology.xml";
  const bool relative = !path.starts_with('/');
  return relative || files.exists(path.substr(1)) ? path : std::string();
}

}  // namespace

Limits read_limits(const FileTree& files) {
  Limits out;
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
    out.memlock_soft = bytes_or_all(limit.rlim_cur);
    out.memlock_hard = bytes_or_all(limit.rlim_max);
  }
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    out.nofile_soft = bytes_or_all(limit.rlim_cur);
    out.nofile_hard = bytes_or_all(limit.rlim_max);
  }
  const std::string status = files.read("proc/self/status").text;
  const auto at = status.find("CapEff:");
  if (at != std::string::npos) {
    const std::uint64_t caps = std::strtoull(status.c_str() + at + 7, nullptr, 16);
    out.cap_ipc_lock = ((caps >> kCapIpcLock) & 1) != 0;
  }
  return out;
}

diagnosis::LockedMemory locked_memory(const Limits& limits) noexcept {
  return {limits.known(), limits.memlock_soft, limits.cap_ipc_lock};
}

std::uint64_t fnv1a(std::string_view bytes, std::uint64_t seed) {
  for (const char byte : bytes) {
    seed ^= static_cast<unsigned char>(byte);
    seed *= 0x100000001b3ULL;
  }
  return seed;
}

std::string library_version(std::string_view path) {
  const auto at = path.rfind(".so.");
  if (at == std::string_view::npos) return {};
  const std::string_view version = path.substr(at + 4);
  // ".so.1" alone is an interface, not a version.
  return std::count(version.begin(), version.end(), '.') >= 2 ? std::string(version)
                                                              : std::string();
}

System read_system(const SystemSources& sources) {
  System out;
  const FileTree files(sources.root);
  out.kernel = files.read("proc/sys/kernel/osrelease").text;
  const char* end = out.kernel.data() + out.kernel.size();
  const auto major = std::from_chars(out.kernel.data(), end, out.kernel_major);
  if (major.ec == std::errc() && major.ptr != end && *major.ptr == '.')
    std::from_chars(major.ptr + 1, end, out.kernel_minor);
  for (const char* module : {"module/mlx_compat/version", "module/mlx5_core/version"})
    if (out.ofed.empty()) out.ofed = sources.sysfs.read(module, 128).text;
  out.rdma_core = loaded_rdma_core();
  read_gpu_driver(files, sources.sysfs, out);
  out.iommu = iommu_words(files.read("proc/cmdline").text);
  out.container = container_hints(files, sources.environment);
  out.dev_infiniband = files.exists("dev/infiniband");
  out.limits = read_limits(files);
  read_environment(sources.environment, out);
  compare_with_init(files, sources.environment, out);
  read_conf_files(sources, out);
  out.topology_file = topology_file(files, sources.environment);
  return out;
}

}  // namespace nnd::facts
