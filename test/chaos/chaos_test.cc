// Random faults in real NCCL jobs: what goes wrong, where and when, and in how large a job, is
// drawn from a seed; the guilty end is known of each run. Counted: right, wrong, silent, false
// alarms.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "job/fabric.h"
#include "log/reader.h"
#include "report/box_lines.h"
#include "softverbs/fault_moments.h"
#include "support/catch.h"

using namespace softcuda;
using nlohmann::json;
using nnd::test::FabricJob;
using Kind = Action::Kind;
using Clock = std::chrono::steady_clock;

namespace {

struct Fault {
  const char* keys;              // of [[fault]]
  std::set<std::string> causes;  // that are right, at the guilty host
  std::set<std::string> beyond;  // ... and at its peers, which can't know more
};

// What may be told of each, wherever it strikes.
const std::vector<Fault>& faults() {
  static const std::set<std::string> kRemote = {"RC-6", "WC-12", "RC-2", "RC-3"};
  static const std::vector<Fault> all = {
      {"kind = \"refuse-rtr\"\nerrno = \"ETIMEDOUT\"\n", {"QP-110"}, kRemote},
      {"kind = \"refuse-rtr\"\nerrno = \"EINVAL\"\n", {"QP-22"}, kRemote},
      {"kind = \"refuse-rtr\"\nerrno = \"ENODEV\"\n", {"QP-19"}, kRemote},
      {"kind = \"refuse-rtr\"\nerrno = \"ENETUNREACH\"\n", {"QP-101"}, kRemote},
      {"kind = \"fail-wr\"\nstatus = \"LOC_PROT_ERR\"\nnth = @\n", {"WC-4"}, kRemote},
      {"kind = \"fail-wr\"\nstatus = \"REM_ACCESS_ERR\"\nnth = @\n", {"WC-10"}, kRemote},
      {"kind = \"fail-wr\"\nstatus = \"RETRY_EXC_ERR\"\nnth = @\n", {"WC-12"}, kRemote},
      {"kind = \"fail-wr\"\nstatus = \"REM_INV_REQ_ERR\"\nnth = @\n", {"WC-9"}, kRemote},
      {"kind = \"async-event\"\nevent = \"DEVICE_FATAL\"\nafter_messages = @\n",
       {"ASYNC-FATAL"},
       kRemote},
      {"kind = \"fail-call\"\nverb = \"ibv_create_qp\"\nerrno = \"EINVAL\"\ntimes = 0\n",
       {"QP-22"},
       kRemote},
      {"kind = \"link-down\"\nafter_messages = @\n", {"ASYNC-PORT", "WC-12"}, {"WC-12", "RC-6"}}};
  return all;
}

long setting(const char* name, long otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::atol(value);
}

class Chance {
 public:
  explicit Chance(unsigned seed) : engine_(seed) {}
  int between(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(engine_);
  }

 private:
  std::mt19937 engine_;
};

struct Shape {
  int nodes = 2, gpus = 1;
  std::vector<Action> actions;
};

// Two to four ranks, now and then sixteen; sizes, collectives and how often they are repeated.
Shape draw_shape(Chance& chance) {
  Shape out;
  const int size = chance.between(0, 19);
  out.gpus = size == 0 ? 8 : size < 6 ? 2 : 1;
  out.nodes = size >= 6 && size < 9 ? 3 : 2;
  constexpr Collective kAll[] = {Collective::kAllReduce, Collective::kAllGather,
                                 Collective::kReduceScatter, Collective::kBroadcast,
                                 Collective::kSendRecv};
  out.actions.push_back({.kind = Kind::kCreate});
  for (int i = chance.between(1, 3); i > 0; --i)
    out.actions.push_back({.kind = Kind::kCollective,
                           .collective = kAll[static_cast<std::size_t>(chance.between(0, 4))],
                           .bytes = static_cast<std::size_t>(chance.between(1, 200)) * 4096,
                           .iterations = chance.between(2, 8)});
  out.actions.push_back({.kind = Kind::kDestroy});
  return out;
}

std::string fabric_of(const Shape& shape, const std::string& fault) {
  return fmt::format(
      "resolve_timeout_ms = 20\n[[host]]\ncount = {}\nname = \"node{{h}}\"\n[[host.hca]]\n"
      "count = {}\naddress = \"10.1.{{i}}.{{h+1}}/16\"\n{}",
      shape.nodes, std::max(shape.gpus, 2), fault);
}

// What slows a job down and is no fault: messages that begin late, a rank that computes before it
// takes part, and (below) one whose process is stopped for a while.
std::string draw_jitter(Chance& chance, const Shape& shape) {
  if (chance.between(0, 1) == 0) return {};
  return fmt::format(
      "[[fault]]\nkind = \"hold-wr\"\nhost = \"node{}\"\nnth = {}\ntimes = {}\ndelay_ms = {}\n",
      chance.between(0, shape.nodes - 1), chance.between(1, 100), chance.between(1, 60),
      chance.between(1, 20));
}

void draw_slow_rank(Chance& chance, Shape& shape) {
  if (chance.between(0, 1) == 0) return;
  shape.actions.insert(
      shape.actions.begin() + chance.between(1, static_cast<int>(shape.actions.size()) - 1),
      {.kind = Kind::kCompute,
       .ms = chance.between(50, 1500),
       .only_rank = chance.between(0, shape.nodes * shape.gpus - 1)});
}

// Stops a rank's process now and then, from one time that it is asked to the next: a fraction of a
// second, far under the age of a stall.
class Pauses {
 public:
  Pauses(Chance& chance, const FabricJob& job) : job_(job) {
    if (chance.between(0, 1) == 0) return;
    rank_ = chance.between(0, job.spec.ranks() - 1);
    for (int i = 0; i < 3; ++i) at_.insert(chance.between(1, 30));
  }
  bool operator()() {
    if (stopped_ != 0) ::kill(std::exchange(stopped_, 0), SIGCONT);
    if (!at_.contains(++asked_)) return false;
    const auto events = job_.events(rank_);
    if (events.empty() || events.back()["ev"] == "summary") return false;  // it ends
    if (::kill(events.front()["pid"].get<pid_t>(), SIGSTOP) == 0)
      stopped_ = events.front()["pid"].get<pid_t>();
    return false;
  }

 private:
  const FabricJob& job_;
  int rank_ = 0, asked_ = 0;
  std::set<int> at_;
  pid_t stopped_ = 0;
};

void prepare(FabricJob& job, const Shape& shape) {
  job.spec.actions = shape.actions;
  job.spec.deadline_sec = 60;
  job.spec.grace_sec = 3;
  job.spec.environment["NCCL_IB_MQP_RETRY_CNT"] = "1";
  job.spec.environment["NCCL_IB_MQP_RETRY_SLEEP_MSEC"] = "1";
  job.spec.environment["NCCL_NET_DIAG_STDERR"] = "off";
}

// What the rank's log has, and the black box of a rank that was killed before all was in the log.
std::vector<json> recorded(const FabricJob& job, int rank) {
  std::vector<json> out = job.events(rank);
  const auto box = job.dir() / fmt::format("rank{}.nndbox", rank);
  if (!std::filesystem::exists(box)) return out;
  nnd::report::Written written;
  nnd::log::LineParser parser;
  nnd::log::LogFile(job.dir() / fmt::format("rank{}.jsonl", rank))
      .read(parser, [&](const nnd::log::Event& event) { written.add(event); });
  nnd::report::for_each_line(nnd::report::read_box_file(box), written,
                             [&](const std::string& line) { out.push_back(json::parse(line)); });
  return out;
}

std::vector<json> told(const FabricJob& job, int rank) {
  std::vector<json> out = recorded(job, rank);
  std::erase_if(
      out, [](const json& event) { return event["sev"] == "info" || event["ev"] == "env.lint"; });
  return out;
}

// Where a fault is planted.
struct Place {
  int node = 0;
  std::string hca;  // empty: any of the node's
};

// Whether the device and the peer that an event names are the planted ones. own: it is of a rank on
// the guilty node.
bool names(const json& event, const Place& place, bool own) {
  if (own && !place.hca.empty() && event.value("/dev/name"_json_pointer, place.hca) != place.hca)
    return false;
  const auto peer = event.value("/peer/gid"_json_pointer, std::string());
  if (peer.empty()) return true;
  // As fabric_of() has it: the last byte is the node's. Ranks of one node don't use the network.
  return (std::stoi(peer.substr(peer.rfind('.') + 1)) - 1 == place.node) != own;
}

struct Tally {
  int runs = 0, right = 0, wrong = 0, silent = 0, unharmed = 0;
};

// One run, judged by what the guilty host's ranks and the others' said.
void run_fault(unsigned seed, Tally& tally) {
  Chance chance(seed);
  const Shape shape = draw_shape(chance);
  const Fault& fault =
      faults()[static_cast<std::size_t>(chance.between(0, static_cast<int>(faults().size()) - 1))];
  std::string keys = fault.keys;
  if (const auto at = keys.find('@'); at != std::string::npos)
    keys.replace(at, 1, std::to_string(chance.between(1, 30)));
  Place place{chance.between(0, shape.nodes - 1), ""};
  if (chance.between(0, 1) == 1)
    place.hca = fmt::format("mlx5_{}", chance.between(0, shape.gpus - 1));
  const std::string where =
      fmt::format("host = \"node{}\"\n{}", place.node,
                  place.hca.empty() ? "" : fmt::format("hca = \"{}\"\n", place.hca));
  FabricJob job(shape.gpus, shape.nodes, fabric_of(shape, "[[fault]]\n" + where + keys));
  prepare(job, shape);
  // Lost packets: seconds, and that this is short is told.
  job.spec.environment["NCCL_IB_TIMEOUT"] = "14";
  job.spec.environment["NCCL_IB_RETRY_CNT"] = "2";
  const auto result = job.run();
  ++tally.runs;
  bool right = false;
  std::set<std::string> wrong;
  for (int rank = 0; rank < job.spec.ranks(); ++rank) {
    const bool own = rank / shape.gpus == place.node;
    for (const json& event : told(job, rank)) {
      const std::string cause = event["cause"];
      const bool known = fault.causes.contains(cause) || fault.beyond.contains(cause);
      // An error ends the job, and ranks that were about to connect fail for it.
      const bool follows = cause.starts_with("RC-") || cause == "WC-5" || cause == "HANG-CONNECT";
      const bool fits = known && names(event, place, own);
      right = right || (own && fits && fault.causes.contains(cause));
      if (!fits && !follows) wrong.insert(fmt::format("rank {} {}", rank, event.dump()));
    }
  }
  const bool met = !softverbs::fault_moments(job.dir() / "fabric").empty();
  const char* verdict = !wrong.empty() ? "wrong"
                        : right        ? "right"
                        : !met         ? "not met"
                        : result.ok()  ? "unharmed"
                                       : "silent";
  (!wrong.empty()        ? tally.wrong
   : right               ? tally.right
   : met && !result.ok() ? tally.silent
                         : tally.unharmed)++;
  if (std::string(verdict) == "right") return;
  fmt::print("seed {}: {} ({} nodes of {} ranks, at node{}: {}) told: {}\n", seed, verdict,
             shape.nodes, shape.gpus, place.node,
             (place.hca.empty() ? "" : place.hca + ", ") + keys.substr(0, keys.find("\ntimes")),
             fmt::join(wrong, "; "));
}

// Nothing is wrong.
int run_healthy(unsigned seed) {
  Chance chance(seed);
  Shape shape = draw_shape(chance);
  draw_slow_rank(chance, shape);
  FabricJob job(shape.gpus, shape.nodes, fabric_of(shape, draw_jitter(chance, shape)));
  prepare(job, shape);
  Pauses pauses(chance, job);
  const auto result = job.run([&] { return pauses(); });
  int alarms = 0;
  for (int rank = 0; rank < job.spec.ranks(); ++rank)
    for (const json& event : told(job, rank)) {
      ++alarms;
      fmt::print("seed {}: rank {} of a healthy job told {}\n", seed, rank, event.dump());
    }
  if (!result.ok()) fmt::print("seed {}: {}\n", seed, nnd::test::failures(result).substr(0, 400));
  CHECK(result.ok());
  return alarms;
}

struct Plan {
  unsigned first = static_cast<unsigned>(setting("NND_CHAOS_SEED", 1));
  long runs = setting("NND_CHAOS_RUNS", 24);
  Clock::time_point end = Clock::now() + std::chrono::seconds(setting("NND_CHAOS_SEC", 45));
};

}  // namespace

TEST_CASE("random faults are named, at the guilty end", "[faults]") {
  const Plan plan;
  Tally tally;
  for (long i = 0; i < plan.runs && Clock::now() < plan.end; ++i)
    run_fault(plan.first + static_cast<unsigned>(i), tally);
  fmt::print("chaos from seed {}: {} runs, {} right, {} wrong, {} silent, {} without effect\n",
             plan.first, tally.runs, tally.right, tally.wrong, tally.silent, tally.unharmed);
  CHECK(tally.runs > 0);
  CHECK(tally.silent == 0);
  CHECK(tally.wrong * 100 <= tally.runs);
  CHECK(tally.right * 100 >= 95 * (tally.runs - tally.unharmed));
}

TEST_CASE("healthy jobs of all sorts warn of nothing", "[healthy]") {
  const Plan plan;
  int alarms = 0, runs = 0;
  for (; runs < plan.runs && Clock::now() < plan.end; ++runs)
    alarms += run_healthy(plan.first + 5000 + static_cast<unsigned>(runs));
  fmt::print("chaos from seed {}: {} healthy runs, {} false alarms\n", plan.first + 5000, runs,
             alarms);
  CHECK(runs > 0);
  CHECK(alarms == 0);
}
