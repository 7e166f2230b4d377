// Every rule about a node: a scenario that breaks it and one that nearly does, in the three modes,
// as NCCL meets it and as it is told.
#include <unistd.h>

#include "policy/judged.h"
#include "policy/troubles.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

// Three HCAs that are alike, and what comes with them.
std::string with(const std::string& odd,
                 const std::string& keys = "address = \"10.200.{i}.1/24\"") {
  return "[[host]]\n[[host.hca]]\ncount = 3\n" + keys + "\n" + odd;
}

// A fourth one.
std::string hca(const std::string& keys, const std::string& name = "mlx5_3") {
  return "[[host.hca]]\nname = \"" + name + "\"\n" + keys + "\n";
}
std::string rail(const std::string& keys = "") {
  return hca("address = \"10.200.3.1/24\"\n" + keys);
}
std::string gid(const std::string& address, const std::string& type) {
  return "[[host.hca.gids]]\nindex = 0\ngid = \"" + address + "\"\ntype = \"" + type + "\"\n";
}
// On the bridge of the first HCA, whose virtual function it is.
const std::string kVfOfFirst = "physfn = \"0000:10:00.0\"\nparent = \"0000:0f:01.0\"";
const std::string kNoGid = gid("::", "v2");
std::string bond(const std::string& mbps) {
  return "[[host.netdev]]\nname = \"bond0\"\nkind = \"bond\"\nslaves = [\"e0\", \"e1\"]\n"
         "speed_mbps = " +
         mbps + "\naddress = \"10.200.9.1/24\"\n" +
         hca("netdev = \"bond0\"\nspeed_mbps = " + mbps, "mlx5_bond_0");
}
std::string uplink(const std::string& netdev, const std::string& address) {
  return "[[host.netdev]]\nname = \"front\"\naddress = \"" + address +
         "\"\ngateway = \"10.200.3.254\"\n" +
         hca("netdev = \"" + netdev + "\"" +
             (netdev == "front" ? "" : "\naddress = \"10.200.3.1/24\""));
}
std::string ib(const std::string& keys) {
  return with(hca("link_layer = \"infiniband\"\n" + keys), "link_layer = \"infiniband\"");
}
std::string gpu_node(const std::string& odd) {
  return with(odd) + "[host.sysfs]\n\"module/nvidia/version\" = \"570.10\"\n";
}

struct Side {
  std::string scenario;
  std::string policy = {};
  Environment environment = {};
  Surroundings surroundings = {};
};

// A process whose memory can't be locked beyond 64 KiB. Who may take a capability away has it.
Surroundings little_memory() {
  Surroundings out;
  if (geteuid() == 0) out.wrapper = {"setpriv", "--bounding-set=-ipc_lock"};
  out.wrapper.insert(out.wrapper.end(), {"prlimit", "--memlock=65536:65536"});
  return out;
}

// A ConnectX or another function on the bus, which no driver has taken.
std::string on_the_bus(const std::string& vendor) {
  return "[host.sysfs]\n\"bus/pci/devices/0000:99:00.0/class\" = \"0x020000\"\n"
         "\"bus/pci/devices/0000:99:00.0/vendor\" = \"" +
         vendor + "\"\n";
}
std::string netdev(const std::string& name) {
  return "[[host.netdev]]\nname = \"" + name + "\"\naddress = \"10.9.0.1/24\"\n";
}

enum class Effect { kWarned, kHcaRefused, kNetworkRefused };

struct Rule {
  std::string verdict;  // "rule CAUSE device"
  Effect effect;
  Side broken;
  Side near;
  std::string lint = {};  // "CAUSE VARIABLE", where the environment is to blame as well
};

const std::vector<Rule>& rules() {
  using enum Effect;
  static const std::vector<Rule> all = {
      {"hca.bond DEV-BOND mlx5_bond_0", kHcaRefused, {with(bond("25000"))}, {with(bond("400000"))}},
      {"hca.bond DEV-BOND mlx5_bond_0",
       kHcaRefused,
       {with(bond("400000")), "[hca]\nbond = \"deny\""},
       {with(bond("25000")),
        "[[override]]\ndevice = \"mlx5_bond_*\"\nhca.bond = \"allow\"\n"
        "hca.slow = \"allow\""}},
      {"hca.outside DEV-MGMT mlx5_3",
       kHcaRefused,
       {with(hca("address = \"172.16.0.1/16\"\nspeed_mbps = 200000"))},
       {with(rail("speed_mbps = 200000")), "[hca]\nslow = \"allow\""}},
      {"hca.outside DEV-MGMT mlx5_3",
       kWarned,
       {with(hca("address = \"172.16.0.1/16\""))},
       {with(hca("address = \"172.16.0.1/16\"")) +
        "[[route]]\nfrom = \"10.200.0.0/16\"\nto = \"172.16.0.0/16\"\n"}},
      {"hca.default_route DEV-MGMT mlx5_3",
       kWarned,
       {with(uplink("front", "10.200.3.1/24"))},
       {with(uplink("other", "10.200.8.1/24"))}},
      {"hca.default_route DEV-MGMT mlx5_3",
       kHcaRefused,
       {with(uplink("front", "10.200.3.1/24")), "[hca]\ndefault_route = \"deny\""},
       {with(uplink("front", "10.200.3.1/24")), "[hca]\ndefault_route = \"allow\""}},
      {"hca.slow DEV-SLOW mlx5_3",
       kWarned,
       {with(rail("speed_mbps = 200000"))},
       {with(rail("speed_mbps = 200000")), "[hca]\nslow_percent = 50"}},
      {"hca.min_speed_mbps DEV-SLOW mlx5_3",
       kHcaRefused,
       {with(rail("speed_mbps = 200000")), "[hca]\nmin_speed_mbps = 400000"},
       {with(rail("speed_mbps = 200000")), "[hca]\nmin_speed_mbps = 200000\nslow = \"allow\""}},
      {"hca.pcie DEV-SLOW mlx5_3",
       kWarned,
       {with(rail("pcie_width = 8"))},
       {with(rail("pcie_width = 8\npcie_max_width = 8"))}},
      {"hca.mtu MTU-DIFF mlx5_3",
       kWarned,
       {with(rail("mtu = 1024"))},
       {with(rail("mtu = 1024"), "address = \"10.200.{i}.1/24\"\nmtu = 1024")}},
      {"hca.mtu MTU-DIFF mlx5_3",
       kHcaRefused,
       {with(rail("mtu = 2048"), "address = \"10.200.{i}.1/24\"\nmtu = 4096"),
        "[hca]\nmin_mtu = 4096\nmtu = \"deny\""},
       {with(rail("mtu = 4096"), "address = \"10.200.{i}.1/24\"\nmtu = 4096"),
        "[hca]\nmin_mtu = 4096\nmtu = \"deny\""}},
      {"hca.phys_state DEV-DOWN mlx5_3",
       kWarned,
       {with(rail("phys_state = \"disabled\""))},
       {with(rail("phys_state = \"up\""))}},
      {"hca.vf_with_pf DEV-MERGE mlx5_3",
       kWarned,
       {with(rail(kVfOfFirst))},
       {with(rail(kVfOfFirst)), "", {{"NCCL_IB_HCA", "^=mlx5_0"}}}},
      // An idle one: its physical function alone has an address.
      {"hca.vf_with_pf DEV-MERGE mlx5_3",
       kHcaRefused,
       {with(hca(kVfOfFirst))},
       {with(hca(kVfOfFirst)), "", {{"NCCL_IB_HCA", "^=mlx5_3"}}}},
      {"hca.outside GID-WRONG mlx5_3",
       kWarned,
       {with(hca("address = [\"192.168.7.1/24\", \"10.200.3.1/24\"]"))},
       {with(hca("address = [\"10.200.3.1/24\", \"192.168.7.1/24\"]"))}},
      {"hca.link_layer DEV-MIXLL mlx5_3",
       kHcaRefused,
       {with(hca("link_layer = \"infiniband\""))},
       {with(hca("link_layer = \"infiniband\"\nstate = \"init\""))}},
      {"hca.pkey PKEY mlx5_3",
       kHcaRefused,
       {ib("pkeys = [\"0x7fff\"]")},
       {ib("pkeys = [\"0x8001\", \"0x7fff\"]")}},
      {"hca.lid IB-NOSM mlx5_3", kHcaRefused, {ib("lid = 0")}, {ib("lid = 9")}},
      {"hca.unusable DEV-UNUSABLE mlx5_3",
       kWarned,
       {with(rail("open_errno = \"EACCES\""))},
       {with(rail("open_errno = \"EACCES\"")), "", {{"NCCL_IB_HCA", "^=mlx5_3"}}}},
      // A container that was given the others: their nodes are not there, and that is meant.
      {"hca.unusable DEV-UNUSABLE mlx5_3",
       kWarned,
       {with(rail("open_errno = \"EPERM\""))},
       {with(rail("open_errno = \"ENOENT\""))}},
      {"hca.deny DEV-DENIED mlx5_3",
       kHcaRefused,
       {with(rail()), "[hca]\ndeny = [\"mlx5_3\"]"},
       {with(rail()), "[hca]\ndeny = [\"mlx5_33\"]"}},
      {"hca.allow DEV-DENIED mlx5_3",
       kHcaRefused,
       {with(rail()), "[hca]\nallow = [\"mlx5_[0-2]\"]"},
       {with(rail()), "[hca]\nallow = [\"mlx5_[0-3]\"]"}},
      {"hca.min_count INC-NDEVS ",
       kNetworkRefused,
       {with(""), "[hca]\nmin_count = 4"},
       {with(""), "[hca]\nmin_count = 3"}},
      {"roce.empty_gid GID-CONT mlx5_3",
       kHcaRefused,
       {with(rail(kNoGid))},
       {with(rail(gid("10.200.3.1", "v2")))}},
      {"roce.link_local GID-LINKLOCAL mlx5_3", kWarned, {with(hca(""))}, {with(rail())}},
      {"roce.link_local GID-LINKLOCAL mlx5_3",
       kHcaRefused,
       {with(hca("")), "[roce]\nlink_local = \"deny\""},
       {with(rail()), "[roce]\nlink_local = \"deny\""}},
      {"roce.link_local GID-WRONG mlx5_3",
       kWarned,
       {with(hca(gid("fe80::1", "v2")), gid("10.200.{i}.1", "v2")),
        "",
        {{"NCCL_IB_GID_INDEX", "0"}}},
       {with(hca(gid("10.200.3.1", "v2")), gid("10.200.{i}.1", "v2")),
        "",
        {{"NCCL_IB_GID_INDEX", "0"}}}},
      {"roce.v1 GID-WRONG mlx5_3",
       kWarned,
       {with(hca(gid("10.200.3.1", "v1")), gid("10.200.{i}.1", "v2")),
        "",
        {{"NCCL_IB_GID_INDEX", "0"}}},
       {with(hca(gid("10.200.3.1", "v2")), gid("10.200.{i}.1", "v2")),
        "",
        {{"NCCL_IB_GID_INDEX", "0"}}}},
      {"roce.v1 GID-V1 mlx5_3",
       kHcaRefused,
       {with(rail(gid("10.200.3.1", "v1"))), "[roce]\nv1 = \"deny\""},
       {with(rail(gid("10.200.3.1", "v2"))), "[roce]\nv1 = \"deny\""}},
      {"roce.v1 GID-V1 mlx5_3",
       kWarned,
       {with(rail(gid("10.200.3.1", "v1")))},
       {with(rail(gid("10.200.3.1", "v2")))}},
      {"roce.forced_gid GID-WRONG mlx5_3",
       kHcaRefused,
       {with(rail(), "address = [\"10.200.{i}.1/24\", \"10.201.{i}.1/24\"]"),
        "",
        {{"NCCL_IB_GID_INDEX", "5"}}},
       {with(rail(), "address = [\"10.200.{i}.1/24\", \"10.201.{i}.1/24\"]"),
        "",
        {{"NCCL_IB_GID_INDEX", "3"}}},
       "GID-WRONG NCCL_IB_GID_INDEX"},
      {"roce.subnets DEV-DENIED mlx5_3",
       kHcaRefused,
       {with(hca("address = \"10.201.3.1/24\"")), "[roce]\nsubnets = [\"10.200.0.0/16\"]"},
       {with(rail()), "[roce]\nsubnets = [\"10.200.0.0/16\"]"}},
      {"gdr.missing GDR-NOMOD mlx5_3",
       kWarned,
       {gpu_node(rail("dmabuf_errno = \"EOPNOTSUPP\""))},
       {gpu_node(rail())}},
      {"gdr.require GDR-NOMOD mlx5_3",
       kHcaRefused,
       {gpu_node(rail("dmabuf_errno = \"EOPNOTSUPP\"")), "[gdr]\nrequire = \"dmabuf\""},
       {gpu_node(rail()), "[gdr]\nrequire = \"dmabuf\""}},
      {"limits.memlock LIM-MEMLOCK ",
       kNetworkRefused,
       {with(""), "[limits]\nmemlock = 65537", {}, little_memory()},
       {with(""), "[limits]\nmemlock = 65536", {}, little_memory()}},
      {"limits.nofile LIM-NOFILE ",
       kWarned,
       {with(""), "[limits]\nnofile = 2000000000"},
       {with(""), "[limits]\nnofile = 16"}},
      {"fallback.socket DEV-FALLBACK ",
       kWarned,
       {with("", "state = \"down\"")},
       {with(rail(), "state = \"down\"")}},
      {"fallback.socket DEV-FALLBACK ",
       kNetworkRefused,
       {with("", "state = \"down\""), "[fallback]\nsocket = \"deny\""},
       {with(rail(), "state = \"down\""), "[fallback]\nsocket = \"deny\""}},
      {"fallback.socket DEV-FALLBACK ",
       kWarned,
       {"[[host]]\n[[host.gpu]]\n" + on_the_bus("0x15b3")},
       {with(on_the_bus("0x15b3"))}},
      {"fallback.socket DEV-FALLBACK ",
       kNetworkRefused,
       {with(""), "[fallback]\nsocket = \"deny\"", {{"NCCL_NET_DIAG_INNER", "Socket"}}},
       {with(""), "[fallback]\nsocket = \"deny\"", {{"NCCL_NET_DIAG_INNER", "IB"}}}},
      {"fallback.socket DEV-FALLBACK ",
       kNetworkRefused,
       {"[[host]]\n", "[fallback]\nsocket = \"deny\""},
       {with(""), "[fallback]\nsocket = \"deny\""}},
      {"",
       kWarned,
       {with(hca("address = \"10.200.3.1/24\"", "mlx5_10")), "", {{"NCCL_IB_HCA", "mlx5_1"}}},
       {with(hca("address = \"10.200.3.1/24\"", "mlx5_10")), "", {{"NCCL_IB_HCA", "=mlx5_1"}}},
       "DEV-PREFIX NCCL_IB_HCA"},
      {"",
       kWarned,
       {with(""), "", {{"NCCL_IB_HCA", "mlx5_0,^mlx5_1"}}},
       {with(""), "", {{"NCCL_IB_HCA", "^mlx5_1"}}},
       "DEV-PREFIX NCCL_IB_HCA"},
      {"",
       kWarned,
       {with(""), "", {{"NCCL_IB_HCA", "mlx5_0,mlx5_8"}}},
       {with(""), "", {{"NCCL_IB_HCA", "mlx5_0,mlx5_2"}}},
       "DEV-PREFIX NCCL_IB_HCA"},
      {"",
       kWarned,
       {with(""), "", {{"NCCL_IB_RETRY_CNT", "8"}}},
       {with(""), "", {{"NCCL_IB_RETRY_CNT", "7"}}},
       "LINK-FLAP NCCL_IB_RETRY_CNT"},
      {"",
       kWarned,
       {with(""), "", {{"NCCL_IB_TIMEOUT", "0"}}},
       {with(""), "", {{"NCCL_IB_TIMEOUT", "19"}}},
       "LINK-FLAP NCCL_IB_TIMEOUT"},
      {"",
       kWarned,
       {with(""), "", {{"NCCL_IB_HCA", "=mlx5_0,=mlx5_1"}}},
       {with(""), "", {{"NCCL_IB_HCA", "=mlx5_0,mlx5_1"}}},
       "DEV-PREFIX NCCL_IB_HCA"},
      {"",
       kWarned,
       {with(""), "", {{"NCCL_IB_TIMEOUT", "17"}}},
       {with(""), "", {{"NCCL_IB_TIMEOUT", "19"}}},
       "LINK-FLAP NCCL_IB_TIMEOUT"},
      {"",
       kWarned,
       {with(""), "", {{"NCCL_IB_MQP_RETRY_CNT", "60"}}},
       {with(""), "", {{"NCCL_IB_MQP_RETRY_CNT", "34"}}},
       "QP-RETRY NCCL_IB_MQP_RETRY_CNT"},
      {"",
       kWarned,
       {with(""), "", {{"NCCL_IB_MQP_RETRY_SLEEP_MSEC", "1000"}}},
       {with(""), "", {{"NCCL_IB_MQP_RETRY_SLEEP_MSEC", "100"}}},
       "QP-RETRY NCCL_IB_MQP_RETRY_SLEEP_MSEC"},
      // NCCL itself runs over lo, which stands in for the interface that is meant.
      {"",
       kWarned,
       {with(netdev("docker0")), "", {{"NCCL_SOCKET_IFNAME", "lo,docker0"}}},
       {with(netdev("dock1")), "", {{"NCCL_SOCKET_IFNAME", "lo,dock1"}}},
       "DEV-OOB NCCL_SOCKET_IFNAME"},
      {"",
       kWarned,
       {with(netdev("wg0")), "", {{"NCCL_SOCKET_IFNAME", "lo,wg"}}},
       {with(netdev("wg0")), "", {{"NCCL_SOCKET_IFNAME", "=lo,wg"}}},
       "DEV-OOB NCCL_SOCKET_IFNAME"},
      {"",
       kWarned,
       {with(""),
        "",
        {{"NCCL_IB_QPS_PER_CONNECTION", "2"}},
        {{}, "NCCL_IB_QPS_PER_CONNECTION=4\n"}},
       {with(""),
        "",
        {{"NCCL_IB_QPS_PER_CONNECTION", "4"}},
        {{}, "NCCL_IB_QPS_PER_CONNECTION=4\n"}},
       "ENV-OVERRIDE NCCL_IB_QPS_PER_CONNECTION"},
      {"",
       kWarned,
       {gpu_node("") + "\"module/nvidia_peermem/version\" = \"570.10\"\n",
        "",
        {{"NCCL_NET_GDR_LEVEL", "LOC"}}},
       {with(""), "", {{"NCCL_NET_GDR_LEVEL", "LOC"}}},
       "GDR-OFF NCCL_NET_GDR_LEVEL"},
      {"",
       kWarned,
       {gpu_node(""), "", {{"NCCL_GDR_FLUSH_DISABLE", "1"}}},
       {gpu_node(""), "", {{"NCCL_GDR_FLUSH_DISABLE", "0"}}},
       "GDR-RO NCCL_GDR_FLUSH_DISABLE"},
      {"",
       kWarned,
       {gpu_node(""), "", {{"NCCL_DMABUF_ENABLE", "0"}}},
       {gpu_node(""), "", {{"NCCL_DMABUF_ENABLE", "1"}}},
       "GDR-OFF NCCL_DMABUF_ENABLE"},
      {"",
       kWarned,
       {with(""), "", {{"NCCL_NET", "Socket"}}},
       {with(""), "", {{"NCCL_NET", "IB"}}},
       "DEV-FALLBACK NCCL_NET"},
      {"",
       kWarned,
       {with(""), "", {{"NCCL_NET", "FastSocket"}}},
       {with(""), "", {{"NCCL_NET", "ib"}}},
       "DEV-PLUGIN NCCL_NET"},
      {"",
       kWarned,
       {with(""), "", {{"NCCL_IB_ADDR_FAMILY", "ipv4"}}},
       {with(""), "", {{"NCCL_IB_ADDR_FAMILY", "AF_INET"}}},
       "ENV-TYPO NCCL_IB_ADDR_FAMILY"},
      {"",
       kWarned,
       {with(""), "", {{"NCCL_IB_MQP_RETRY_ALL", "1"}}},
       {with(""), "", {{"NCCL_IB_MQP_RETRY_ALL", "0"}}},
       "QP-RETRY NCCL_IB_MQP_RETRY_ALL"},
  };
  return all;
}

std::string device_of(const Rule& rule) { return rule.verdict.substr(rule.verdict.rfind(' ') + 1); }

std::vector<std::string> expected(const Rule& rule, const std::string& mode) {
  std::vector<std::string> out;
  const std::string severity = mode == "observe" ? "info" : "warn";
  if (!rule.verdict.empty())
    out.push_back((mode == "enforce" && rule.effect != Effect::kWarned
                       ? "policy.refuse error "
                       : "policy.warn " + severity + " ") +
                  rule.verdict);
  if (!rule.lint.empty()) out.push_back("env.lint " + severity + " " + rule.lint);
  return out;
}

// The sentence as ncclGetLastError would have it: the last line at WARN.
std::string last_warning(driver::RankProcess& rank) {
  std::string text;
  const auto logs = rank.run({{"op", "logs"}});
  for (const auto& line : logs["lines"])
    if (line["level"] == 2) text = line["text"];
  return text;
}

// Whoever uses the network fails, with the sentence; the device is only there for init.
void check_network_refused(Judged& judged, std::size_t i) {
  const auto reply = judged.rank(i).run({{"op", "listen"}, {"dev", 0}});
  CHECK(reply["rc"] == 2);
  CHECK_THAT(last_warning(judged.rank(i)), contains(": listen: the network is refused"));
}

// What was said of each rank, without the call that failed because of it.
std::vector<std::string> said(const Judged& judged, std::size_t i) {
  auto out = judged.said(i);
  std::erase_if(out, [](const std::string& line) { return line.starts_with("conn.fail"); });
  return out;
}

void check_broken(const Rule& rule) {
  const Side& side = rule.broken;
  Judged judged(side.scenario, side.policy, side.environment, {"observe", "warn", "enforce"},
                side.surroundings);
  for (std::size_t i = 0; i < judged.ranks().size(); ++i) {
    const JudgedRank& rank = judged.ranks()[i];
    INFO(rank.mode);
    CHECK(rank.init_rc == 0);
    const bool refused = rank.mode == "enforce" && rule.effect == Effect::kHcaRefused;
    if (rule.effect == Effect::kHcaRefused)
      CHECK(rank.devices.contains(device_of(rule) + ":1") == !refused);
    if (rank.mode == "enforce" && rule.effect == Effect::kNetworkRefused)
      check_network_refused(judged, i);
  }
  judged.end();
  for (std::size_t i = 0; i < judged.ranks().size(); ++i) {
    const std::string& mode = judged.ranks()[i].mode;
    INFO(mode);
    CHECK(said(judged, i) == expected(rule, mode));
    for (const auto& event : of_kind(judged.log(i), "hca.port"))
      if (event["dev"]["name"] == device_of(rule) && rule.effect == Effect::kHcaRefused)
        CHECK(event["verdict"] == (mode == "enforce" ? "refused" : "taken"));
  }
}

void check_near(const Rule& rule) {
  const Side& side = rule.near;
  Judged judged(side.scenario, side.policy, side.environment, {"observe", "warn", "enforce"},
                side.surroundings);
  for (const JudgedRank& rank : judged.ranks()) {
    INFO(rank.mode);
    CHECK(rank.init_rc == 0);
    CHECK(rank.devices_rc == 0);
    CHECK_FALSE(rank.devices.empty());
  }
  judged.end();
  for (std::size_t i = 0; i < judged.ranks().size(); ++i) {
    INFO(judged.ranks()[i].mode);
    CHECK(said(judged, i) == std::vector<std::string>{});
    for (const auto& event : of_kind(judged.log(i), "hca.port"))
      CHECK(event["verdict"] != "refused");
  }
}

}  // namespace

namespace nnd::integration {

std::vector<BrokenNode> broken_nodes() {
  std::vector<BrokenNode> out;
  for (const Rule& rule : rules())
    out.push_back({rule.verdict, rule.lint, rule.broken.scenario, rule.broken.policy,
                   rule.broken.environment, rule.broken.surroundings});
  return out;
}

std::set<Trouble> node_troubles() {
  std::set<Trouble> out;
  for (const Rule& rule : rules()) {
    if (!rule.verdict.empty()) out.insert(trouble(rule.verdict));
    if (!rule.lint.empty()) out.insert(trouble("env.lint " + rule.lint));
  }
  return out;
}

}  // namespace nnd::integration

TEST_CASE("every rule that is broken is told, and refused where that is asked for", "[broken]") {
  for (const Rule& rule : rules()) {
    INFO(rule.verdict << " " << rule.lint << "\n" << rule.broken.scenario << rule.broken.policy);
    check_broken(rule);
  }
}

TEST_CASE("every rule that is nearly broken is silent", "[near]") {
  for (const Rule& rule : rules()) {
    INFO(rule.verdict << " " << rule.lint << "\n" << rule.near.scenario << rule.near.policy);
    check_near(rule);
  }
}
