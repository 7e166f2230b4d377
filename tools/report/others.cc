#include "report/others.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "foreign/nccl_meaning.h"
#include "foreign/process_end.h"
#include "nccl_net_diag/causes.h"
#include "report/kernel.h"
#include "report/kernel_match.h"
#include "report/program_end.h"

namespace nnd::report {

using foreign::Fact;
using foreign::What;
using nccl_net_diag::Cause;

namespace {

// What only happens of itself goes before what happens of something else, too; from kFollows on it
// mostly does.
constexpr int kFollows = 3;
int rank_of(const Fact& fact) {
  if (fact.what == What::kEcho) return fact.source == foreign::Source::kOutput ? 5 : 4;
  switch (*fact.cause) {
    case Cause::kDevOob:
    case Cause::kOobBlocked:
    case Cause::kIncEnv:
      return kFollows;
    case Cause::kWc12:
    case Cause::kWc13:
      return 2;
    case Cause::kCudaFail:
      return fact.sure == foreign::Sure::kSaid ? 0 : kFollows;
    case Cause::kIncShm:    // or a rank that has ended took it away
    case Cause::kOobStore:  // or who didn't come has failed of something else
      return kFollows;
    default:
      return fact.sure == foreign::Sure::kSaid ? 0 : 1;
  }
}

// It has a cause of its own, whatever its peers did.
bool stands_alone(const Fact& fact) { return rank_of(fact) < 2; }

// The first that failed: within two seconds of the earliest time that is told, where clocks and
// buffers say nothing, by what it is.
constexpr std::int64_t kTogetherSec = 2;

const Fact* first_of(const std::vector<const Fact*>& failures) {
  auto earliest = std::numeric_limits<std::int64_t>::max();
  for (const auto* fact : failures)
    if (fact->what == What::kFailure && fact->at_sec != 0)
      earliest = std::min(earliest, fact->at_sec);
  const auto late = [&](const Fact* fact) {
    return fact->at_sec != 0 && fact->at_sec - kTogetherSec > earliest;
  };
  const auto order = [&](const Fact* a, const Fact* b) {
    return std::tuple(a->what == What::kEcho, late(a), rank_of(*a)) <
           std::tuple(b->what == What::kEcho, late(b), rank_of(*b));
  };
  return failures.empty() ? nullptr : *std::min_element(failures.begin(), failures.end(), order);
}

// A GID that all connections that failed like that have at one end, and no other has: of two
// connections at least. Empty: there is none.
std::string shared_end(const std::vector<const Fact*>& failures, const Fact& first) {
  if (first.cause != Cause::kWc12 || first.local.empty() || first.remote.empty()) return {};
  constexpr std::size_t kLeast = 2;
  std::set<std::pair<std::string, std::string>> connections;
  std::set<std::string> shared{first.local, first.remote};
  for (const auto* fact : failures) {
    if (fact->cause != first.cause || fact->what != first.what) continue;
    if (fact->local.empty() || fact->remote.empty()) return {};
    connections.emplace(fact->local, fact->remote);
    std::erase_if(
        shared, [&](const std::string& gid) { return gid != fact->local && gid != fact->remote; });
  }
  return connections.size() >= kLeast && shared.size() == 1 ? *shared.begin() : std::string();
}

// "mlx5_0" and "mlx5_0:1": not every line names the port.
bool is_same_hca(const std::string& a, const std::string& b) {
  return a == b || a.starts_with(b + ":") || b.starts_with(a + ":");
}

bool explains(const Fact& sign, const Fact& failure) {
  constexpr std::int64_t kSoon = 120;  // seconds: longer than NCCL's HCAs are mostly told to try
  const bool refused = sign.cause == Cause::kGdrAcs;
  if (sign.cause != Cause::kAsyncPort && sign.cause != Cause::kAsyncFatal && !refused) return false;
  const bool explains = refused ? failure.cause && may_be_refused_memory(*failure.cause)
                                : failure.cause == Cause::kWc12 || failure.cause == Cause::kWc13 ||
                                      failure.cause == Cause::kWc2;
  const auto before = failure.at_sec - sign.at_sec;
  const bool known = sign.at_sec != 0 && failure.at_sec != 0;
  return explains && (!known || (before >= 0 && before <= kSoon)) &&
         (is_same_hca(sign.dev, failure.dev) || sign.dev.empty() || failure.dev.empty());
}

// What NCCL's log and the kernels' say of one job.
class Kernels {
 public:
  explicit Kernels(const foreign::Evidence& evidence)
      : evidence_(evidence), hosts_(names_in(evidence), evidence) {
    for (const auto& fact : evidence.facts()) {
      if (!is_nccls(fact)) continue;
      auto& process = processes_[{fact.writer.host, fact.writer.pid}];
      if (fact.writer.rank) process.said = fact.writer.rank;
      if (fact.what == What::kRank && fact.nranks > process.nranks) {
        process.rank = fact.rank;
        process.nranks = fact.nranks;
      }
      if (fact.what == What::kHcaPath) hcas_[{fact.writer.host, fact.pci}].insert(fact.dev);
    }
  }

  // A process that wrote NCCL's lines; of several the one that ended first.
  void find_killed(ForeignFindings& out) const {
    for (const auto& fact : evidence_.facts()) {
      if (fact.what != What::kKilled && fact.what != What::kCrashed) continue;
      const auto process = processes_.find({hosts_.of(fact), fact.pid});
      if (process == processes_.end()) continue;
      if (out.killed != nullptr && fact.at_sec >= out.killed->at_sec) continue;
      out.killed = &fact;
      out.killed_host = process->first.first;
      out.killed_rank = process->second.said ? process->second.said : process->second.rank;
    }
  }
  // Of the HCA of a failure, by where it is on the PCI bus, and soon before that. NCCL writes its
  // host's time.
  const Fact* sign_of(const Fact& failure) const {
    if (failure.dev.empty() || failure.at_sec == 0) return nullptr;
    for (const auto& fact : evidence_.facts()) {
      if (!is_kernels(fact) || fact.what != What::kSign || fact.at_sec == 0 || fact.utc) continue;
      Fact sign = fact;
      sign.dev = hca_at(failure.writer.host, fact);
      sign.at_sec = nearest_sec(fact, failure.at_sec, false);
      if (!sign.dev.empty() && explains(sign, failure)) return &fact;
    }
    return nullptr;
  }

  static bool is_kernels(const Fact& fact) { return fact.source == foreign::Source::kKernelLog; }

 private:
  struct Process {
    std::optional<int> said, rank, nranks;  // rank: in its largest communicator
  };

  static bool is_nccls(const Fact& fact) {
    return fact.source == foreign::Source::kNcclLog && !fact.writer.host.empty();
  }
  static std::set<std::string> names_in(const foreign::Evidence& evidence) {
    std::set<std::string> out;
    for (const auto& fact : evidence.facts())
      if (is_nccls(fact)) out.insert(fact.writer.host);
    return out;
  }
  // Empty: it is of another host, or NCCL's log doesn't tell, or names several there, as of a card
  // with two ports.
  std::string hca_at(const std::string& host, const Fact& sign) const {
    if (hosts_.of(sign) != host) return {};
    const auto found = hcas_.find({host, sign.pci});
    return found != hcas_.end() && found->second.size() == 1 ? *found->second.begin()
                                                             : std::string();
  }

  const foreign::Evidence& evidence_;
  KernelHosts hosts_;
  std::map<std::pair<std::string, std::int64_t>, Process> processes_;
  std::map<std::pair<std::string, std::string>, std::set<std::string>> hcas_;
};

// Whether a process was ended before this failed. Where times don't tell, what failed is taken for
// its echo; where nothing failed, its pid alone proves nothing: it may be one of long ago.
bool is_end_of(const Fact& killed, const Fact* failure) {
  constexpr std::int64_t kClocks = 2, kLongBefore = 3600;
  if (failure == nullptr) return false;
  if (killed.at_sec == 0 || failure->at_sec == 0) return true;
  const auto before = failure->at_sec - nearest_sec(killed, failure->at_sec, false);
  return before >= -kClocks && before <= kLongBefore;
}

// Others wait for the rank that was killed.
bool is_missed(const ForeignFindings& others) {
  if (!others.flight || !others.killed_rank) return false;
  const auto& guilty = others.flight->guilty;
  return std::find(guilty.begin(), guilty.end(), *others.killed_rank) != guilty.end();
}

bool has_no_route(const Fact& fact) {
  return fact.error == ENETUNREACH || fact.error == EHOSTUNREACH;
}

Blame blame_of(const ForeignFindings& others) {
  if (others.first == nullptr) return Blame::kNone;
  if (others.sign != nullptr) return Blame::kNetwork;
  const Fact& first = *others.first;
  if (first.what == What::kEcho) return Blame::kOpen;
  switch (*first.cause) {
    case Cause::kWc12:
    case Cause::kWc13:
      return Blame::kOpen;  // the peer may have died, or have other settings
    case Cause::kIncVersion:
    case Cause::kIncRanks:
    case Cause::kIncColl:
    case Cause::kDupGpu:
    case Cause::kOobPort:
    case Cause::kLimShm:
    case Cause::kIncShm:
    case Cause::kLimNoFile:
    case Cause::kCudaFail:
    case Cause::kGpuNvls:
      return Blame::kNotNetwork;
    case Cause::kOobBlocked:  // or who listened there has ended
      return has_no_route(first) ? Blame::kNetwork : Blame::kOpen;
    case Cause::kOobStore:
      if (first.by_setting) return Blame::kNotNetwork;
      return has_no_route(first) ? Blame::kNetwork : Blame::kOpen;
    case Cause::kDevOob:
      // A loopback address is right where all ranks of Gloo's are on one host.
      if (first.source == foreign::Source::kOutput && !has_no_route(first) &&
          others.hosts.size() <= 1)
        return Blame::kOpen;
      return first.peer.empty() || foreign::leads_to_no_other_host(first.peer) ||
                     has_no_route(first)
                 ? Blame::kNetwork
                 : Blame::kOpen;
    default:
      break;
  }
  const auto reach = nccl_net_diag::cause_entry(*first.cause).reach;
  return reach == Reach::kOpen || reach == Reach::kEcho ? Blame::kOpen : Blame::kNetwork;
}

// What NCCL told of first: where something failed, also what is no trouble as long as all is well.
const Fact* noted_of(const foreign::Evidence& evidence, bool failed) {
  const auto& facts = evidence.facts();
  const auto found = std::find_if(facts.begin(), facts.end(), [&](const Fact& fact) {
    return fact.what == What::kSign && !Kernels::is_kernels(fact) &&
           (failed || fact.sure == foreign::Sure::kSaid);
  });
  return found == facts.end() ? nullptr : &*found;
}

// Whoever ends a job that hangs may kill one process first.
bool had_timed_out(const foreign::Evidence& evidence) {
  return std::any_of(evidence.facts().begin(), evidence.facts().end(),
                     [](const Fact& fact) { return fact.source == foreign::Source::kWatchdog; });
}

Kind kind_of(const Ras& ras) {
  switch (ras.kind) {
    case Ras::Kind::kDead:
      return Kind::kLost;
    case Ras::Kind::kError:
      return Kind::kFailed;
    case Ras::Kind::kUnanswered:
    case Ras::Kind::kApart:
      break;
  }
  return Kind::kHang;
}

void count(ForeignFindings& out, const foreign::Evidence& evidence) {
  std::set<std::pair<std::string, std::int64_t>> processes, echoing;
  for (const auto& fact : evidence.facts()) {
    if (fact.source == foreign::Source::kKernelLog) {
      out.kernel.push_back(&fact);
      continue;
    }
    if (!fact.writer.host.empty()) {
      processes.emplace(fact.writer.host, fact.writer.pid);
      out.hosts.insert(fact.writer.host);
    }
    if (fact.what == What::kRelease) out.releases.insert(fact.text);
    if (fact.what == What::kTransport) out.transports.insert(fact.text);
    if (fact.what == What::kEcho) echoing.emplace(fact.writer.host, fact.writer.pid);
    out.no_hca = out.no_hca || fact.what == What::kNoHca;
  }
  out.processes = processes.size();
  out.echoes = echoing.size();
}

bool is_node_failure(const Fact& cancelled) { return cancelled.detail == foreign::kNodeFailed; }

// srun cancels a step itself where one of its tasks has failed (--kill-on-bad-exit), and older
// releases don't say why.
bool follows_from_an_end(const Fact& cancelled, const foreign::Evidence& evidence) {
  const auto& facts = evidence.facts();
  return cancelled.detail == foreign::kStepCancelled &&
         std::any_of(facts.begin(), facts.end(), [&](const Fact& fact) {
           return fact.what == What::kEnded && fact.file == cancelled.file &&
                  fact.line < cancelled.line && (*fact.status > 0 || is_crash(fact));
         });
}

}  // namespace

ForeignFindings findings_of(const foreign::Evidence& evidence) {
  ForeignFindings out;
  count(out, evidence);
  std::reverse(out.kernel.begin(), out.kernel.end());
  const Kernels kernels(evidence);
  kernels.find_killed(out);
  out.raised = raised_of(evidence);
  out.ended = ended_of(evidence);
  out.bandwidths = bandwidths_of(evidence.inspected);
  for (const auto& fact : evidence.facts())
    if (fact.what == What::kCancelled && !follows_from_an_end(fact, evidence) &&
        (out.cancelled == nullptr || is_node_failure(fact)))
      out.cancelled = &fact;
  std::vector<const Fact*> failures;
  for (const auto& fact : evidence.facts())
    if (fact.what == What::kFailure || fact.what == What::kEcho) failures.push_back(&fact);
  out.first = first_of(failures);
  out.flight = flight_of(evidence.dumps);
  out.ras = ras_of(evidence.ras);
  const bool alone = out.first != nullptr && stands_alone(*out.first);
  out.killed_first =
      out.killed != nullptr && !alone && (is_end_of(*out.killed, out.first) || is_missed(out));
  // What is printed of an exception tells of an end where something else does, too.
  if (out.raised) out.raised->ended |= out.first != nullptr || out.ended != nullptr;
  // What is printed has no times: where NCCL tells of a failure with a cause, which came first
  // isn't known.
  const bool failed =
      out.first != nullptr && out.first->what == What::kFailure && rank_of(*out.first) < kFollows;
  out.ended_first = !out.killed_first && out.ended != nullptr && is_crash(*out.ended) && !failed &&
                    !had_timed_out(evidence);
  out.raised_first = !out.killed_first && !out.ended_first && out.raised && out.raised->own &&
                     out.raised->ended && !alone &&
                     (!failed || out.raised->told->source == foreign::Source::kErrorFile);
  if (out.killed_first || out.raised_first || out.ended_first) {
    out.kind = Kind::kLost;
    out.blame = out.killed_first && is_crash_below(*out.killed) ? Blame::kOpen : Blame::kNotNetwork;
    return out;
  }
  out.flight_first = out.flight && (out.first == nullptr || out.first->what == What::kEcho ||
                                    (out.flight->network_cleared() && !stands_alone(*out.first)));
  if (out.flight_first) {
    out.kind = Kind::kHang;
    out.blame = out.flight->network_cleared() ? Blame::kNotNetwork : Blame::kOpen;
    return out;
  }
  out.ras_first =
      out.ras && out.ras->found() && (out.first == nullptr || out.first->what == What::kEcho);
  if (out.ras_first) {
    out.kind = kind_of(*out.ras);
    out.blame = Blame::kOpen;  // RAS knows of no device
    return out;
  }
  out.cancelled_first = out.cancelled != nullptr && is_node_failure(*out.cancelled) &&
                        (out.first == nullptr || out.first->what == What::kEcho);
  if (out.cancelled_first) {
    out.kind = Kind::kLost;
    out.blame = Blame::kOpen;  // it didn't answer slurmctld
    return out;
  }
  if (out.first == nullptr) {
    if (out.processes == 0 && !out.kernel.empty()) out.blame = Blame::kOpen;
    out.noted = noted_of(evidence, false);
    return out;
  }
  out.kind = Kind::kFailed;
  if (out.first->what == What::kEcho) out.noted = noted_of(evidence, true);
  for (const auto& fact : evidence.facts())
    if (fact.what == What::kSign && !Kernels::is_kernels(fact) && explains(fact, *out.first) &&
        out.sign == nullptr)
      out.sign = &fact;
  if (out.sign == nullptr) out.sign = kernels.sign_of(*out.first);
  out.shared_end = shared_end(failures, *out.first);
  if (!out.shared_end.empty() && out.first->local != out.shared_end)
    for (const auto* fact : failures)
      if (fact->local == out.shared_end && fact->cause == out.first->cause &&
          fact->at_sec <= out.first->at_sec + kTogetherSec) {
        out.first = fact;
        break;
      }
  for (const auto* fact : failures)
    if (fact != out.first && fact->cause == out.first->cause && fact->what == out.first->what)
      out.alike.push_back(fact);
  out.blame = blame_of(out);
  return out;
}

}  // namespace nnd::report
