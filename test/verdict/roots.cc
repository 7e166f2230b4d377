#include "verdict/roots.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

namespace nnd::verdict {

namespace {

constexpr const char* kStallSec = "NCCL_NET_DIAG_STALL_SEC";
constexpr double kNsPerSec = 1e9;
// A process's end is heard of a little later than it happens, or a little earlier than by a peer.
constexpr std::uint64_t kSlackNs = 500'000'000;

double stall_sec(const Case& one) { return std::stod(one.environment.at(kStallSec)); }

// How long a rank has to wait beyond that until silence counts: an answer comes at once, and that
// none comes is known after some questions.
double answer_sec(const Case& one) {
  return one.fault == "SIGSTOP" || one.fault == "node lost" ? 5 : 2;
}

struct Place {
  std::optional<int> rank, node;
  bool consistent = true;  // rank, host, pid and proc are those of one process
};

Place place_of(const NamedProcess& named, const RootTruth& truth) {
  const Case& one = truth.one;
  Place out;
  out.rank = named.rank;
  if (named.pid) {
    const auto by_pid = std::find_if(truth.pids.begin(), truth.pids.end(),
                                     [&](const auto& rank) { return rank.second == *named.pid; });
    const bool known = by_pid != truth.pids.end();
    out.consistent = known && (!named.rank || by_pid->first == *named.rank);
    if (known) out.rank = by_pid->first;
  }
  if (const auto by_proc = truth.procs.find(named.proc); by_proc != truth.procs.end()) {
    out.consistent = out.consistent && (!out.rank || by_proc->second == *out.rank);
    out.rank = by_proc->second;
  }
  if (out.rank && (*out.rank < 0 || *out.rank >= one.ranks())) return {{}, {}, false};
  if (out.rank) out.node = one.node_of(*out.rank);
  if (named.host.empty()) return out;
  const auto& hosts = one.fabric.hosts;
  const auto host = std::find(hosts.begin(), hosts.end(), named.host);
  if (host == hosts.end()) return {{}, {}, false};
  const int node = static_cast<int>(host - hosts.begin());
  out.consistent = out.consistent && (!out.node || *out.node == node);
  out.node = node;
  return out;
}

// A rank's own fault is its alone; any process of a guilty node is right.
bool is_guilty(const Place& place, const Case& one) {
  if (!one.truth.ranks.empty() && place.rank) return one.truth.ranks.contains(*place.rank);
  if (!place.node || !one.truth.nodes.contains(*place.node)) return false;
  return one.truth.ranks.empty() || one.gpus == 1;
}

bool ended_by(const Place& place, std::uint64_t mono_ns, const Moments& moments) {
  return place.rank && moments.until(*place.rank) <= mono_ns + kSlackNs;
}

using Kinds = std::set<std::string>;

Kinds kinds_of_living(const Case& one) {
  if (one.fault == "SIGSTOP") return {"stopped"};
  if (one.fault == "mismatched") return {"cycle", "idle", "meets"};
  return {"idle"};
}

// What may be said of a guilty process, as it was then.
Kinds kinds_of_program(const Case& one, std::uint64_t ended_ns, std::uint64_t mono_ns) {
  if (one.fault == "node lost") return {"ended", "gone"};
  Kinds out;
  if (ended_ns >= mono_ns - kSlackNs) out = kinds_of_living(one);
  if (ended_ns <= mono_ns + kSlackNs) out.insert("ended");
  return out;
}

Kinds kinds_of_network(const Case& one) {
  if (one.fault == "port goes down") return {"port", "failed"};
  if (one.fault == "port down at start" || one.fault == "all HCAs down")
    return {"port", "failed", "pair"};
  return {"failed", "pair"};
}

struct Seen {
  const RootTruth& truth;
  const RootLine& line;
  Place who, other;
  bool names_guilty = false, other_guilty = false;
};

using Judged = std::pair<RootClass, std::string>;

Judged right_if(bool right, const std::string& otherwise) {
  return right ? Judged{RootClass::kRight, ""} : Judged{RootClass::kVague, otherwise};
}

Judged somebody_else(const Seen& seen) {
  const auto& [truth, line, who, other, names_guilty, other_guilty] = seen;
  if (!who.rank && !who.node) return {RootClass::kVague, "nobody is named: " + line.kind};
  const bool follows = line.kind == "failed" || ((line.kind == "ended" || line.kind == "gone") &&
                                                 ended_by(who, line.mono_ns, truth.moments));
  return follows ? Judged{RootClass::kEcho, line.kind + ", and that only followed"}
                 : Judged{RootClass::kWrong, "somebody else is named: " + line.kind};
}

Judged of_program(const Seen& seen) {
  const auto& [truth, line, who, other, names_guilty, other_guilty] = seen;
  const Case& one = truth.one;
  if (line.kind == "pair" || line.kind == "port") return {RootClass::kAccused, line.kind};
  if (names_guilty || (one.truth.both_named && other_guilty)) {
    const Place& guilty = names_guilty ? who : other;
    const auto ended = guilty.rank ? truth.moments.ended(*guilty.rank) : Moments::kNever;
    return right_if(kinds_of_program(one, ended, line.mono_ns).contains(line.kind),
                    "another story: " + line.kind);
  }
  if (!who.rank && who.node && one.truth.nodes.contains(*who.node))
    return {RootClass::kVague, "not told from others of its node"};
  if (other_guilty) return {RootClass::kVague, "as the other end: " + line.kind};
  if (one.truth.untold && line.kind == "cycle" && !line.task)
    return {RootClass::kHonest, "this release does not tell who"};
  return somebody_else(seen);
}

// The HCA that the line names, where it names one.
bool names_other_hca(const RootLine& line, const Truth& truth) {
  return !truth.hcas.empty() && !line.place.empty() &&
         !truth.hcas.contains(line.place.substr(0, line.place.find(':')));
}

Judged of_network(const Seen& seen) {
  const auto& [truth, line, who, other, names_guilty, other_guilty] = seen;
  const Case& one = truth.one;
  const bool of_programs =
      line.kind == "idle" || line.kind == "stopped" || line.kind == "cycle" || line.kind == "meets";
  if (of_programs && one.truth.network == Network::kGuilty)
    return {RootClass::kAcquitted, line.kind};
  const bool of_two = line.kind == "pair" || line.kind == "failed";
  if (names_guilty || (of_two && other_guilty)) {
    if (!kinds_of_network(one).contains(line.kind))
      return {RootClass::kVague, "another story: " + line.kind};
    return right_if(!(names_guilty && line.kind != "pair" && names_other_hca(line, one.truth)),
                    "another HCA: " + line.place);
  }
  if (line.kind != "failed") return somebody_else(seen);
  // It failed there indeed, and of two ends each may say so.
  return one.nodes < one.truth.tells_from_nodes
             ? Judged{RootClass::kHonest, "one of two ends"}
             : Judged{RootClass::kVague, "a failure at another end"};
}

Judged judge_line(const RootTruth& truth, const RootLine& line) {
  Seen seen{truth, line, place_of(line.who, truth), {}};
  if (line.other) seen.other = place_of(*line.other, truth);
  if (!seen.who.consistent || !seen.other.consistent)
    return {RootClass::kWrong, "rank, host, pid and proc are not of one process"};
  seen.names_guilty = is_guilty(seen.who, truth.one);
  seen.other_guilty = line.other && is_guilty(seen.other, truth.one);
  if (seen.names_guilty && line.who.by_proc_alone())
    return {RootClass::kVague, "neither its rank nor its host: " + line.kind};
  if (truth.harmless) {
    if (seen.names_guilty || seen.other_guilty) return {RootClass::kRight, "no harm done"};
    return {RootClass::kAlarm, "no harm done"};
  }
  const bool of_processes = truth.one.truth.network == Network::kInnocent;
  return of_processes ? of_program(seen) : of_network(seen);
}

// Whether a rank of a healthy job was drawn to keep the others waiting for as long.
bool is_slow(const Place& place, const Case& one) {
  return std::any_of(one.actions.begin(), one.actions.end(), [&](const softcuda::Action& action) {
    return action.kind == softcuda::Action::Kind::kCompute && action.only_rank &&
           action.only_rank == place.rank && action.ms >= stall_sec(one) * 1000;
  });
}

Judged judge_healthy(const RootTruth& truth, const RootLine& line) {
  if (line.warns) return {RootClass::kAlarm, "at warn: " + line.kind};
  const Place who = place_of(line.who, truth);
  if (line.kind == "idle" && who.consistent && is_slow(who, truth.one))
    return {RootClass::kDrawn, ""};
  return {RootClass::kAlarm, "nobody was drawn to wait for it: " + line.kind};
}

std::optional<double> delay_of(const Case& one, const RootLog& log, const RootLine& line) {
  const auto told = static_cast<double>(line.mono_ns) / kNsPerSec;
  std::optional<double> due;
  if (line.age_sec > 0) due = told - std::max(0.0, line.age_sec - stall_sec(one));
  if (const WaitSpan* wait = log.wait_at(line.mono_ns)) {
    const double from = static_cast<double>(wait->from_ns) / kNsPerSec;
    due = std::min(due.value_or(from), from);
  }
  if (!due) return std::nullopt;
  return told - *due;
}

// Why nobody need be named in it; empty: somebody had to be.
std::string excuse(const RootTruth& truth, int rank, const RootLog& log) {
  if (truth.harmless) return "no harm done";
  if (truth.one.truth.ranks.contains(rank) && !truth.one.truth.both_named) return "the guilty";
  const Moments& moments = truth.moments;
  const std::uint64_t until =
      std::min(moments.until(rank), log.failed_ns.value_or(Moments::kNever));
  const WaitSpan* wait = log.wait_at(until);
  if (wait == nullptr) return "it did not wait";
  const std::uint64_t since = std::max(wait->from_ns, moments.effect_ns);
  const double waited = until < since ? 0 : static_cast<double>(until - since) / kNsPerSec;
  return waited < answer_sec(truth.one) ? "it did not wait for long enough" : "";
}

RootJudgement judgement_of(const Judged& judged, const RootLine& line) {
  return {.judged = judged.first, .why = judged.second, .said = line.msg};
}

}  // namespace

std::string name_of(RootClass judged) {
  switch (judged) {
    case RootClass::kRight:
      return "right";
    case RootClass::kHonest:
      return "not known";
    case RootClass::kVague:
      return "vague";
    case RootClass::kWrong:
      return "wrong";
    case RootClass::kEcho:
      return "echo";
    case RootClass::kSilent:
      return "silent";
    case RootClass::kAccused:
      return "accused";
    case RootClass::kAcquitted:
      return "acquitted";
    case RootClass::kAlarm:
      return "alarm";
    case RootClass::kDrawn:
      return "drawn wait";
    case RootClass::kNotDue:
      return "not due";
  }
  return {};
}

void ask_peers(Case& one) {
  one.environment["NCCL_NET_DIAG_PEERS"] = "on";
  one.environment.try_emplace(kStallSec, "2");
}

RootJudgement judge_log(const RootTruth& truth, int rank, const RootLog& log) {
  const bool healthy = truth.one.truth.healthy;
  const std::uint64_t from = healthy || truth.harmless ? 0 : truth.moments.effect_ns;
  std::vector<RootLine> lines;
  for (const RootLine& line : log.lines)
    if (line.mono_ns >= from && line.mono_ns <= truth.moments.until(rank)) lines.push_back(line);
  if (healthy) {  // each line counts
    RootJudgement out{.why = "nobody had to wait"};
    for (const RootLine& line : lines) {
      if (out.judged == RootClass::kAlarm) break;
      out = judgement_of(judge_healthy(truth, line), line);
    }
    return out;
  }
  if (lines.empty()) {
    const std::string why = excuse(truth, rank, log);
    return {.judged = why.empty() ? RootClass::kSilent : RootClass::kNotDue, .why = why};
  }
  RootJudgement out = judgement_of(judge_line(truth, lines.back()), lines.back());
  if (out.judged == RootClass::kRight) out.delay_sec = delay_of(truth.one, log, lines.back());
  return out;
}

}  // namespace nnd::verdict
