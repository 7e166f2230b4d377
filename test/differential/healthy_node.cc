// Nodes that are as they should be, of many shapes.
#include <fmt/format.h>

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
    node.gpus = dice_.one_in(3) ? 0 : count;
    infiniband_ = dice_.one_in(3);
    ipv6_ = !infiniband_ && dice_.one_in(6);
    plan_ = dice_.below(3);
    speed_ = dice_.of<long>({400000, 200000, 100000, 25000});
    mtu_ = dice_.of({4096, 4096, 1024});
    dmabuf_ = dice_.one_in(3) ? "EOPNOTSUPP" : "";
    dual_port_ = dice_.one_in(8) && count <= 8;  // 2.18 has 16 places
    look_ = infiniband_ ? "mlx5" : dice_.of<const char*>({"mlx5", "mlx5", "bnxt", "irdma"});
    for (int i = 0; i < count; ++i) node.hcas.push_back(hca(i, count));
    if (dice_.one_in(2)) {
      node.sysfs["module/nvidia_peermem/version"] = "1.0";
      node.sysfs["kernel/mm/memory_peers/nv_mem/version"] = "1.0";
    }
    environment(node);
    return node;
  }

 private:
  Hca hca(int number, int count) {
    Hca out;
    out.name = look_ == "mlx5"   ? fmt::format("mlx5_{}", number)
               : look_ == "bnxt" ? fmt::format("bnxt_re{}", number)
                                 : fmt::format("irdma{}", number);
    out.look = look_;
    out.pci = fmt::format("0000:{:02x}:00.0", 0x10 + number * 3);
    out.parent = fmt::format("0000:{:02x}:01.0", 0x0f + number * 3);
    out.numa = number < (count + 1) / 2 ? 0 : 1;
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
