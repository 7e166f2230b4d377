// Nodes as they are found and as they could be: each property has its own chance to be odd.
#include <fmt/format.h>

#include "differential/dice.h"
#include "differential/node.h"

namespace nnd::differential {

namespace {

struct Speed {
  long mbps;
  int width;
};

class Random {
 public:
  explicit Random(unsigned long seed) : dice_(seed) {}

  Node node() {
    Node node;
    infiniband_ = dice_.one_in(3);
    no_paths_ = dice_.one_in(12);
    names_ = dice_.below(5);
    const int cards = dice_.one_in(8) ? dice_.between(9, 18) : dice_.between(0, 6);
    for (int card = 0; card < cards; ++card) add_card(node, card);
    if (dice_.one_in(3)) dice_.shuffle(node.hcas);
    keep_within_places(node.hcas);
    add_peermem(node);
    add_environment(node);
    return node;
  }

 private:
  std::string name(int number) {
    switch (names_) {
      case 0:
        return fmt::format("bnxt_re{}", number);
      case 1:
        return fmt::format("rocep{}s0f0", number * 3 + 1);
      case 2:
        return number % 3 == 0 ? fmt::format("mlx5_bond_{}", number / 3)
                               : fmt::format("mlx5_{}", number);
      default:
        return fmt::format("mlx5_{}", number);
    }
  }

  // A card: one function, two, or one with virtual ones.
  void add_card(Node& node, int card) {
    const int functions = dice_.one_in(4) ? 2 : 1;
    const bool vfs = dice_.one_in(8);
    const std::string domain = dice_.one_in(6) ? "0001" : "0000";
    const int bus = dice_.one_in(5) ? 0xf0 - card * 2 : 0x11 + card * 3;
    const std::string image = functions > 1 ? fmt::format("98039b0300{:06x}", 0xa000 + card) : "";
    const bool path = !no_paths_ || dice_.one_in(2);
    const std::string look = dice_.of<const char*>({"mlx5", "mlx5", "mlx5", "bnxt", "irdma"});
    const std::string dmabuf =
        dice_.one_in(4) ? dice_.word({"EOPNOTSUPP", "EPROTONOSUPPORT", "EINVAL", "ENOSYS"}) : "";
    for (int function = 0; function < functions + (vfs ? 1 : 0); ++function) {
      Hca hca;
      const int number = static_cast<int>(node.hcas.size());
      hca.name = name(number);
      hca.look = look;
      const bool is_virtual = function == functions;
      if (path) {
        hca.pci = fmt::format("{}:{:02x}:{:02x}.{}", domain, bus, is_virtual ? 1 : 0, function);
        hca.parent = fmt::format("{}:{:02x}:01.0", domain, bus - 1);
        if (is_virtual) hca.physfn = fmt::format("{}:{:02x}:00.0", domain, bus);
      } else {
        hca.look = "rxe";
      }
      hca.sys_image_guid = image;
      hca.dmabuf_errno = dice_.one_in(10) ? "EOPNOTSUPP" : dmabuf;
      if (dice_.one_in(25)) hca.open_errno = dice_.word({"EACCES", "ENOENT", "ENOMEM"});
      if (hca.look == "mlx5" && dice_.one_in(8))
        hca.data_direct = fmt::format("/devices/pci{}:{:02x}/{}:{:02x}:00.0", domain, 0x02 + card,
                                      domain, 0x03 + card);
      hca.max_qp = dice_.of({131072, 262144, 1024, 65536});
      hca.numa = dice_.below(2);
      const bool mixed = dice_.one_in(8);
      const std::string layer = infiniband_ != mixed ? "infiniband" : "ethernet";
      if (layer == "infiniband" && dice_.one_in(3))
        hca.subnet_prefix = dice_.word({"fec0:0:0:1::", "fe80:0:0:2::", "fec0:0:12:1::"});
      const int ports = dice_.one_in(6) ? 2 : 1;
      for (int port = 1; port <= ports; ++port)
        hca.ports.push_back(random_port(number, port, hca.look == "efa" ? "unspecified" : layer));
      node.hcas.push_back(std::move(hca));
    }
  }

  // The second port of the HCA in the last place is written behind the end of NCCL's table
  // (docs/differential.md): there is none where there may be as many ports as places.
  static void keep_within_places(std::vector<Hca>& hcas) {
    constexpr std::size_t kFewestPlaces = 16;
    std::size_t ports = 0;
    for (const Hca& hca : hcas) ports += hca.ports.size();
    if (ports <= kFewestPlaces) return;
    for (Hca& hca : hcas) hca.ports.resize(1);
  }

  Port random_port(int hca, int number, const std::string& layer) {
    Port port;
    port.link_layer = dice_.one_in(30) ? "unspecified" : layer;
    if (dice_.one_in(7)) port.state = dice_.word({"down", "init", "armed"});
    const auto [mbps, width] = dice_.of<Speed>({{400000, 4},
                                                {200000, 4},
                                                {100000, 4},
                                                {100000, 2},
                                                {25000, 1},
                                                {56000, 4},
                                                {40000, 4},
                                                {10000, 1},
                                                {800000, 4},
                                                {800000, 8},
                                                {200000, 1},
                                                {20000, 4}});
    port.speed_mbps = mbps;
    port.width = width;
    port.mtu = dice_.of({4096, 4096, 4096, 1024, 2048, 512});
    port.gid_table = dice_.of({32, 32, 16, 8, 256});
    port.pkeys = dice_.of({1, 1, 3});
    if (port.link_layer == "ethernet") add_addresses(hca, number, port);
    if (port.link_layer == "infiniband" && dice_.one_in(4)) add_infiniband_gids(hca, number, port);
    port.no_types = dice_.one_in(15);
    return port;
  }

  std::string ipv4(int hca, int port, int number) {
    return fmt::format("10.{}.{}.{}", hca, port, number + 1);
  }
  std::string ipv6(int hca, int port, int number) {
    return fmt::format("fd00:{:x}:{:x}::{:x}", hca, port, number + 1);
  }

  void add_addresses(int hca, int number, Port& port) {
    if (dice_.one_in(2)) return add_gids(hca, number, port);
    const int count = dice_.below(4);
    for (int i = 0; i < count; ++i)
      port.addresses.push_back(dice_.one_in(3) ? ipv6(hca, number, i) + "/64"
                                               : ipv4(hca, number, i) + "/24");
  }

  // A table of any shape: holes, types in any order, link-local and IPv6 between.
  void add_gids(int hca, int number, Port& port) {
    const int count = dice_.between(0, 7);
    const bool unreadable = dice_.one_in(4);
    int index = 0;
    for (int i = 0; i < count && index < port.gid_table; ++i, ++index) {
      if (dice_.one_in(5)) ++index;
      if (index >= port.gid_table) break;
      Gid gid;
      gid.index = index;
      const int kind = dice_.below(6);
      gid.address = kind == 0   ? fmt::format("fe80::{:x}:{:x}", hca * 16 + number, i / 2 + 1)
                    : kind == 1 ? ipv6(hca, number, i / 2)
                    : kind == 2 ? fmt::format("192.168.{}.{}", hca, number * 16 + i / 2)
                                : ipv4(hca, number, i / 2);
      gid.type = dice_.word({"v1", "v2", "v2"});
      gid.unreadable = unreadable && dice_.one_in(3);
      port.gids.push_back(gid);
    }
  }

  // More than the first GID, one of them perhaps with an FLID.
  void add_infiniband_gids(int hca, int number, Port& port) {
    const int count = dice_.between(1, 3);
    for (int i = 0; i < count; ++i) {
      Gid gid;
      gid.index = i;
      gid.type = "IB";
      gid.address = fmt::format("{}:{:x}:{:x}:{:x}", dice_.one_in(2) ? "fec0:0:12:1" : "fe80:0:0:0",
                                hca + 1, number, i + 1) +
                    ":0";
      port.gids.push_back(gid);
    }
  }

  void add_peermem(Node& node) {
    for (const char* path :
         {"kernel/mm/memory_peers/nv_mem/version", "kernel/mm/memory_peers/nv_mem_nc/version",
          "kernel/mm/memory_peers/nvidia-peermem/version", "module/nvidia_peermem/version"})
      if (dice_.one_in(4)) node.sysfs[path] = "1.0";
    if (dice_.one_in(6)) node.sysfs["module/nvidia_peermem/initstate"] = "live";
  }

  void add_environment(Node& node) {
    auto& out = node.environment;
    const auto maybe = [&](int chance, const char* variable,
                           std::initializer_list<const char*> values) {
      if (dice_.one_in(chance)) out[variable] = dice_.word(values);
    };
    if (dice_.one_in(3)) out["NCCL_IB_HCA"] = hca_list(node);
    maybe(5, "NCCL_IB_GID_INDEX", {"-1", "0", "1", "3", "5", "7", "40", "0x3", "abc", ""});
    maybe(6, "NCCL_IB_ROCE_VERSION_NUM", {"1", "2", "3"});
    maybe(4, "NCCL_IB_ADDR_FAMILY", {"AF_INET", "AF_INET6", "AF_INET6", "inet6", ""});
    maybe(6, "NCCL_IB_ADDR_RANGE",
          {"10.0.0.0/8", "10.2.0.0/16", "192.168.0.0/16", "fd00::/16", "fd00:1:1::/48", "10.0.0.0",
           "10.0.0.0/33", "10.0.0.0/0", "10.0.0.0/-1", "nonsense/8", ""});
    maybe(5, "NCCL_IB_TC", {"0", "106", "160", "300", "-1", "0x6a", "x"});
    maybe(7, "NCCL_IB_FIFO_TC", {"0", "84", "-1", "96"});
    maybe(6, "NCCL_IB_SL", {"0", "3", "-1", "7"});
    maybe(8, "NCCL_IB_PKEY", {"0", "1", "2", "5"});
    maybe(6, "NCCL_IB_TIMEOUT", {"14", "22", "18", "0", "255"});
    maybe(6, "NCCL_IB_RETRY_CNT", {"7", "3", "0", "10"});
    maybe(6, "NCCL_IB_QPS_PER_CONNECTION", {"1", "2", "4"});
    maybe(5, "NCCL_IB_MERGE_NICS", {"0", "1", "2"});
    maybe(5, "NCCL_IB_MERGE_VFS", {"0", "1"});
    maybe(8, "NCCL_IB_PCI_RELAXED_ORDERING", {"0", "1", "2"});
    maybe(8, "NCCL_IB_ADAPTIVE_ROUTING", {"0", "1"});
    maybe(30, "NCCL_IB_DISABLE", {"0", "1", "2"});
    maybe(5, "NCCL_IB_DATA_DIRECT", {"0", "1", "2", "3", "-1"});
    maybe(8, "NCCL_IB_ROUTABLE_FLID_GID_INDEX", {"0", "1", "2", "64", "-1"});
    maybe(8, "NCCL_IB_DEVICE_PCI_ORDER", {"0", "1"});
    maybe(10, "NCCL_IB_ECE_ENABLE", {"0", "1"});
    maybe(10, "NCCL_IB_USE_INLINE", {"0", "1"});
    maybe(10, "NCCL_NET_GDR_LEVEL", {"SYS", "LOC", "PIX", "5"});
    maybe(10, "NCCL_NET_GDR_READ", {"0", "1"});
    maybe(10, "NCCL_NET_MERGE_LEVEL", {"LOC", "PORT", "PIX"});
    maybe(10, "NCCL_NET_FORCE_MERGE", {"mlx5_0,mlx5_1", "mlx5_9"});
  }

  std::string hca_list(const Node& node) {
    std::string out = dice_.word({"", "", "^", "=", "=", "^=", "=^"});
    const int count = dice_.between(0, 4);
    for (int i = 0; i < count; ++i) {
      if (i > 0) out += dice_.word({",", ",", ",", ",,", ", "});
      std::string one =
          node.hcas.empty() || dice_.one_in(6)
              ? dice_.word({"mlx5_1", "mlx5", "mlx4_0", "eth0", "m", ""})
              : node.hcas[static_cast<std::size_t>(dice_.below(static_cast<int>(node.hcas.size())))]
                    .name;
      if (dice_.one_in(5)) one.resize(one.size() - one.size() / 3);
      out += one + dice_.word({"", "", "", "", ":1", ":2", ":1:3", ":1:3:1", "::2", ":x", ":",
                               ":1:0:20000"});
    }
    return out;
  }

  Dice dice_;
  bool infiniband_ = false;
  bool no_paths_ = false;
  int names_ = 0;
};

}  // namespace

Node random_node(unsigned long seed) { return Random(seed).node(); }

}  // namespace nnd::differential
