#include "cli/check/inside.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include "cli/check/bridges.h"
#include "facts/tcp.h"

namespace nnd::cli {

namespace {

using facts::FileTree;

constexpr std::size_t kAllListed = 4096;  // FileTree::list shows no more

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

std::optional<std::uint64_t> number(std::string_view text) {  // none: "max"
  std::uint64_t out = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), out);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() ? std::optional(out)
                                                                             : std::nullopt;
}

std::size_t gpu_nodes(const FileTree& files) {
  const auto names = files.list("dev");
  return static_cast<std::size_t>(
      std::count_if(names.begin(), names.end(), [](const std::string& name) {
        return name.starts_with("nvidia") && is_number(std::string_view(name).substr(6));
      }));
}

std::optional<SharedMemory> shared_memory(const FileTree& files) {
  struct statvfs of {};
  if (statvfs(files.absolute("dev/shm").c_str(), &of) != 0) return std::nullopt;
  return SharedMemory{of.f_blocks * of.f_frsize, of.f_bavail * of.f_frsize};
}

// The folder of this process's cgroup that has such files, and those above it, innermost first.
std::vector<std::string> cgroup_folders(const FileTree& files, std::string_view controller) {
  const std::string own = files.read("proc/self/cgroup").text;
  std::vector<std::string> out;
  for (std::size_t at = 0; at < own.size();) {
    const auto end = std::min(own.find('\n', at), own.size());
    const std::string_view line = std::string_view(own).substr(at, end - at);  // "4:pids:/job"
    at = end + 1;
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string_view names = line.substr(first + 1, second - first - 1);
    if (!names.empty() && names.find(controller) == names.npos) continue;
    const std::string top =
        names.empty() ? "sys/fs/cgroup" : "sys/fs/cgroup/" + std::string(controller);
    std::string_view path = line.substr(second + 1);
    for (;; path = path.substr(0, path.rfind('/'))) {
      while (path.ends_with('/')) path.remove_suffix(1);
      out.push_back(top + std::string(path));
      if (path.empty()) break;
    }
  }
  return out;
}

// CPUs' worth of time: cpu.max is "200000 100000" or "max 100000"; cgroup v1 has two files.
std::optional<double> cpu_share(const FileTree& files, const std::string& folder) {
  std::string quota = files.read(folder + "/cpu.cfs_quota_us").text;
  std::string period = files.read(folder + "/cpu.cfs_period_us").text;
  const std::string both = files.read(folder + "/cpu.max").text;
  if (const auto space = both.find(' '); space != both.npos) {
    quota = both.substr(0, space);
    period = both.substr(space + 1);
  }
  const auto of = number(quota), per = number(period);
  if (!of || !per || *per == 0) return std::nullopt;
  return static_cast<double>(*of) / static_cast<double>(*per);
}

std::optional<Cpus> cpus(const FileTree& files) {
  const long all = sysconf(_SC_NPROCESSORS_ONLN);
  cpu_set_t own;
  if (all <= 0 || sched_getaffinity(0, sizeof own, &own) != 0) return std::nullopt;
  Cpus out{static_cast<double>(CPU_COUNT(&own)), static_cast<std::size_t>(all), "its CPU affinity"};
  for (const std::string& folder : cgroup_folders(files, "cpu"))
    if (const auto share = cpu_share(files, folder); share && *share < out.usable) {
      out.usable = *share;
      out.by = "the CPU limit of /" + folder;
    }
  return out;
}

// Of one user, as RLIMIT_NPROC counts them; none: not all processes can be seen.
std::optional<std::uint64_t> threads_of(const FileTree& files, unsigned user) {
  const auto processes = files.list("proc");
  if (processes.size() >= kAllListed) return std::nullopt;
  std::uint64_t out = 0;
  for (const std::string& process : processes) {
    if (!is_number(process)) continue;
    const std::string status = files.read("proc/" + process + "/status").text;
    const auto field = [&](std::string_view name) {
      const auto at = status.find(name);
      return at == status.npos ? 0ul : std::strtoul(status.c_str() + at + name.size(), nullptr, 10);
    };
    if (field("\nUid:\t") == user) out += field("\nThreads:\t");
  }
  return out;
}

std::optional<FewThreads> threads(const FileTree& files) {
  std::optional<FewThreads> out;
  const auto keep = [&](FewThreads one) {
    if (one.used <= one.limit && (!out || one.limit - one.used < out->limit - out->used))
      out = std::move(one);
  };
  for (const std::string& folder : cgroup_folders(files, "pids")) {
    const auto limit = number(files.read(folder + "/pids.max").text);
    const auto used = number(files.read(folder + "/pids.current").text);
    if (limit && used) keep({*used, *limit, "/" + folder + "/pids.max"});
  }
  rlimit limit{};
  // Root is not held to it.
  if (geteuid() != 0 && getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    if (const auto used = threads_of(files, geteuid())) keep({*used, limit.rlim_cur, "ulimit -u"});
  return out;
}

std::optional<bool> runs_fabric_manager(const FileTree& files) {
  // linux/proc_ns.h: the first PID namespace has this number, and shows all processes.
  constexpr std::string_view kFirst = "pid:[4026531836]";
  std::string target(64, '\0');
  const ssize_t bytes =
      readlink(files.absolute("proc/self/ns/pid").c_str(), target.data(), target.size());
  if (bytes <= 0 || target.substr(0, static_cast<std::size_t>(bytes)) != kFirst)
    return std::nullopt;
  const auto processes = files.list("proc");
  // hidepid shows a user no processes of others'.
  if (processes.size() >= kAllListed || !files.read("proc/1/comm").ok()) return std::nullopt;
  return std::any_of(processes.begin(), processes.end(), [&](const std::string& process) {
    // The kernel keeps 15 characters.
    return is_number(process) && files.read("proc/" + process + "/comm").text == "nv-fabricmanage";
  });
}

std::vector<std::string> translated(const facts::Node& node) {
  std::vector<std::string> out;
  const FileTree sysfs(node.sysfs);
  for (const facts::PciFunction& gpu : node.pci.gpus)
    if (sysfs.read("bus/pci/devices/" + gpu.address + "/iommu_group/type").text.starts_with("DMA"))
      out.push_back(gpu.address);
  return out;
}

std::string virtual_machine(const FileTree& files, const FileTree& sysfs) {
  const std::string cpu = files.read("proc/cpuinfo", 8192).text;
  if (cpu.find(" hypervisor") == cpu.npos) return {};
  std::string out = sysfs.read("class/dmi/id/sys_vendor", 128).text;
  const std::string product = sysfs.read("class/dmi/id/product_name", 128).text;
  if (!product.empty()) out += (out.empty() ? "" : " ") + product;
  return out.empty() ? "of unknown make" : out;
}

// Istio's documentation, "Ports used by Istio"; Linkerd's, "Architecture"; Consul's, "Transparent
// proxy". Kuma has Istio's ports.
std::optional<MeshProxy> mesh(const std::string& root) {
  const auto ports = facts::TcpTable(root).listening();
  const auto all = [&](std::initializer_list<std::uint16_t> of) {
    return std::all_of(of.begin(), of.end(),
                       [&](std::uint16_t port) { return ports.contains(port); });
  };
  if (all({15001, 15006})) return MeshProxy{"Istio or Kuma", {15001, 15006}};
  if (all({4140, 4143})) return MeshProxy{"Linkerd", {4140, 4143}};
  if (all({15001, 20000})) return MeshProxy{"Consul", {15001, 20000}};
  return std::nullopt;
}

std::optional<MoreRanksThanGpus> tasks(const facts::Node& node, const config::Lookup& variable) {
  const config::Launch launch = config::read_launch(variable);
  // Slurm's number is the allocation's, whose steps may have others.
  if (!launch.local_ranks || *launch.local_ranks <= 0 || launch.launcher == "slurm" ||
      node.pci.gpus.empty())
    return std::nullopt;
  MoreRanksThanGpus out{launch.launcher, static_cast<std::size_t>(*launch.local_ranks),
                        node.pci.gpus.size(), ""};
  // All of torchrun's processes have one environment.
  const std::string visible = variable("CUDA_VISIBLE_DEVICES");
  if (launch.launcher == "torchrun" && !visible.empty()) {
    out.gpus = 1 + static_cast<std::size_t>(std::count(visible.begin(), visible.end(), ','));
    out.among = "CUDA_VISIBLE_DEVICES=" + visible;
  }
  return out;
}

// As NCCL reads them (src/graph/paths.cc, ncclTopoCheckP2p).
std::vector<std::string> kept_apart(const config::Lookup& variable) {
  std::vector<std::string> out;
  const std::string off = variable("NCCL_P2P_DISABLE"), level = variable("NCCL_P2P_LEVEL");
  if (!off.empty() && off != "0") out.push_back("NCCL_P2P_DISABLE=" + off);
  if (level == "LOC" || level == "0") out.push_back("NCCL_P2P_LEVEL=" + level);
  return out;
}

}  // namespace

Inside look_inside(const facts::Node& node, const std::string& root,
                   const config::Lookup& variable) {
  const FileTree files(root), sysfs(node.sysfs);
  Inside out;
  out.gpus = gpu_nodes(files);
  out.shm = shared_memory(files);
  out.cpus = cpus(files);
  out.threads = threads(files);
  out.virtual_machine = virtual_machine(files, sysfs);
  out.mesh = mesh(root);
  out.tasks = tasks(node, variable);
  out.translated = translated(node);
  out.apart = kept_apart(variable);
  if (out.gpus == 0) return out;
  out.nvswitches = node.pci.nvswitches;
  if (out.nvswitches != 0) out.fabric_manager = runs_fabric_manager(files);
  out.redirecting = redirecting_bridges(node);
  return out;
}

}  // namespace nnd::cli
