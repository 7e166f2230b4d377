#include "cli/ping/result.h"

#include "cli/common/call_error.h"
#include "cli/ping/html.h"
#include "cli/ping/text.h"
#include "log/line_parser.h"
#include "support/catch.h"

using namespace nnd::cli;
using nlohmann::json;

namespace {

json hca(const std::string& name, const std::string& gid, const std::string& subnet,
         const char* verdict = "taken") {
  return {{"name", name},
          {"port", 1},
          {"netdev", "eth0"},
          {"mtu", 4096},
          {"speed_mbps", 100000},
          {"verdict", verdict},
          {"reasons", std::string(verdict) == "taken" ? json::array() : json{"state DOWN"}},
          {"rules", json::array()},
          {"pick", {{"index", 3}, {"gid", gid}, {"subnet", subnet}}}};
}

json host(const std::string& name, int number) {
  const auto gid = [&](int rail) {
    return "::ffff:10." + std::to_string(rail) + ".0." + std::to_string(number);
  };
  return {{"host", name},
          {"nccl", "2.28.9"},
          {"net_version", 11},
          {"devices", {"mlx5_0:1", "mlx5_1:1"}},
          {"check",
           {{"hcas",
             {hca("mlx5_0", gid(0), "10.0.0.0/24"), hca("mlx5_1", gid(1), "10.1.0.0/24"),
              hca("mlx5_2", gid(2), "10.2.0.0/24", "skipped")}},
            {"proposal", {"export NCCL_NET_PLUGIN=diag"}},
            {"result", {{"broken", json::array()}, {"refused", 0}}}}}};
}

PingScope matrix(std::size_t planned, const std::string& ended = "") {
  PingScope scope;
  scope.matrix = true;
  scope.planned = planned;
  scope.ended = ended;
  return scope;
}

const std::vector<HostDescription> kHosts{host_from(host("a", 1)), host_from(host("b", 2))};

// What an end reports of the events that it logged.
json digest(const std::vector<json>& events) {
  nnd::log::LineParser parser;
  nnd::log::Event typed;
  AttemptEvents out;
  for (auto event : events) {
    event["proc"] = "0x1";
    auto line = event.dump();
    const auto size = line.size();
    line.resize(size + nnd::log::kLinePadding);
    REQUIRE(parser.parse(std::string_view(line).substr(0, size), typed));
    out.add(typed);
  }
  return to_json(out);
}

json done() {
  return {{"done", true},
          {"connect_ms", 1.5},
          {"verified_bytes", 100},
          {"latency", {{"bytes", 8}, {"samples", 10}, {"p50", 2.0}, {"p99", 3.0}}},
          {"streams", {{{"size", 65536}, {"gb_per_s", 1.25}}}},
          {"events", digest({})}};
}

json transition(int errno_or_0, const char* gid, const char* subnet) {
  json out{{"ev", "qp.transition"},
           {"sev", errno_or_0 != 0 ? "warn" : "info"},
           {"conn", 1},
           {"dev",
            {{"name", "mlx5_0"}, {"port", 1}, {"gid", gid}, {"subnet", subnet}, {"gid_index", 5}}},
           {"qp", {{"from", "INIT"}, {"to", "RTR"}, {"path_mtu", 1024}}},
           {"rc", errno_or_0}};
  if (errno_or_0 != 0)
    out.update(
        {{"errno", errno_or_0}, {"cause", "SUB-RAIL"}, {"msg", "It can't."}, {"fix", "Do."}});
  return out;
}

json failed(const std::vector<json>& events, bool late = false) {
  return {{"done", false},
          {"stage", "connect"},
          {"why", "the transport's accept returned 2"},
          {"late", late},
          {"events", digest(events)}};
}

const json kCancelled{{"done", false},
                      {"stage", "connect"},
                      {"why", "cancelled"},
                      {"events", to_json(AttemptEvents{})}};

PingPair pair(const std::string& from, const std::string& to) { return {0, 1, from, to}; }

PairResult typed(const std::string& from, const std::string& to, const json& own,
                 const json& other) {
  return pair_result(pair(from, to), kHosts,
                     {report_from(Fields(own)), report_from(Fields(other)), 1});
}

// As it is shown.
json shown(const std::string& from, const std::string& to, const json& own, const json& other) {
  return to_json(typed(from, to, own, other));
}

PingResult summed(const std::vector<PairResult>& pairs, const PingScope& scope) {
  return ping_result(kHosts, pairs, scope);
}

PairResult reachable(const std::string& from, const std::string& to) {
  return typed(from, to, done(), done());
}

PairResult apart() {
  return typed("mlx5_0:1", "mlx5_1:1", failed({transition(110, "::ffff:10.0.0.1", "10.0.0.0/24")}),
               kCancelled);
}

}  // namespace

TEST_CASE("ports are selected by name, glob and port") {
  const auto& host = kHosts[0];
  using Ports = std::vector<std::string>;
  CHECK(select_ports(host, {}) == Ports{"mlx5_0:1", "mlx5_1:1"});
  CHECK(select_ports(host, {"mlx5_1"}) == Ports{"mlx5_1:1"});
  CHECK(select_ports(host, {"mlx5_1:1", "mlx5_*"}) == Ports{"mlx5_1:1", "mlx5_0:1"});
  try {
    select_ports(host, {"mlx5_9"});
    FAIL("it is there");
  } catch (const CallError& error) {
    CHECK(error.exit_code() == 2);
    CHECK(error.to_json()["nearest"] == "mlx5_0");
  }
  try {
    select_ports(host, {"mlx5_2"});
    FAIL("it is taken");
  } catch (const CallError& error) {
    CHECK(error.exit_code() == 3);
    CHECK(std::string(error.what()).find("skipped, state DOWN") != std::string::npos);
  }
}

TEST_CASE("each with the one of its name, or of its place; or each with each") {
  const std::vector<std::string> here{"mlx5_0:1", "mlx5_1:1"}, there{"mlx5_1:1", "roce0:1"};
  const auto names = [](const std::vector<PingPair>& pairs) {
    std::string out;
    for (const auto& one : pairs) out += one.from + "-" + one.to + " ";
    return out;
  };
  CHECK(names(plan_pairs(0, here, 1, here, false)) == "mlx5_0:1-mlx5_0:1 mlx5_1:1-mlx5_1:1 ");
  CHECK(names(plan_pairs(0, here, 1, {"ib0:1", "ib1:1"}, false)) ==
        "mlx5_0:1-ib0:1 mlx5_1:1-ib1:1 ");
  // One that the other host lacks has no partner in another's.
  CHECK(names(plan_pairs(0, here, 1, there, false)) == "mlx5_1:1-mlx5_1:1 ");
  CHECK(plan_pairs(0, here, 1, there, true).size() == 4);
  CHECK(plan_pairs(0, here, 1, {}, true).empty());
}

TEST_CASE("a pair that talks") {
  const auto pair = reachable("mlx5_0:1", "mlx5_0:1");
  const auto result = to_json(pair);
  CHECK(result["state"] == "reachable");
  CHECK(result["apart"] == false);
  CHECK(result["connect_ms"] == 1.5);
  CHECK(result["verified_bytes"] == 200);
  CHECK(result["bandwidth"][0]["there_gb_per_s"] == 1.25);
  CHECK(result["from"]["gid"] == "::ffff:10.0.0.1");
  CHECK(result["to"]["host"] == "b");
  CHECK(ping_cell(pair) == "ok");
}

TEST_CASE("the end that knows more tells why a pair doesn't talk") {
  const json lost{{"ev", "conn.fail"}, {"sev", "error"}, {"conn", 1}, {"rc", 6}, {"cause", "RC-6"}};
  for (const bool at_from : {true, false}) {
    const auto event = at_from ? transition(110, "::ffff:10.0.0.1", "10.0.0.0/24")
                               : transition(110, "::ffff:10.1.0.2", "10.1.0.0/24");
    const auto knows = failed({event, lost}), doesnt = failed({lost});
    const auto pair =
        typed("mlx5_0:1", "mlx5_1:1", at_from ? knows : doesnt, at_from ? doesnt : knows);
    const auto result = to_json(pair);
    CHECK(result["state"] == "unreachable");
    CHECK(result["end"] == (at_from ? "from" : "to"));
    CHECK(result["errno"] == 110);
    CHECK(result["errno_name"] == "ETIMEDOUT");
    CHECK(result["cause"] == "SUB-RAIL");
    CHECK(result["transition"] == "RTR");
    CHECK(result["apart"] == true);
    CHECK(ping_cell(pair) == "110");
    // The GID that the QP had goes before the one that was expected.
    if (at_from) CHECK(result["from"]["gid_index"] == 5);
  }
}

TEST_CASE("a refusal of the policy is told as one") {
  const auto refused = transition(113, "::ffff:10.1.0.2", "10.1.0.0/24");
  json rule{{"ev", "policy.refuse"}, {"sev", "error"},      {"conn", 1},
            {"rule", "pair.subnet"}, {"cause", "SUB-RAIL"}, {"msg", "Another subnet."},
            {"fix", "Route."}};
  const auto result = shown("mlx5_0:1", "mlx5_1:1", kCancelled, failed({rule, refused, rule}));
  CHECK(result["state"] == "refused");
  CHECK(result["policy"] == "refused");
  CHECK(result["errno"] == 113);
  CHECK(result["msg"] == "Another subnet.");
  CHECK(result["rules"].size() == 1);
  CHECK(result["apart"] == true);
}

TEST_CASE("silence, lost packets and broken data are no matter of subnets") {
  const json wc{{"ev", "wc.error"},
                {"sev", "error"},
                {"conn", 1},
                {"cause", "WC-12"},
                {"wc", {{"status", 12}, {"status_name", "RETRY_EXC_ERR"}}}};
  struct Case {
    json from;
    std::string state;
  };
  for (const Case& one : {Case{failed({}, true), "silent"}, Case{failed({}), "failed"},
                          Case{failed({wc}, true), "failed"}}) {
    const auto pair = typed("mlx5_0:1", "mlx5_1:1", one.from, done());
    const auto result = to_json(pair);
    CHECK(result["state"] == one.state);
    CHECK(result["apart"] == false);
    CHECK(result.contains("msg") == (one.state == "silent" || result.contains("status")));
    const auto all = summed({pair}, matrix(1));
    CHECK(all.exit_code == 1);
  }
}

TEST_CASE("link-local GIDs of two links have one prefix, and are apart all the same") {
  const auto gid = [](const char* end) { return failed({transition(101, end, "fe80::/64")}); };
  const auto result = shown("mlx5_0:1", "mlx5_1:1", gid("fe80::1"), gid("fe80::2"));
  CHECK(result["state"] == "unreachable");
  CHECK(result["apart"] == true);
}

TEST_CASE("rails that don't meet are fine as long as each meets its own") {
  const auto fine =
      summed({reachable("mlx5_0:1", "mlx5_0:1"), apart(), reachable("mlx5_1:1", "mlx5_1:1")},
             matrix(3, ""));
  CHECK(fine.exit_code == 0);
  CHECK(to_json(fine)["counts"]["unreachable"] == 1);
  const auto lonely = summed({reachable("mlx5_0:1", "mlx5_0:1"), apart()}, matrix(2, ""));
  CHECK(lonely.exit_code == 1);
  CHECK(to_json(lonely)["broken"] ==
        json::array({"b mlx5_1:1 cannot reach any port on the other host"}));
  auto some = matrix(2);
  some.judge_to = false;  // only mlx5_0 of the one side was asked for
  CHECK(summed({reachable("mlx5_0:1", "mlx5_0:1"), apart()}, some).exit_code == 0);
}

TEST_CASE("what ended early is not examined, and shows what there is") {
  const auto ended = summed({reachable("mlx5_0:1", "mlx5_0:1")}, matrix(4, "interrupted"));
  CHECK(ended.exit_code == 3);
  CHECK(ended.pairs.size() == 1);
  CHECK(ended.text.find("1 of 4 pairs: interrupted") != std::string::npos);
  CHECK(ping_result({}, {}, matrix(0, "b: it is gone")).exit_code == 3);
}

TEST_CASE("text and page show every pair, and nothing that a host says becomes markup") {
  auto hosts = kHosts;
  hosts[1].problem = "<script>alert(1)</script>";
  const auto result = ping_result(
      hosts, {reachable("mlx5_0:1", "mlx5_0:1"), apart(), reachable("mlx5_1:1", "mlx5_1:1")},
      matrix(3, ""));
  const auto text = render_ping(result, Screen());
  for (const char* part : {"Rows: a, columns: b", "ETIMEDOUT (110) SUB-RAIL: 1 pair", "It can't.",
                           "export NCCL_NET_PLUGIN=diag"})
    CHECK(text.find(part) != std::string::npos);
  CHECK(result.text.starts_with("2 of 3 pairs can talk"));
  const auto page =
      render_ping_html(result, {"nccl-net-diag ping b --matrix", "2026-03-01 14:02:11 +0100"});
  CHECK(page.find("<script>") == std::string::npos);
  CHECK(page.find("&lt;script&gt;") != std::string::npos);
  CHECK(page.find("class=\"apart\"") != std::string::npos);
}

TEST_CASE("on the page a slow rail and one that fails stand out, and it says where it is from") {
  auto slow = reachable("mlx5_1:1", "mlx5_1:1");
  slow.bandwidth.front().back_gb_per_s /= 4;
  auto dead = apart();
  dead.from.hca = dead.to.hca = "mlx5_2";
  dead.apart = false;
  const auto result =
      ping_result(kHosts, {reachable("mlx5_0:1", "mlx5_0:1"), slow, dead, apart()}, matrix(4, ""));
  const auto page =
      render_ping_html(result, {"nccl-net-diag ping \"b\" --matrix", "2026-03-01 14:02:11 +0100"});
  const auto cells = [&page](const std::string& kind) {
    std::size_t count = 0;
    const auto cell = "<td class=\"" + kind + "\"";
    for (auto at = page.find(cell); at != page.npos; at = page.find(cell, at + 1)) ++count;
    return count;
  };
  CHECK(cells("step3 rail") == 1);  // a quarter of the best
  CHECK(cells("step0 rail") == 3);  // the other one, and both latencies
  CHECK(cells("wrong rail") == 2);
  CHECK(cells("apart") == 2);  // across rails: expected
  CHECK(page.find("nccl-net-diag ping &quot;b&quot; --matrix") != page.npos);
  CHECK(page.find("2026-03-01 14:02:11 +0100") != page.npos);
  CHECK(page.find("a NCCL 2.28.9") != page.npos);
}

TEST_CASE("what a host says can't command a terminal or a shell") {
  auto hostile = host("b", 2);
  hostile["host"] = "b\x1b]0;owned\x07\nfine: all is well\xc2\x9b";
  hostile["check"]["proposal"] = {"export NCCL_NET_PLUGIN=diag", "export NCCL_IB_HCA==$(reboot)",
                                  "rm -rf ~", "export PATH=/tmp", "export NCCL_IB_HCA==a b"};
  const auto read = host_from(hostile);
  CHECK(read.host == "b?]0;owned??fine: all is well??");
  CHECK(read.proposal == std::vector<std::string>{"export NCCL_NET_PLUGIN=diag"});
  const auto text = render_ping(ping_result({kHosts[0], read}, {}, matrix(0)), Screen());
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("what a host answers is read with care, and loses no other pair's result") {
  auto nameless = host("b", 2);
  nameless["devices"] = {"mlx5_0:x", "mlx5_1:99999999999"};
  const std::vector<HostDescription> hosts{kHosts[0], host_from(nameless)};
  for (const char* port : {"mlx5_0:x", "mlx5_1:99999999999", "none"}) {
    const auto result =
        to_json(pair_result({0, 1, "mlx5_0:1", port}, hosts,
                            {report_from(Fields(done())), report_from(Fields(kCancelled)), 1}));
    CHECK(result["to"]["port"] == 0);
  }
  const auto wrong = [](const json& good, const char* pointer, const json& value) {
    auto out = good;
    out[json::json_pointer(pointer)] = value;
    return out;
  };
  for (const auto& bad : {wrong(host("b", 2), "/devices", 7), wrong(host("b", 2), "/host", json()),
                          wrong(host("b", 2), "/check/hcas/0/port", "one"),
                          wrong(host("b", 2), "/check/result/refused", 1.5),
                          wrong(host("b", 2), "/check/proposal/0", json::object())}) {
    INFO(bad.dump());
    CHECK_THROWS_AS(host_from(bad), BadMessage);
  }
  for (const auto& bad : {wrong(done(), "/done", 1), wrong(done(), "/latency/p50", "fast"),
                          wrong(done(), "/streams/0/size", -1), wrong(done(), "/events", json()),
                          wrong(done(), "/events/first", "x")}) {
    INFO(bad.dump());
    CHECK_THROWS_AS(report_from(Fields(bad)), BadMessage);
  }
}
