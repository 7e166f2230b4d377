// What two hosts' descriptions tell together: rails that one lacks, addresses that don't fit.
#include "cli/ping/compare.h"

#include "support/catch.h"

using namespace nnd::cli;

namespace {

PortDescription port(const std::string& hca, std::int64_t mbps = 400000,
                     const std::string& verdict = "taken") {
  PortDescription out;
  out.hca = hca;
  out.port = 1;
  out.speed_mbps = mbps;
  out.verdict = verdict;
  out.link_layer = "Ethernet";
  if (verdict == "skipped") out.reasons = {"DOWN", "Polling"};
  return out;
}

HostDescription host(const std::string& name) {
  HostDescription out;
  out.host = name;
  for (const char* hca : {"mlx5_0", "mlx5_1", "mlx5_2"}) out.ports.push_back(port(hca));
  return out;
}

PairEnd end(const std::string& host, int rail, const std::string& address,
            const std::string& subnet) {
  PairEnd out;
  out.host = host;
  out.hca = "mlx5_" + std::to_string(rail);
  out.port = 1;
  out.netdev = "ens" + std::to_string(rail);
  out.gid = "::ffff:" + address;
  out.subnet = subnet;
  return out;
}

PairResult pair(PairEnd from, PairEnd to, bool reachable) {
  PairResult out;
  out.from = std::move(from);
  out.to = std::move(to);
  out.state = reachable ? PairState::kReachable : PairState::kUnreachable;
  out.apart = !reachable;
  return out;
}

}  // namespace

TEST_CASE("hosts that have the same rails lack none") {
  CHECK(rails_short({host("a"), host("b")}).empty());
}

TEST_CASE("a rail that one host lacks is told with the list for both") {
  HostDescription b = host("b");
  b.ports[1] = port("mlx5_1", 400000, "skipped");
  CHECK(rails_short({host("a"), b}) ==
        std::vector<std::string>{
            "b's mlx5_1:1 is DOWN, Polling, and a's is used: NCCL may pair its rails with others. "
            "Mend the link; until then, on both: NCCL_IB_HCA==mlx5_0,mlx5_2"});
  b.ports[1] = port("mlx5_1", 200000);
  CHECK(rails_short({b, host("a")}) ==
        std::vector<std::string>{
            "b's mlx5_1:1 runs at 200 Gbit/s, a's at 400 Gbit/s: NCCL may pair its rails with "
            "others. Mend the link; until then, on both: NCCL_IB_HCA==mlx5_0,mlx5_2"});
}

TEST_CASE("what is not used on the other host either, or left out on purpose, is no rail short") {
  HostDescription a = host("a"), b = host("b");
  b.ports[1] = port("mlx5_1", 400000, "skipped");
  b.ports[1].reasons = {"not in NCCL_IB_HCA"};
  CHECK(rails_short({a, b}).empty());
  b.ports[1].reasons = {"DOWN"};
  a.ports[1].rules = {"hca.outside"};  // a's own is of another network
  CHECK(rails_short({a, b}).empty());
}

TEST_CASE("addresses of one name in two subnets: whose is wrong") {
  std::vector<PairResult> pairs{pair(end("a", 0, "10.200.0.1", "10.200.0.0/24"),
                                     end("b", 0, "10.200.0.2", "10.200.0.0/24"), true),
                                pair(end("a", 1, "10.200.1.1", "10.200.1.0/24"),
                                     end("b", 1, "10.201.1.2", "10.201.1.0/24"), false)};
  find_misaddressed(pairs);
  CHECK_FALSE(pairs[1].apart);
  REQUIRE(pairs[1].told);
  CHECK(
      pairs[1].told->fix ==
      "a's ens1 has 10.200.1.1/24, b's ens1 has 10.201.1.2/24: correct the address or the mask of "
      "b's, which is not like the other rails.");
  // A mask: both addresses are of the plan.
  pairs[1] = pair(end("a", 1, "10.200.1.1", "10.200.1.0/24"),
                  end("b", 1, "10.200.1.2", "10.200.1.0/28"), false);
  find_misaddressed(pairs);
  CHECK(pairs[1].told->fix.ends_with("of the one that is not like its node's other rails."));
}

TEST_CASE("two HCAs that have changed places are numbered differently") {
  std::vector<PairResult> pairs{pair(end("a", 0, "10.200.0.1", "10.200.0.0/24"),
                                     end("b", 0, "10.200.0.2", "10.200.0.0/24"), true),
                                pair(end("a", 1, "10.200.1.1", "10.200.1.0/24"),
                                     end("b", 1, "10.200.2.2", "10.200.2.0/24"), false),
                                pair(end("a", 2, "10.200.2.1", "10.200.2.0/24"),
                                     end("b", 2, "10.200.1.2", "10.200.1.0/24"), false)};
  find_misaddressed(pairs);
  REQUIRE(pairs[1].told);
  CHECK(pairs[1].told->fix.find("b's mlx5_2:1 is in the first one's subnet") != std::string::npos);
}

TEST_CASE("each rail a network of its own on each host is no mistake that can be named") {
  std::vector<PairResult> pairs{
      pair(end("a", 0, "10.1.0.1", "10.1.0.0/24"), end("b", 0, "10.2.0.2", "10.2.0.0/24"), false)};
  find_misaddressed(pairs);
  CHECK(pairs[0].apart);
  CHECK_FALSE(pairs[0].told);
}

TEST_CASE("InfiniBand against Ethernet is named, whatever NCCL returned") {
  std::vector<HostDescription> hosts{host("a"), host("b")};
  hosts[0].ports[0].link_layer = "InfiniBand";
  PairResult mixed = pair(end("a", 0, "10.0.0.1", ""), end("b", 0, "10.0.0.2", ""), false);
  name_mixed_links(hosts, mixed);
  REQUIRE(mixed.told);
  CHECK(mixed.told->cause == "DEV-MIXLL");
  CHECK(mixed.told->msg ==
        "mlx5_0:1 of a is InfiniBand, mlx5_0:1 of b is Ethernet: they can never talk.");
  PairResult alike = pair(end("a", 1, "10.0.0.1", ""), end("b", 1, "10.0.0.2", ""), false);
  name_mixed_links(hosts, alike);
  CHECK_FALSE(alike.told);
}
