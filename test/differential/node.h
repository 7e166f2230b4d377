// A random node: the HCAs of an emulated host, its sysfs and a job's variables. Plain data, so that
// parts can be taken away from it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nnd::differential {

struct Gid {
  int index = 0;
  std::string address;
  std::string type = "v2";
  bool unreadable = false;  // its type, in sysfs: EINVAL
};

struct Port {
  std::string state = "active";
  std::string link_layer = "ethernet";
  long speed_mbps = 400000;
  int width = 4;
  int mtu = 4096;
  int gid_table = 32;
  std::vector<std::string> addresses;  // of its netdev; the driver makes GIDs of them
  std::vector<Gid> gids;               // instead of those
  bool no_types = false;               // gid_attrs/types is not there
  int pkeys = 1;
};

struct Hca {
  std::string name;
  std::string look = "mlx5";
  std::string pci;  // empty: none
  std::string parent;
  std::string physfn;
  std::string sys_image_guid;
  std::string subnet_prefix;
  std::string dmabuf_errno;
  std::string open_errno;
  std::string data_direct;
  int numa = 0;
  int max_qp = 131072;
  std::vector<Port> ports;
};

struct Gpu {
  std::string pci, parent;
};

struct Node {
  int hosts = 1;  // alike, but for their addresses
  std::vector<Gpu> gpus;
  std::vector<Hca> hcas;
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> sysfs;

  std::string toml() const;  // a scenario
};

// The same for the same seed, on every machine.
Node random_node(unsigned long seed);
// One on which a job works and nothing is to be said, on two hosts.
Node healthy_node(unsigned long seed);

}  // namespace nnd::differential
