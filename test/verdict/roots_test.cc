// The judge of each log alone: logs that a rank could leave, each of a job whose truth is known.
#include "verdict/roots.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/catch.h"
#include "verdict/root_page.h"

using namespace nnd::verdict;
using Json = nlohmann::json;

namespace {

constexpr std::uint64_t kSec = 1'000'000'000, kEffect = 100 * kSec;

// Three nodes of two ranks each, whose pids are 100 and their rank, and their procs 0x and that.
struct Job {
  Case one;
  Moments moments{.effect_ns = kEffect};
  std::map<int, int> pids = {};
  std::map<std::string, int> procs = {};
  bool harmless = false;

  explicit Job(const std::string& fault, Truth truth) {
    one.fault = fault;
    one.nodes = 3;
    one.gpus = 2;
    one.fabric.hosts = {"node1", "node10", "node11"};
    one.truth = std::move(truth);
    ask_peers(one);
    for (int rank = 0; rank < one.ranks(); ++rank) {
      pids[rank] = 100 + rank;
      procs["0x" + std::to_string(rank)] = rank;
    }
    moments.over_ns = kEffect + 20 * kSec;
  }
  RootJudgement judge(int rank, const std::vector<Json>& events) const {
    std::string text;
    for (const Json& event : events) text += event.dump() + "\n";
    std::istringstream in(text);
    return judge_log({one, moments, pids, procs, harmless}, rank, read_root_log(in));
  }
  // What rank 0 says last, after it has waited.
  RootClass says(const Json& root) const;
};

std::uint64_t at(double sec) { return kEffect + static_cast<std::uint64_t>(sec * 1e9); }

Json stall(double sec, const std::string& kind = "nothing-came") {
  return {{"ev", "conn.stall"}, {"mono_ns", at(sec)}, {"sev", "info"},
          {"kind", kind},       {"age_us", 2e6},      {"dev", {{"name", "mlx5_0"}}}};
}

Json resume(double sec) {
  return {{"ev", "conn.resume"},    {"mono_ns", at(sec)}, {"sev", "info"},
          {"kind", "nothing-came"}, {"dur_us", 2e6},      {"dev", {{"name", "mlx5_0"}}}};
}

Json process(int rank) {
  const std::vector<std::string> hosts{"node1", "node10", "node11"};
  return {{"proc", "0x" + std::to_string(rank)},
          {"rank", rank},
          {"pid", 100 + rank},
          {"host", hosts[static_cast<std::size_t>(rank / 2)]}};
}

Json root(double sec, const std::string& kind, int rank, const Json& more = Json::object()) {
  Json awaited = process(rank);
  awaited["kind"] = kind;
  awaited.update(more);
  return {{"ev", "job.stall"}, {"mono_ns", at(sec)}, {"sev", kind == "idle" ? "info" : "warn"},
          {"age_us", 3e6},     {"awaited", awaited}, {"msg", "waits"}};
}

RootClass Job::says(const Json& root) const { return judge(0, {stall(2), root}).judged; }

Job ended() {
  Job job("SIGKILL", {.ranks = {3}, .nodes = {1}});
  job.moments.ended_ns[3] = at(0.1);
  return job;
}

Job sleeps(const std::string& fault = "idle rank") {
  return Job(fault, {.ranks = {3}, .nodes = {1}});
}

Job of_network(const std::string& fault, int tells_from_nodes) {
  return Job(fault, {.network = Network::kGuilty,
                     .nodes = {1},
                     .hcas = {"mlx5_1"},
                     .tells_from_nodes = tells_from_nodes});
}

}  // namespace

TEST_CASE("a rank that ended is named as ended", "[roots]") {
  const Job job = ended();
  CHECK(job.says(root(3, "ended", 3)) == RootClass::kRight);
  CHECK(job.says(root(3, "idle", 3)) == RootClass::kVague);
  CHECK(job.says(root(3, "ended", 2)) == RootClass::kWrong);
  CHECK(job.says(root(3, "idle", 4)) == RootClass::kWrong);
  CHECK(job.says(root(3, "failed", 4)) == RootClass::kEcho);
  CHECK(job.says(root(3, "failed", 4, {{"other", process(3)}})) == RootClass::kVague);
  CHECK(job.says(root(3, "pair", 0, {{"other", process(3)}})) == RootClass::kAccused);
  CHECK(job.says(root(3, "port", 3)) == RootClass::kAccused);
}

TEST_CASE("who was ended with the job is an echo", "[roots]") {
  Job job = ended();
  job.moments.asked_ns[4] = at(6);
  CHECK(job.says(root(7, "ended", 4)) == RootClass::kEcho);
  CHECK(job.says(root(4, "ended", 4)) == RootClass::kWrong);
}

TEST_CASE("the last line before the end counts", "[roots]") {
  Job job = ended();
  const auto first = root(3, "idle", 4), last = root(8, "ended", 3);
  CHECK(job.judge(0, {stall(2), first, last}).judged == RootClass::kRight);
  job.moments.asked_ns[0] = at(7);
  CHECK(job.judge(0, {stall(2), first, last}).judged == RootClass::kWrong);
  CHECK(job.judge(1, {stall(2), first, last}).judged == RootClass::kRight);
  // What was before the fault is not of it.
  CHECK(job.judge(0, {root(-1, "idle", 4), stall(2)}).judged == RootClass::kSilent);
}

TEST_CASE("a rank that lives is named by what it does", "[roots]") {
  CHECK(sleeps().says(root(3, "idle", 3)) == RootClass::kRight);
  CHECK(sleeps().says(root(3, "stopped", 3)) == RootClass::kVague);
  CHECK(sleeps("SIGSTOP").says(root(6, "stopped", 3)) == RootClass::kRight);
  CHECK(sleeps("SIGSTOP").says(root(6, "idle", 3)) == RootClass::kVague);
  CHECK(sleeps().says(root(3, "cycle", 0, {{"other", process(3)}})) == RootClass::kVague);
  CHECK(sleeps().says(root(3, "cycle", 0, {{"other", process(4)}})) == RootClass::kWrong);
  // An exception's abort may hang in its process, or end it.
  Job exception = sleeps("exception");
  exception.moments.ended_ns[3] = at(5);
  CHECK(exception.says(root(3, "idle", 3)) == RootClass::kRight);
  CHECK(exception.says(root(6, "ended", 3)) == RootClass::kRight);
}

TEST_CASE("rank, host, pid and proc are those of one process", "[roots]") {
  CHECK(sleeps().says(root(3, "idle", 3, {{"proc", "0x4"}})) == RootClass::kWrong);
  CHECK(sleeps().says(root(3, "idle", 3, {{"host", "node1"}})) == RootClass::kWrong);
  CHECK(sleeps().says(root(3, "idle", 3, {{"pid", 104}})) == RootClass::kWrong);
  CHECK(sleeps().says(root(3, "idle", 3, {{"host", "elsewhere"}})) == RootClass::kWrong);
  Json by_pid = root(3, "idle", 3);
  by_pid["awaited"].erase("rank");
  CHECK(sleeps().says(by_pid) == RootClass::kRight);
  Json by_host = by_pid;
  for (const char* name : {"pid", "proc"}) by_host["awaited"].erase(name);  // one of two
  CHECK(sleeps().says(by_host) == RootClass::kVague);
  by_host["awaited"]["host"] = "node1";
  CHECK(sleeps().says(by_host) == RootClass::kWrong);
  Json by_proc = by_pid;
  for (const char* name : {"pid", "host"}) by_proc["awaited"].erase(name);
  CHECK(sleeps().says(by_proc) == RootClass::kVague);
  by_proc["awaited"]["proc"] = "0x4";
  CHECK(sleeps().says(by_proc) == RootClass::kWrong);
  by_proc["awaited"]["proc"] = "0xff";  // of no log
  CHECK(sleeps().says(by_proc) == RootClass::kVague);
}

TEST_CASE("another collective is a ring with the guilty in it", "[roots]") {
  Job job("mismatched", {.ranks = {3}, .nodes = {1}, .both_named = true});
  const auto ring = [&](int one, int other, bool task) {
    Json more = {{"other", process(other)}};
    if (task) more["task"] = {{"kind", "AllReduce"}};
    return job.says(root(4, "cycle", one, more));
  };
  CHECK(ring(0, 3, true) == RootClass::kRight);
  CHECK(ring(3, 0, true) == RootClass::kRight);
  CHECK(ring(0, 4, true) == RootClass::kWrong);
  CHECK(job.says(root(4, "idle", 3)) == RootClass::kRight);
  CHECK(job.says(root(4, "pair", 3, {{"other", process(0)}})) == RootClass::kAccused);
  job.one.truth.untold = true;
  CHECK(ring(0, 4, false) == RootClass::kHonest);
  CHECK(ring(0, 4, true) == RootClass::kWrong);
}

TEST_CASE("a node is lost: each of its ranks is right", "[roots]") {
  Job job("node lost", {.nodes = {1}});
  job.moments.ended_ns[2] = job.moments.ended_ns[3] = at(0.1);
  CHECK(job.says(root(3, "gone", 2)) == RootClass::kRight);
  CHECK(job.says(root(3, "ended", 3)) == RootClass::kRight);
  CHECK(job.says(root(3, "idle", 3)) == RootClass::kVague);
  CHECK(job.says(root(3, "gone", 4)) == RootClass::kWrong);
}

TEST_CASE("a port that goes down", "[roots]") {
  const Job job = of_network("port goes down", 2);
  CHECK(job.says(root(3, "port", 2, {{"place", "mlx5_1:1"}})) == RootClass::kRight);
  CHECK(job.says(root(3, "port", 3)) == RootClass::kRight);
  CHECK(job.says(root(3, "port", 2, {{"place", "mlx5_0:1"}})) == RootClass::kVague);
  CHECK(job.says(root(3, "failed", 2, {{"place", "mlx5_1"}})) == RootClass::kRight);
  CHECK(job.says(root(3, "pair", 2, {{"other", process(0)}})) == RootClass::kVague);
  CHECK(job.says(root(3, "port", 4)) == RootClass::kWrong);
  CHECK(job.says(root(3, "failed", 4)) == RootClass::kVague);
  CHECK(job.says(root(3, "idle", 4)) == RootClass::kAcquitted);
  CHECK(job.says(root(3, "idle", 2)) == RootClass::kAcquitted);
}

TEST_CASE("the network between two ends", "[roots]") {
  Job job = of_network("black hole", 3);
  CHECK(job.says(root(3, "pair", 0, {{"other", process(2)}})) == RootClass::kRight);
  CHECK(job.says(root(3, "failed", 0, {{"other", process(2)}})) == RootClass::kRight);
  CHECK(job.says(root(3, "pair", 0, {{"other", process(4)}})) == RootClass::kWrong);
  CHECK(job.says(root(3, "failed", 3)) == RootClass::kRight);
  CHECK(job.says(root(3, "failed", 0)) == RootClass::kVague);
  CHECK(job.says(root(3, "cycle", 0, {{"other", process(2)}})) == RootClass::kAcquitted);
  job.moments.ended_ns[4] = at(2);
  CHECK(job.says(root(3, "ended", 4)) == RootClass::kEcho);
  job.one.truth.tells_from_nodes = 4;
  CHECK(job.says(root(3, "failed", 0)) == RootClass::kHonest);
}

TEST_CASE("a setting is neither the network's nor a program's fault", "[roots]") {
  const Job job("ENOMEM", {.network = Network::kEither, .nodes = {1}});
  CHECK(job.says(root(3, "failed", 2)) == RootClass::kRight);
  CHECK(job.says(root(3, "idle", 2)) == RootClass::kVague);
  CHECK(job.says(root(3, "idle", 4)) == RootClass::kWrong);
}

TEST_CASE("silence counts where there was the time to tell", "[roots]") {
  Job job = ended();
  const auto judged = [&](int rank, const std::vector<Json>& events) {
    return job.judge(rank, events).judged;
  };
  CHECK(judged(0, {stall(2)}) == RootClass::kSilent);
  CHECK(judged(0, {}) == RootClass::kNotDue);
  CHECK(judged(3, {stall(2)}) == RootClass::kNotDue);  // the guilty
  CHECK(judged(0, {stall(2, "idle")}) == RootClass::kNotDue);
  CHECK(judged(0, {stall(2), resume(8)}) == RootClass::kNotDue);
  CHECK(judged(0, {stall(2), resume(8), stall(11)}) == RootClass::kSilent);
  job.moments.asked_ns[0] = at(3);
  CHECK(judged(0, {stall(2)}) == RootClass::kNotDue);
  // Who has failed waits no more.
  CHECK(judged(1, {stall(2), {{"ev", "wc.error"}, {"sev", "error"}, {"mono_ns", at(3)}}}) ==
        RootClass::kNotDue);
  const Json cut = Json::object();
  CHECK(judged(2, {cut, stall(2)}) == RootClass::kSilent);
}

TEST_CASE("how long it took", "[roots]") {
  const Job job = ended();
  const auto delay = [&](const std::vector<Json>& events) {
    return std::lround(job.judge(0, events).delay_sec.value_or(-1) * 1000);  // ms
  };
  CHECK(delay({stall(2), root(2.5, "ended", 3)}) == 1000);  // its age is 3 s
  CHECK(delay({stall(2), root(5, "ended", 3)}) == 3000);
  CHECK(delay({stall(2), root(5, "ended", 4)}) == -1000);
}

TEST_CASE("a healthy job", "[roots]") {
  Job job("none", {.healthy = true});
  job.moments.effect_ns = at(50);  // of no matter
  CHECK(job.judge(0, {stall(2)}).judged == RootClass::kNotDue);
  CHECK(job.says(root(3, "idle", 3)) == RootClass::kAlarm);
  job.one.actions.push_back({.kind = softcuda::Action::Kind::kCompute, .ms = 2500, .only_rank = 3});
  CHECK(job.says(root(3, "idle", 3)) == RootClass::kDrawn);
  CHECK(job.says(root(3, "idle", 4)) == RootClass::kAlarm);
  CHECK(job.says(root(3, "ended", 3)) == RootClass::kAlarm);
  CHECK(job.judge(0, {root(3, "idle", 4), root(4, "idle", 3)}).judged == RootClass::kAlarm);
  job.one.actions.back().ms = 1500;
  CHECK(job.says(root(3, "idle", 3)) == RootClass::kAlarm);
}

TEST_CASE("a fault that did no harm", "[roots]") {
  Job job = of_network("slow rail", 2);
  job.harmless = true;
  CHECK(job.judge(0, {stall(2)}).judged == RootClass::kNotDue);
  CHECK(job.says(root(3, "pair", 0, {{"other", process(2)}})) == RootClass::kRight);
  CHECK(job.says(root(3, "idle", 4)) == RootClass::kAlarm);
}

TEST_CASE("what the logs of all jobs say together", "[roots]") {
  const auto line = [](RootClass judged, std::optional<double> delay = std::nullopt) {
    return LogLine{.judged = name_of(judged), .delay_sec = delay};
  };
  const std::vector<LogLines> jobs{
      {"exit(0)", {line(RootClass::kRight, 0.5), line(RootClass::kSilent)}},
      {"none", {line(RootClass::kNotDue), line(RootClass::kDrawn)}},
      {"bond", {line(RootClass::kRight, 1.5), line(RootClass::kHonest)}, false}};
  const RootScore score = root_score_of(jobs);
  CHECK(score.judged == 4);
  CHECK(std::lround(score.right_percent()) == 75);
  CHECK_FALSE(score.accused);
  CHECK(root_score_of({{"none", {line(RootClass::kAlarm)}}}).accused);
  const std::string text = root_summary(jobs);
  CHECK(text.find("4 logs had to name somebody, or did: 75.0 % right") != std::string::npos);
  CHECK(text.find("tell what is called: 2 logs, 50.0 % right") != std::string::npos);
  CHECK(text.find("tell nothing of it: 2 logs, 100.0 % right") != std::string::npos);
  CHECK(text.find("median 0.50 s, 99th percentile 1.50 s, of 2 logs") != std::string::npos);
  const LogLine whole{4, "wrong", "why", "said", 0.25};
  CHECK(text_of(log_line_of(to_json(whole))) == "rank 4: wrong (why) | said");
  CHECK(log_line_of(to_json(whole)).delay_sec == 0.25);
}
