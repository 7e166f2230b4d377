// `nccl-net-diag top` beside real NCCL jobs: what it shows of a healthy one, and whom it names
// where a rank is missing or stopped.
#include <signal.h>

#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "job/profiled.h"
#include "support/catch.h"

using namespace softcuda;
using nlohmann::json;
using nnd::test::ProfiledJob;
using Kind = Action::Kind;

namespace {

constexpr std::uint64_t kBytes = 1000000;

struct TopJob : ProfiledJob {
  TopJob() {
    spec.environment.erase("NCCL_NET_DIAG_BLACKBOX");
    spec.environment["NCCL_ALGO"] = "Ring";
    spec.actions = {{.kind = Kind::kCreate},
                    {.kind = Kind::kCollective, .bytes = kBytes, .iterations = 3}};
  }

  int pid_of(int rank) const {
    const auto load = events(rank, "plugin.load");
    return load.empty() ? 0 : load.front().at("pid").get<int>();
  }
  bool all_loaded() const {
    for (int rank = 0; rank < spec.ranks(); ++rank)
      if (pid_of(rank) == 0) return false;
    return true;
  }
  // What the tool says of this job's ranks.
  json top() const {
    std::string command = NND_TOOL " top --json --interval 0.3";
    for (int rank = 0; rank < spec.ranks(); ++rank)
      command += " --pid " + std::to_string(pid_of(rank));
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    std::string text;
    for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
    ::pclose(pipe);
    return json::parse(text, nullptr, false);
  }
  // As soon as it shows what is waited for.
  json run_until(const std::function<bool(const json&)>& shown,
                 const std::function<void()>& meanwhile = {}) {
    json out;
    bool seen = false;
    run([&] {
      if (!all_loaded()) return false;
      if (meanwhile) meanwhile();
      out = top();
      return seen = out.contains("processes") && shown(out);
    });
    INFO(out.dump(1));
    REQUIRE(seen);
    CHECK(out.at("exit_code") == 0);
    CHECK(out.at("processes").size() == static_cast<std::size_t>(spec.ranks()));
    return out;
  }
  const json& process(const json& top, int rank) const {
    for (const json& one : top.at("processes"))
      if (one.at("rank") == rank) return one;
    throw std::runtime_error("no rank " + std::to_string(rank));
  }
};

bool has_named(const json& top,
               const std::function<bool(const json& process, const json& conn)>& is) {
  for (const json& wait : top.at("waits"))
    for (const json& process : top.at("processes"))
      for (const json& conn : process.at("connections"))
        if (wait.at("pid") == process.at("pid") && wait.at("conn") == conn.at("conn") &&
            is(process, conn))
          return true;
  return false;
}

}  // namespace

TEST_CASE("a job that runs: ranks, HCAs, how much moves, and nothing that waits", "[top]") {
  TopJob job;
  job.spec.actions.push_back({.kind = Kind::kCollective, .bytes = kBytes, .iterations = 1000000});
  const auto moves = [&](const json& one) {
    return one.value("gbit_per_s_out", 0.0) > 0 && one.value("gbit_per_s_in", 0.0) > 0;
  };
  const json top = job.run_until([&](const json& one) {
    for (const json& process : one.at("processes"))
      if (!moves(process) || process.at("communicators").empty()) return false;
    return one.at("processes").size() == 4;
  });
  std::set<int> ranks;
  std::set<std::string> hosts;
  for (const json& process : top.at("processes")) {
    INFO(process.dump(1));
    ranks.insert(process.at("rank").get<int>());
    hosts.insert(process.at("host").get<std::string>());
    CHECK(process.at("nranks") == 4);
    CHECK_FALSE(process.contains("silent_sec"));
    CHECK_FALSE(process.at("rails").empty());
    std::uint64_t sends = 0, receives = 0;
    for (const json& rail : process.at("rails")) {
      CHECK(rail.at("hca").get<std::string>().starts_with("mlx5_"));
      CHECK(rail.at("failed") == 0);
      CHECK(rail.at("port_gbit_per_s") == 200);
      CHECK(rail.contains("of_port"));
      sends += rail.at("sends").get<std::uint64_t>();
      receives += rail.at("receives").get<std::uint64_t>();
    }
    CHECK(sends > 0);
    CHECK(receives > 0);
    CHECK(process.at("connections").size() == sends + receives);
    // Old versions of the profiler API tell no size.
    CHECK(process.at("communicators").at(0).value("nranks", 4) == 4);
    CHECK(process.at("communicators").at(0).at("last_collectives").at(0).at("kind") == "AllReduce");
  }
  CHECK(ranks == std::set<int>{0, 1, 2, 3});
  CHECK(hosts == std::set<std::string>{"node0", "node1"});
  CHECK(top.at("waits").empty());
  CHECK(top.at("verdict").get<std::string>().ends_with("; nothing has waited for 10 s."));
}

TEST_CASE("a rank that is missing: who waits for it is named, and in what", "[top]") {
  constexpr int kMissing = 2;
  TopJob job;
  for (int rank = 0; rank < job.spec.ranks(); ++rank)
    if (rank != kMissing)
      job.spec.actions.push_back({.kind = Kind::kCollective, .bytes = kBytes, .only_rank = rank});
  job.spec.actions.push_back({.kind = Kind::kMeet});
  const auto waits_for_it = [](const json& process, const json& conn) {
    return process.at("rank") != kMissing && conn.at("kind") == "recv" &&
           conn.value("peer_rank", -1) == kMissing;
  };
  const json top = job.run_until([&](const json& one) { return has_named(one, waits_for_it); });
  // Nobody else is said to wait for anything of another collective.
  for (const json& wait : top.at("waits")) {
    INFO(wait.dump());
    CHECK(wait.at("sec").get<double>() >= 10);
    CHECK(wait.at("msg").get<std::string>().find("AllReduce #3") != std::string::npos);
  }
  CHECK(top.at("verdict").get<std::string>().find(
            top.at("waits").at(0).at("msg").get<std::string>()) != std::string::npos);
  // It is not inside what the others are.
  CHECK(job.process(top, kMissing).at("communicators").at(0).at("collectives") == 3);
}

TEST_CASE("a rank that is stopped shows no sign of life, and others wait", "[top]") {
  constexpr int kStopped = 1;
  TopJob job;
  job.spec.actions.push_back({.kind = Kind::kCollective, .bytes = kBytes, .iterations = 1000000});
  int stopped = 0;
  const json top = job.run_until(
      [&](const json& one) {
        return stopped != 0 && has_named(one, [&](const json& process, const json& conn) {
                 return process.at("pid") != stopped && conn.value("peer_rank", -1) == kStopped;
               });
      },
      [&] {
        // In the middle of it.
        if (stopped != 0 || job.events(kStopped, "conn.who").empty()) return;
        stopped = job.pid_of(kStopped);
        ::kill(stopped, SIGSTOP);
      });
  for (const json& process : top.at("processes")) {
    INFO(process.dump(1));
    CHECK(process.contains("silent_sec") == (process.at("rank") == kStopped));
  }
  CHECK(top.at("verdict").get<std::string>().find("rank 1 (pid " + std::to_string(stopped) +
                                                  ") has shown no sign of life for ") !=
        std::string::npos);
}
