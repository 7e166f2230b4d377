// What a pair allows, and who is told to be slow: one beside its like, and never all.
#include "cli/ping/allowed.h"

#include "cli/ping/html.h"
#include "cli/ping/text.h"
#include "support/catch.h"

using namespace nnd::cli;
using Sentences = std::vector<std::string>;

namespace {

HostDescription host(const std::string& name, std::int64_t mbps = 400000, double slot_gbit = 504) {
  HostDescription out;
  out.host = name;
  PortDescription port;
  port.hca = "mlx5_0";
  port.port = 1;
  port.speed_mbps = mbps;
  port.slot_gbit = slot_gbit;
  out.ports = {port};
  return out;
}

std::optional<Allowed> between(const HostDescription& a, const HostDescription& b) {
  return allowed_between(a, "mlx5_0:1", b, "mlx5_0:1");
}

PairEnd end(const std::string& host, int rail) {
  PairEnd out;
  out.host = host;
  out.hca = "mlx5_" + std::to_string(rail);
  out.port = 1;
  return out;
}

// The rail of that number, or two rails, between a and b; 50 GB/s allowed.
PairResult pair(double got, int from, int to, const std::string& other = "b") {
  PairResult out;
  out.from = end("a", from);
  out.to = end(other, to);
  out.state = PairState::kReachable;
  out.latency = Latency{};
  out.bandwidth = {{65536, got / 3, got / 3}, {1 << 20, got, got + 1}};
  out.allowed = Allowed{50, "both ports", false};
  return out;
}
PairResult rail(double got, int number) { return pair(got, number, number); }

}  // namespace

TEST_CASE("the least of both ports and both PCIe links is what a pair allows, and it says which") {
  CHECK(between(host("a"), host("b"))->gb_per_s == 50);
  CHECK(between(host("a"), host("b"))->by == "both ports");
  CHECK(between(host("a"), host("b", 200000))->gb_per_s == 25);
  CHECK(between(host("a"), host("b", 200000))->by == "b's mlx5_0:1");
  const auto slot = between(host("a", 400000, 252), host("b"));
  CHECK(slot->gb_per_s == Approx(31.5));
  CHECK(slot->by == "the PCIe link of a's mlx5_0");
  CHECK(slot->slot);
  HostDescription old = host("b");  // its check doesn't tell of the link
  old.ports[0].slot_gbit.reset();
  CHECK(between(host("a"), old)->gb_per_s == 50);
  CHECK_FALSE(between(host("a"), host("b", 0)));
  CHECK_FALSE(allowed_between(host("a"), "mlx5_9:1", host("b"), "mlx5_0:1"));
}

TEST_CASE("one that gets half where its like comes near is slow") {
  CHECK(slow_sentences({rail(46, 0), rail(20, 1), rail(45, 2)}) ==
        Sentences{"a's mlx5_1:1 and b's mlx5_1:1 get 20 of the 50 GB/s that both ports allow, "
                  "where a's mlx5_0:1 and b's mlx5_0:1 get 46. Compare the links and the counters "
                  "of both ports, and the switch ports between them."});
}

TEST_CASE("nobody is slow where all are alike, or where no like comes near") {
  CHECK(slow_pairs({rail(46, 0), rail(44, 1), rail(45, 2)}).empty());
  CHECK(slow_pairs({rail(46, 0), rail(26, 1)}).empty());  // more than half
  CHECK(slow_pairs({rail(30, 0), rail(3, 1)}).empty());   // the hosts do no more
  CHECK(slow_pairs({rail(2, 0), rail(0.1, 1)}).empty());
  CHECK(slow_pairs({rail(2, 0)}).empty());
  // Another speed is another kind.
  PairResult other = rail(12, 1);
  other.allowed->gb_per_s = 25;
  CHECK(slow_pairs({rail(46, 0), other}).empty());
  PairResult silent = rail(0, 1);
  silent.state = PairState::kSilent;
  CHECK(slow_pairs({rail(46, 0), silent}).empty());
}

TEST_CASE("an end that is slow with each of its peers is told once") {
  const Sentences told = slow_sentences(
      {pair(46, 0, 0), pair(5, 0, 1), pair(45, 1, 0), pair(4, 1, 1), pair(44, 0, 0, "c")});
  REQUIRE(told.size() == 1);
  CHECK(told[0].starts_with("b's mlx5_1:1 is slow with each of its 2 peers: a's mlx5_0:1 and "));
}

TEST_CASE("what bounds all of them is a note and accuses nobody") {
  CHECK(bound_notes({rail(46, 0), rail(20, 1)}).empty());
  CHECK(bound_notes({}).empty());
  const Sentences far = bound_notes({rail(3, 0), rail(2, 1)});
  REQUIRE(far.size() == 1);
  CHECK(far[0].starts_with("No pair comes near what it allows: the best gets 3 of 50 GB/s."));
  PairResult narrow = rail(30, 0);
  narrow.allowed = Allowed{31.5, "the PCIe link of a's mlx5_0", true};
  CHECK(bound_notes({narrow, narrow, rail(46, 1)}) ==
        Sentences{"Less than the ports carry: the PCIe link of a's mlx5_0 allows 31.5 GB/s to all "
                  "that goes through it."});
}

TEST_CASE("who is measured again keeps the better figures") {
  CHECK(faster(rail(46, 0), rail(20, 0)));
  CHECK_FALSE(faster(rail(20, 0), rail(46, 0)));
  PairResult silent = rail(0, 0);
  silent.state = PairState::kSilent;
  CHECK_FALSE(faster(rail(46, 0), silent));  // that it fails now is worth more
}

TEST_CASE("what a pair allows stands beside what it got, in text, JSON and on the page") {
  const PingResult result =
      ping_result({host("a"), host("b")}, {rail(46, 0), rail(20, 1)}, PingScope());
  CHECK(result.exit_code == 0);
  CHECK(result.text == "2 of 2 pairs can talk; 1 is slow.");
  const auto json = to_json(result);
  CHECK(json["slow"].size() == 1);
  CHECK(json["notes"].empty());
  CHECK(json["pairs"][0]["allowed_gb_per_s"] == 50);
  CHECK(json["pairs"][0]["allowed_by"] == "both ports");
  CHECK(json["pairs"][1]["bandwidth"][1]["of_allowed"].get<double>() == Approx(0.4));
  const std::string text = render_ping(result, Screen());
  CHECK(text.find("Slow: a's mlx5_1:1") != std::string::npos);
  CHECK(text.find("92.0%") != std::string::npos);
  const std::string page = render_ping_html(result, {"nccl-net-diag ping b", "now"});
  CHECK(page.find("a's mlx5_1:1 and b's mlx5_1:1 get 20") != std::string::npos);
  CHECK(page.find("40.0%") != std::string::npos);

  PingScope beside;  // as preflight's are: their figures say nothing
  beside.alone = false;
  CHECK(ping_result({host("a"), host("b")}, {rail(46, 0), rail(20, 1)}, beside).slow.empty());
}
