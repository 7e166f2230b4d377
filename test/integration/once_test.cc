// Many connections in many processes: each event of each is in the log, once and in its order, and
// what belongs together can be joined.
#include <algorithm>
#include <map>
#include <set>

#include "integration/harness.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

using Names = std::vector<std::string>;

// Of one connection, in the order of the log: conn.* by name, a QP's steps by its number.
struct Life {
  json open;
  Names names;
  std::map<int, Names> qps;
  std::map<int, int> remote;  // QP number to that of the other end
};

std::map<int, Life> lives_of(const std::vector<json>& events) {
  std::map<int, Life> out;
  for (const auto& event : events) {
    if (!event.contains("conn")) continue;
    auto& life = out[event["conn"]];
    const std::string name = event["ev"];
    if (name == "conn.open") life.open = event;
    if (name == "mr.register") continue;
    if (!name.starts_with("qp.")) {
      life.names.push_back(name);
      continue;
    }
    const auto& qp = event["qp"];
    const bool step = name == "qp.transition";
    life.qps[qp["num"]].push_back(step ? qp["to"].get<std::string>() : name);
    if (step && qp["to"] == "RTR") life.remote[qp["num"]] = qp["remote_num"];
    // All of a QP's making comes before conn.ready, its end before conn.close.
    const auto before =
        name == "qp.destroy" ? Names{"conn.open", "conn.ready"} : Names{"conn.open"};
    CHECK(life.names == before);
  }
  return out;
}

bool increasing(const std::vector<json>& events) {
  return std::is_sorted(events.begin(), events.end(), [](const json& a, const json& b) {
    return a["seq"].get<std::uint64_t>() <= b["seq"].get<std::uint64_t>();
  });
}

}  // namespace

TEST_CASE("64 connections in 8 processes, every event once and in order") {
  EmulatedJob job("two-nodes-8-hca-bond.toml", 8);
  driver::Traffic traffic;
  traffic.sizes = {4096};
  traffic.repeat = 3;
  job.run_all(shim(), 8, traffic);
  job.check_logs();

  std::map<std::string, std::vector<Life>> ends;  // by link
  std::set<std::string> listened, processes;
  for (int rank = 0; rank < 8; ++rank) {
    CAPTURE(rank);
    const auto events = job.log(rank);
    CHECK(increasing(events));
    for (const char* once : {"plugin.load", "node.facts", "policy.loaded", "comm.init", "summary"})
      CHECK(of_kind(events, once).size() == 1);
    CHECK(events.back()["ev"] == "summary");
    CHECK(of_kind(events, "hca.port").size() == 9);
    CHECK(of_kind(events, "log.dropped").empty());
    CHECK(!std::filesystem::exists(job.log_dir() / ("rank" + std::to_string(rank) + ".nndbox")));
    processes.insert(events[0]["proc"]);

    const auto listens = of_kind(events, "conn.listen");
    CHECK(listens.size() == 8);
    for (const auto& event : listens) {
      CHECK(event["link"]["proc"] == events[0]["proc"]);
      CHECK(listened.insert(event["link"].dump()).second);
    }
    const auto lives = lives_of(events);
    CHECK(lives.size() == 16);
    for (const auto& [conn, life] : lives) {
      CAPTURE(conn);
      CHECK(life.names == Names{"conn.open", "conn.ready", "conn.close"});
      REQUIRE(!life.qps.empty());
      for (const auto& [num, steps] : life.qps)
        CHECK(steps == Names{"qp.create", "INIT", "RTR", "RTS", "qp.destroy"});
      ends[life.open["link"].dump()].push_back(life);
    }
  }
  CHECK(processes.size() == 8);

  // The two ends of a connection name the same link, which one of them listened for, and the same
  // QPs.
  CHECK(ends.size() == 64);
  for (auto& [link, both] : ends) {
    CAPTURE(link);
    CHECK(listened.contains(link));
    REQUIRE(both.size() == 2);
    if (both[0].open["dir"] == "recv") std::swap(both[0], both[1]);
    const auto& [send, recv] = std::pair(both[0], both[1]);
    CHECK(send.open["dir"] == "send");
    CHECK(recv.open["dir"] == "recv");
    CHECK(recv.open["link"]["proc"] == recv.open["proc"]);
    CHECK(send.open["peer"]["proc"] == recv.open["proc"]);
    for (const auto& [num, remote] : send.remote) {
      REQUIRE(recv.remote.contains(remote));
      CHECK(recv.remote.at(remote) == num);
    }
  }
}
