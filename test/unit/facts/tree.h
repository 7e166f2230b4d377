// A sysfs (and /proc, /dev) made for a test in a temporary folder, and the verbs devices that go
// with it.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "facts/node.h"
#include "support/temp_dir.h"

namespace nnd::facts::test {

class Tree {
 public:
  const std::string& root() const { return root_; }

  Tree& write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = std::filesystem::path(root_) / path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
    return *this;
  }
  Tree& link(const std::string& path, const std::string& target) {
    const std::filesystem::path full = std::filesystem::path(root_) / path;
    std::filesystem::create_directories(full.parent_path());
    std::filesystem::create_symlink(target, full);
    return *this;
  }
  Tree& folder(const std::string& path) {
    std::filesystem::create_directories(std::filesystem::path(root_) / path);
    return *this;
  }

 private:
  const nnd::test::TempDir dir_;
  const std::string root_ = dir_.path();
};

inline context::Gid gid(const std::string& text) {
  context::Gid raw{};
  const auto address = parse_address(text);
  if (!address) std::abort();
  if (address->family == Family::kIpv4) {
    raw[10] = raw[11] = 0xff;
    std::copy(address->bytes.begin(), address->bytes.begin() + 4, raw.begin() + 12);
  } else {
    raw = address->bytes;
  }
  return raw;
}

inline VerbsGid verbs_gid(unsigned index, const std::string& text, GidType type = GidType::kUnknown,
                          int ifindex = 0) {
  return {index, gid(text), type, ifindex};
}

// An active port as a 400 Gbit/s mlx5 shows it.
inline VerbsPort roce_port(std::vector<VerbsGid> gids) {
  VerbsPort port;
  port.state = 4;
  port.phys_state = 5;
  port.link_layer = 2;
  port.active_speed = 128;
  port.active_width = 2;
  port.active_mtu = 5;
  port.max_mtu = 5;
  port.gid_table_length = 16;
  port.pkey_table_length = 1;
  port.pkeys = {0xffff};
  port.gids = std::move(gids);
  return port;
}

inline VerbsPort ib_port() {
  VerbsPort port = roce_port({verbs_gid(0, "fe80::a288:c203:1:2")});
  port.link_layer = 1;
  port.lid = 17;
  port.sm_lid = 1;
  return port;
}

inline VerbsDevice device(const std::string& name, std::vector<VerbsPort> ports) {
  VerbsDevice out;
  out.name = name;
  out.uverbs_name = "uverbs0";
  out.vendor_id = 0x15b3;
  out.ports = std::move(ports);
  return out;
}

// Sysfs of one HCA, laid out as the kernel does: class links into devices.
inline void add_hca(Tree& tree, const std::string& name, const std::string& pci,
                    const std::string& netdev = "") {
  const std::string at = "devices/pci0000:00/0000:00:01.0/" + pci;
  tree.link("class/infiniband/" + name, "../../" + at + "/infiniband/" + name)
      .link(at + "/infiniband/" + name + "/device", "../../../" + pci)
      .write(at + "/numa_node", "1\n")
      .write(at + "/current_link_speed", "32.0 GT/s PCIe\n")
      .write(at + "/max_link_speed", "32.0 GT/s PCIe\n")
      .write(at + "/current_link_width", "16\n")
      .write(at + "/max_link_width", "16\n")
      .write(at + "/infiniband/" + name + "/ports/1/rate", "400 Gb/sec (4X NDR)\n");
  if (!netdev.empty()) tree.folder(at + "/net/" + netdev);
}

inline std::string port_dir(const std::string& name, const std::string& pci) {
  return "devices/pci0000:00/0000:00:01.0/" + pci + "/infiniband/" + name + "/ports/1/";
}

inline Sources sources(const Tree& tree,
                       std::map<std::string, std::string, std::less<>> environment = {},
                       int version = 22809) {
  Sources out;
  out.sysfs = tree.root();
  out.root = tree.root();
  out.environment = Environment(std::move(environment));
  out.nccl_version = version;
  return out;
}

}  // namespace nnd::facts::test
