// Nodes that are as they should be, of many shapes.
#include <fmt/format.h>

#include <array>

#include "differential/dice.h"
#include "differential/node.h"

namespace nnd::differential {

namespace {

class Healthy {
 public:
  explicit Healthy(unsigned long seed) : dice_(seed) {}

  Node node() {
    Node node;
    node.hosts = 2;
    const int count = dice_.of({1, 2, 4, 8, 8, 10, 16});
    const int gpus = dice_.one_in(3) ? 0 : count;
    infiniband_ = dice_.one_in(3);
    ipv6_ = !infiniband_ && dice_.one_in(6);
    plan_ = dice_.below(3);
    speed_ = dice_.of<long>({400000, 200000, 100000, 25000});
    mtu_ = dice_.of({4096, 4096, 1024});
    dmabuf_ = dice_.one_in(3) ? "EOPNOTSUPP" : "";
    dual_port_ = dice_.one_in(8) && count <= 8;  // 2.18 has 16 places
    look_ = infiniband_ ? "mlx5" : dice_.of<const char*>({"mlx5", "mlx5", "bnxt", "irdma"});
    places_ = (count + 1) / 2;
    // The same for all of a kind, as nodes are built.
    const int hca_depth = dice_.of({0, 1, 1, 2}), gpu_depth = dice_.of({0, 1, 1, 2});
    for (int i = 0; i < count; ++i) node.hcas.push_back(hca(i, place(i, count, hca_depth)));
    for (int i = 0; i < gpus; ++i) {
      const Place at = place(i, gpus, gpu_depth);
      node.gpus.push_back({at.pci, at.parent});
    }
    if (dice_.one_in(2)) {
      node.sysfs["module/nvidia_peermem/version"] = "1.0";
      node.sysfs["kernel/mm/memory_peers/nv_mem/version"] = "1.0";
    }
    environment(node);
    return node;
  }

 private:
  // On the PCI bus: below one of the root complexes, half of which belong to each CPU. Depth 0: on
  // a port of its own; 1: on the complex's switch; 2: on another one below that.
  struct Place {
    std::string pci, parent;
    int numa;
  };
  Place place(int number, int count, int depth) {
    const int complex = number * places_ / count;
    const int root = 8 + complex * 24;
    const int slot = taken_[static_cast<std::size_t>(complex)]++;
    const std::string on_switch =
        fmt::format("0000:{:02x}:01.0/0000:{:02x}:00.0/0000:{:02x}:", root, root + 1, root + 2);
    Place out;
    out.numa = complex < (places_ + 1) / 2 ? 0 : 1;
    out.pci = fmt::format("0000:{:02x}:00.0", root + 5 + slot);
    if (depth == 0) out.parent = fmt::format("0000:{:02x}:{:02x}.0", root, 2 + slot);
    if (depth == 1) out.parent = fmt::format("{}{:02x}.0", on_switch, slot);
    if (depth == 2)
      out.parent = fmt::format("{}1f.0/0000:{:02x}:00.0/0000:{:02x}:{:02x}.0", on_switch, root + 3,
                               root + 4, slot);
    return out;
  }

  Hca hca(int number, const Place& place) {
    Hca out;
    out.name = look_ == "mlx5"   ? fmt::format("mlx5_{}", number)
               : look_ == "bnxt" ? fmt::format("bnxt_re{}", number)
                                 : fmt::format("irdma{}", number);
    out.look = look_;
    out.pci = place.pci;
    out.parent = place.parent;
    out.numa = place.numa;
    out.dmabuf_errno = dmabuf_;
    out.max_qp = 262144;
    for (int port = 1; port <= (dual_port_ ? 2 : 1); ++port)
      out.ports.push_back(this->port(number, port));
    return out;
  }

  Port port(int hca, int number) {
    Port out;
    out.link_layer = infiniband_ ? "infiniband" : "ethernet";
    out.speed_mbps = speed_;
    out.width = speed_ <= 25000 ? 1 : 4;
    out.mtu = mtu_;
    const int place = hca * 2 + number - 1;
    if (infiniband_) return out;
    if (ipv6_)
      out.addresses = {fmt::format("fd00:{:x}::{{h+1}}/64", place + 1)};
    else if (plan_ == 0)  // a subnet for each rail
      out.addresses = {fmt::format("10.200.{}.{{h+1}}/24", place)};
    else if (plan_ == 1)  // one for all
      out.addresses = {fmt::format("10.200.{{h}}.{}/16", place + 1)};
    else
      out.addresses = {fmt::format("10.{}.0.{{h+1}}/16", 16 + place)};
    return out;
  }

  void environment(Node& node) {
    if (ipv6_) node.environment["NCCL_IB_ADDR_FAMILY"] = "AF_INET6";
    if (dice_.one_in(3)) node.environment["NCCL_IB_TC"] = "106";
    if (dice_.one_in(4)) node.environment["NCCL_IB_SL"] = "3";
    if (dice_.one_in(4)) node.environment["NCCL_IB_TIMEOUT"] = "22";
    if (dice_.one_in(4)) node.environment["NCCL_IB_MERGE_NICS"] = "0";
    if (dice_.one_in(4)) node.environment["NCCL_IB_PCI_RELAXED_ORDERING"] = "1";
    if (dice_.one_in(4)) {
      std::string list;
      for (const Hca& hca : node.hcas) list += (list.empty() ? "=" : ",") + hca.name;
      node.environment["NCCL_IB_HCA"] = list;
    }
  }

  Dice dice_;
  int places_ = 1;                 // root complexes
  std::array<int, 8> taken_ = {};  // slots of each
  bool infiniband_ = false;
  bool ipv6_ = false;
  int plan_ = 0;
  long speed_ = 400000;
  int mtu_ = 4096;
  bool dual_port_ = false;
  std::string dmabuf_;
  std::string look_;
};

}  // namespace

Node healthy_node(unsigned long seed) { return Healthy(seed).node(); }

}  // namespace nnd::differential
