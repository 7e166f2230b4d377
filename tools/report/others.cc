#include "report/others.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <tuple>

#include "nccl_net_diag/causes.h"

namespace nnd::report {

using foreign::Fact;
using foreign::What;
using nccl_net_diag::Cause;

namespace {

// What only happens of itself goes before what happens of something else, too.
int rank_of(const Fact& fact) {
  if (fact.what == What::kEcho) return 4;
  switch (*fact.cause) {
    case Cause::kDevOob:
    case Cause::kIncEnv:
      return 3;
    case Cause::kWc12:
    case Cause::kWc13:
      return 2;
    default:
      return fact.sure == foreign::Sure::kSaid ? 0 : 1;
  }
}

// It has a cause of its own, whatever its peers did.
bool stands_alone(const Fact& fact) { return rank_of(fact) < 2; }

// The first that failed: within two seconds of the earliest time that is told, where clocks and
// buffers say nothing, by what it is.
const Fact* first_of(const std::vector<const Fact*>& failures) {
  constexpr std::int64_t kTogether = 2;
  auto earliest = std::numeric_limits<std::int64_t>::max();
  for (const auto* fact : failures)
    if (fact->what == What::kFailure && fact->at_sec != 0)
      earliest = std::min(earliest, fact->at_sec);
  const auto late = [&](const Fact* fact) {
    return fact->at_sec != 0 && fact->at_sec - kTogether > earliest;
  };
  const auto order = [&](const Fact* a, const Fact* b) {
    return std::tuple(rank_of(*a) == 4, late(a), rank_of(*a)) <
           std::tuple(rank_of(*b) == 4, late(b), rank_of(*b));
  };
  return failures.empty() ? nullptr : *std::min_element(failures.begin(), failures.end(), order);
}

// "mlx5_0" and "mlx5_0:1": not every line names the port.
bool is_same_hca(const std::string& a, const std::string& b) {
  return a == b || a.starts_with(b + ":") || b.starts_with(a + ":");
}

bool is_sign_of(const Fact& sign, const Fact& failure) {
  constexpr std::int64_t kSoon = 120;  // seconds: longer than NCCL's HCAs are mostly told to try
  if (sign.cause != Cause::kAsyncPort && sign.cause != Cause::kAsyncFatal) return false;
  const bool explains = failure.cause == Cause::kWc12 || failure.cause == Cause::kWc13 ||
                        failure.cause == Cause::kWc2;
  const auto before = failure.at_sec - sign.at_sec;
  const bool known = sign.at_sec != 0 && failure.at_sec != 0;
  return explains && (!known || (before >= 0 && before <= kSoon)) &&
         (is_same_hca(sign.dev, failure.dev) || sign.dev.empty() || failure.dev.empty());
}

// This host alone, or none at all.
bool is_wrong_address(const std::string& peer) {
  return peer.starts_with("127.") || peer.starts_with("172.17.") || peer.starts_with("fe80");
}

Blame blame_of(const Others& others) {
  if (others.first == nullptr) return Blame::kNone;
  if (others.sign != nullptr) return Blame::kNetwork;
  const Fact& first = *others.first;
  if (first.what == What::kEcho) return Blame::kOpen;
  switch (*first.cause) {
    case Cause::kWc12:
    case Cause::kWc13:
    case Cause::kIncEnv:
      return Blame::kOpen;  // the peer may have died, or have other settings
    case Cause::kIncVersion:
      return Blame::kNotNetwork;
    case Cause::kDevOob:
      return is_wrong_address(first.peer) || first.error == ENETUNREACH ||
                     first.error == EHOSTUNREACH
                 ? Blame::kNetwork
                 : Blame::kOpen;
    default:
      break;
  }
  const auto reach = nccl_net_diag::cause_entry(*first.cause).reach;
  return reach == Reach::kOpen || reach == Reach::kEcho ? Blame::kOpen : Blame::kNetwork;
}

void count(Others& out, const foreign::Evidence& evidence) {
  std::set<std::pair<std::string, std::int64_t>> processes, echoing;
  for (const auto& fact : evidence.facts()) {
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

}  // namespace

Others others_of(const foreign::Evidence& evidence) {
  Others out;
  count(out, evidence);
  std::vector<const Fact*> failures;
  for (const auto& fact : evidence.facts())
    if (fact.what == What::kFailure || fact.what == What::kEcho) failures.push_back(&fact);
  out.first = first_of(failures);
  out.flight = flight_of(evidence.dumps);
  out.flight_first = out.flight && (out.first == nullptr || out.first->what == What::kEcho ||
                                    (out.flight->network_cleared() && !stands_alone(*out.first)));
  if (out.flight_first) {
    out.kind = Kind::kHang;
    out.blame = out.flight->network_cleared() ? Blame::kNotNetwork : Blame::kOpen;
    return out;
  }
  if (out.first == nullptr) return out;
  out.kind = Kind::kFailed;
  for (const auto& fact : evidence.facts())
    if (fact.what == What::kSign && is_sign_of(fact, *out.first) && out.sign == nullptr)
      out.sign = &fact;
  for (const auto* fact : failures)
    if (fact != out.first && fact->cause == out.first->cause && fact->what == out.first->what)
      out.alike.push_back(fact);
  out.blame = blame_of(out);
  return out;
}

}  // namespace nnd::report
