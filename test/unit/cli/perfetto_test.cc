// The trace of a report: collectives as slices, what was told as instants, arrows between ends.
#include "cli/report/perfetto.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.h"

using namespace nnd;
using nlohmann::json;

namespace {

constexpr std::uint64_t kMs = 1'000'000;

log::Task task(std::uint64_t seq, std::uint64_t done, std::uint64_t changed_ms) {
  log::Task out;
  out.kind = "AllReduce";
  out.seq = seq;
  out.ordinal = seq + 1;
  out.bytes = 64;
  out.ops = 4;
  out.ops_done = done;
  out.changed_ns = changed_ms * kMs;
  return out;
}

// Two ranks of which one waits for the other, a second long.
struct Pair {
  log::Process logs[2];
  report::Report report;

  Pair() {
    auto& picture = report.picture;
    picture.hosts.resize(1);
    picture.hosts[0].name = "node0";
    for (std::size_t i = 0; i < 2; ++i) {
      auto& log = logs[i];
      log.proc = "0xa" + std::to_string(i);
      log.host = "node0";
      log.rank = static_cast<int>(i);
      auto& connection = log.connections[7 + i];
      connection.dir = i == 0 ? log::Direction::kSend : log::Direction::kRecv;
      connection.dev.name = "mlx5_0";
      connection.opened_ns = 100 * kMs;
      connection.ready_ns = (110 + i) * kMs;
      report::Member member;
      member.log = &log;
      member.last = 1000 * static_cast<report::Ns>(kMs);
      member.rank = log.rank;
      picture.members.push_back(member);
      picture.by_proc[log.proc] = i;
    }
    picture.last = picture.members[0].last;
    for (std::size_t i = 0; i < 2; ++i)
      picture.ends[&logs[i].connections[7 + i]] = {&logs[1 - i], &logs[1 - i].connections[8 - i]};
  }

  json events() const {
    std::ostringstream out;
    cli::write_perfetto(out, report);
    return json::parse(out.str())["traceEvents"];
  }
};

std::vector<json> of(const json& events, const std::string& phase, const std::string& name) {
  std::vector<json> out;
  for (const auto& event : events)
    if (event["ph"] == phase && event["name"].get<std::string>().find(name) != std::string::npos)
      out.push_back(event);
  return out;
}

// Whether there is a slice there then.
bool on_slice(const json& events, const json& place) {
  return std::any_of(events.begin(), events.end(), [&](const json& one) {
    return one["ph"] == "X" && one["pid"] == place["pid"] && one["tid"] == place["tid"] &&
           one["ts"] <= place["ts"] &&
           place["ts"].get<double>() <= one["ts"].get<double>() + one["dur"].get<double>();
  });
}

}  // namespace

TEST_CASE("collectives are slices, and the open one goes on to the end", "[perfetto]") {
  Pair pair;
  pair.logs[0].communicators["0x1f"].tasks = {task(3, 2, 600), task(2, 4, 500), task(1, 4, 300)};
  pair.logs[0].communicators["0x1f"].rank = 0;
  const auto events = pair.events();
  const auto slices = of(events, "X", "AllReduce");
  REQUIRE(slices.size() == 3);
  const auto check = [&](std::size_t i, const char* name, double ts, double end) {
    INFO(slices[i].dump());
    CHECK(slices[i]["name"].get<std::string>().find(name) != std::string::npos);
    CHECK(slices[i]["pid"] == 0);
    CHECK(slices[i]["ts"] == ts);
    CHECK(slices[i]["ts"].get<double>() + slices[i]["dur"].get<double>() == end);
  };
  check(0, "#1", 0, 300'000);
  check(1, "#2", 300'000, 500'000);
  check(2, "#3", 500'000, 1'000'000);
  CHECK(slices[2]["name"].get<std::string>().ends_with(", not done"));
  CHECK(slices[2]["args"]["ops_done"] == 2);
  const auto moved = of(events, "i", "moved last");
  REQUIRE(moved.size() == 1);
  CHECK(moved[0]["ts"] == 600'000);
  CHECK(of(events, "M", "thread_name").size() == 2 * 2 + 1);
}

TEST_CASE("arrows bind to slices at both ends", "[perfetto]") {
  Pair pair;
  log::Stall stall;
  stall.kind = "recv";
  report::Wait wait;
  wait.member = 1;
  wait.stall = &stall;
  wait.since = 400 * static_cast<report::Ns>(kMs);
  wait.peer = 0;
  pair.report.waits.waits = {wait};
  // Whom it waits for was gone before.
  for (const report::Ns last_ms : {1000, 200}) {
    pair.report.picture.members[0].last = last_ms * static_cast<report::Ns>(kMs);
    const auto events = pair.events();
    for (const char* const kind : {"connection", "wait"}) {
      INFO(kind << last_ms);
      const auto from = of(events, "s", kind), to = of(events, "f", kind);
      REQUIRE(from.size() == 1);
      REQUIRE(to.size() == 1);
      CHECK(from[0]["id"] == to[0]["id"]);
      CHECK(from[0]["ts"] <= to[0]["ts"]);
      CHECK(to[0]["bp"] == "e");
      CHECK(on_slice(events, from[0]));
      CHECK(on_slice(events, to[0]));
      CHECK(from[0]["pid"] != to[0]["pid"]);
    }
  }
}

TEST_CASE("what was told is an instant, once", "[perfetto]") {
  Pair pair;
  log::Diagnosis port, failed;
  port.event = "port.event";
  port.port_event = "PORT_ERR";
  port.mono_ns = 300 * kMs;
  failed.event = "wc.error";
  failed.cause = "WC-12";
  failed.mono_ns = 350 * kMs;
  failed.conn = 7;
  pair.logs[0].diagnoses = {port, failed};
  report::Failure failure;
  failure.told = &pair.logs[0].diagnoses[1];
  failure.at = 350 * static_cast<report::Ns>(kMs);
  pair.report.failures = {failure};
  pair.report.first.losses = {{1, 500 * static_cast<report::Ns>(kMs), false}};
  const auto events = pair.events();
  const auto at = [&](const char* name) {
    const auto found = of(events, "i", name);
    return found.size() == 1 ? found[0]["ts"].get<double>() : -1;
  };
  CHECK(at("PORT_ERR") == 300'000);
  CHECK(at("WC-12") == 350'000);
  CHECK(at("gone") == 500'000);
}
