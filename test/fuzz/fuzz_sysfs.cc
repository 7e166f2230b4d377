// A node whose sysfs and /proc say anything: facts are collected, judged and linted. The tree is in
// memory: this file stands for the one that reads real files.
#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "facts/node.h"
#include "policy/judge.h"
#include "policy/lint.h"

namespace {

constexpr const char* kDevice = "devices/pci0000:00/0000:00:01.0/0000:10:00.0";
constexpr char kNext = '\n';     // the input: what each file holds, one after the other
constexpr char kFails = '\xff';  // a file that starts so can't be read

// Of one HCA with one port, its bond, and the machine.
constexpr const char* kFiles[] = {
    "proc/self/status",
    "proc/driver/nvidia/version",
    "proc/cmdline",
    "proc/sys/kernel/osrelease",
    "proc/1/environ",
    "etc/nccl.conf",
    "module/mlx5_core/version",
    "module/nvidia_peermem/initstate",
    "module/nvidia_peermem/version",
    "kernel/mm/memory_peers/nv_mem/version",
    "nnd-netlink.json",
    "class/infiniband/mlx5_0/ports/1/rate",
    "class/infiniband/mlx5_0/ports/1/gid_attrs/types/0",
    "class/infiniband/mlx5_0/ports/1/gid_attrs/types/1",
    "class/infiniband/mlx5_0/ports/1/gid_attrs/types/2",
    "class/infiniband/mlx5_0/ports/1/gid_attrs/types/3",
    "class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/1",
    "class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/3",
    "devices/pci0000:00/0000:00:01.0/0000:10:00.0/numa_node",
    "devices/pci0000:00/0000:00:01.0/0000:10:00.0/current_link_speed",
    "devices/pci0000:00/0000:00:01.0/0000:10:00.0/max_link_speed",
    "devices/pci0000:00/0000:00:01.0/0000:10:00.0/current_link_width",
    "devices/pci0000:00/0000:00:01.0/0000:10:00.0/max_link_width",
    "devices/pci0000:00/0000:00:01.0/0000:10:00.0/iommu_group/type",
    "class/net/bond0/bonding/slaves",
    "class/net/bond0/bonding/mode",
    "class/net/eth0/speed",
    "class/net/eth0/operstate",
    "class/net/eth1/speed",
    "bus/pci/devices/0000:11:00.0/class",
    "bus/pci/devices/0000:11:00.0/vendor",
    "bus/pci/devices/0000:11:00.0/numa_node",
};
constexpr const char* kVariables[] = {"NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_SOCKET_IFNAME",
                                      "NCCL_COMM_ID"};

std::map<std::string, std::string, std::less<>> g_files;

nnd::facts::VerbsDevice device() {
  nnd::facts::VerbsDevice out;
  out.name = "mlx5_0";
  nnd::facts::VerbsPort port;
  port.state = 4;
  port.phys_state = 5;
  port.link_layer = 2;
  port.gid_table_length = 4;
  for (unsigned index = 0; index < 4; ++index) {
    nnd::facts::VerbsGid gid;
    gid.index = index;
    if (index < 2) {
      gid.raw = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    } else {
      gid.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2};
    }
    port.gids.push_back(gid);
  }
  out.ports.push_back(port);
  return out;
}

std::string link_of(std::string_view path) {
  if (path == "class/infiniband/mlx5_0/device") return kDevice;
  if (path == "bus/pci/devices/0000:11:00.0") return "devices/pci0000:00/0000:00:01.0/0000:11:00.0";
  return std::string(path);
}

}  // namespace

namespace nnd::facts {

std::string FileTree::absolute(std::string_view path) const {
  return root_ + "/" + std::string(path);
}

FileText FileTree::read(std::string_view path, std::size_t limit) const {
  const auto it = g_files.find(path);
  if (it == g_files.end()) return {{}, ENOENT};
  if (it->second.starts_with(kFails)) return {{}, EINVAL};
  return {it->second.substr(0, limit), 0};
}

std::optional<long> FileTree::read_number(std::string_view path) const {
  const FileText file = read(path, 64);
  long value = 0;
  const auto parsed =
      std::from_chars(file.text.data(), file.text.data() + file.text.size(), value, 10);
  return parsed.ec == std::errc() ? std::optional<long>(value) : std::nullopt;
}

bool FileTree::exists(std::string_view path) const { return g_files.contains(path); }

std::vector<std::string> FileTree::list(std::string_view path) const {
  if (path == "class/infiniband") return {"mlx5_0"};
  if (path == "bus/pci/devices") return {"0000:11:00.0"};
  return {};
}

std::optional<std::string> FileTree::resolve(std::string_view path) const { return link_of(path); }

}  // namespace nnd::facts

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nnd;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto next = [&rest] {
    const auto end = rest.find(kNext);
    const std::string out(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    return out;
  };
  std::map<std::string, std::string, std::less<>> variables;
  for (const char* name : kVariables)
    if (std::string value = next(); !value.empty()) variables[name] = std::move(value);
  g_files.clear();
  for (const char* name : kFiles)
    if (std::string content = next(); !content.empty()) g_files[name] = std::move(content);

  facts::Sources sources;
  sources.sysfs = sources.root = "/none";
  sources.environment = facts::Environment(std::move(variables));
  const facts::Node node = facts::collect({device()}, sources);
  if (node.hcas.size() != 1 || node.hcas[0].ports.size() != 1) __builtin_trap();
  const facts::Port& port = node.hcas[0].ports[0];
  if (port.pick.index >= 0 && port.pick.why.empty()) __builtin_trap();
  const auto judged = policy::judge_node(node, {}, policy::Mode::kEnforce, "node-1");
  for (const policy::Verdict& verdict : judged.verdicts)
    if (verdict.diagnosis.sentence.empty() || verdict.diagnosis.remedy.empty()) __builtin_trap();
  for (const policy::Lint& one : policy::lint_environment(node, sources.environment))
    if (one.diagnosis.sentence.empty() || one.diagnosis.remedy.empty()) __builtin_trap();
  return 0;
}
