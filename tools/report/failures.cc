#include "report/failures.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "nccl_net_diag/causes.h"

namespace nnd::report {

namespace {

using nccl_net_diag::Cause;

// What a pair of ends is, whatever their processes do.
constexpr std::array kOfPaths{Cause::kSubRail,  Cause::kSubIntra, Cause::kSubDirect,
                              Cause::kSubSame,  Cause::kGidDiff,  Cause::kMtuDiff,
                              Cause::kDevMixLl, Cause::kQp110,    Cause::kQp101,
                              Cause::kQp113,    Cause::kQp61,     Cause::kQpRetry};

template <std::size_t kSize>
bool is_one_of(const std::string& cause, const std::array<Cause, kSize>& causes) {
  const auto known = nccl_net_diag::find_cause(cause);
  return known && std::find(causes.begin(), causes.end(), *known) != causes.end();
}

bool is(const log::Diagnosis& told, nccl_net_diag::EventId id) {
  return told.event == nccl_net_diag::event_name(id);
}

// Whether some are on TCP, and others have HCAs: they can't talk.
bool mixes_transports(const Picture& picture) {
  const auto on_tcp = [](const Member& member) { return is_on_tcp(*member.log); };
  return std::any_of(picture.members.begin(), picture.members.end(), on_tcp) &&
         std::any_of(picture.members.begin(), picture.members.end(),
                     [&](const Member& member) { return member.log->loaded && !on_tcp(member); });
}

// What a port tells of itself, of which something may fail.
bool is_sign(const log::Diagnosis& told) {
  return is(told, nccl_net_diag::EventId::kPortEvent) && told.severity == log::Severity::kWarn;
}

bool has_moved(const Picture& picture, std::size_t member) {
  const Member& one = picture.members[member];
  return std::any_of(one.log->connections.begin(), one.log->connections.end(),
                     [](const auto& of) { return of.second.bytes.value_or(0) != 0; }) ||
         (one.box != nullptr && std::any_of(one.box->conns.begin(), one.box->conns.end(),
                                            [](const auto& slot) { return slot.bytes != 0; }));
}

// What a rule or the environment is warned of is no failure, and a stall is judged by who waits for
// whom.
bool is_failure(const Picture& picture, std::size_t member, const log::Diagnosis& told,
                bool mixed) {
  using nccl_net_diag::EventId;
  // NCCL goes on over TCP: that fails where others do not.
  if (is_fallback(told)) return mixed;
  // NCCL's sockets fail where nobody sees it: told before anything has moved, it is what failed.
  if (is_out_of_files(told)) return !has_moved(picture, member);
  if (is(told, EventId::kConnStall) || is(told, EventId::kPolicyRefuse) ||
      is(told, EventId::kPolicyWarn) || is(told, EventId::kEnvLint) ||
      is(told, EventId::kPeerDiffers) || is(told, EventId::kLogDropped))
    return false;
  return told.severity == log::Severity::kError || told.failure.has_value() || is_sign(told);
}

bool recovered(const Member& member, const std::vector<const log::Diagnosis*>& told) {
  const auto& first = *told.front();
  if (!first.conn || std::any_of(told.begin(), told.end(), [](const auto* one) {
        return is(*one, nccl_net_diag::EventId::kConnFail);
      }))
    return false;
  const auto connection = member.log->connections.find(*first.conn);
  return connection != member.log->connections.end() && connection->second.ready_ns > first.mono_ns;
}

// An open cause leaves it to the event: a peer that it names is an end of what failed.
Reach reach_of(const log::Diagnosis& told, bool has_peer) {
  const auto reach = nccl_net_diag::reach_of_cause(told.cause);
  // What is not alike in the job fails between two that differ.
  if (reach == Reach::kJob && is(told, nccl_net_diag::EventId::kQpTransition)) return Reach::kPair;
  if (reach != Reach::kOpen) return reach;
  return has_peer ? Reach::kPair : Reach::kLocal;
}

// What was told of the process or its HCA before says why.
bool explains(const log::Diagnosis& before, const log::Diagnosis& failed) {
  const auto is_cause = [](const log::Diagnosis& told, Cause cause) {
    return told.cause == nccl_net_diag::cause_id(cause);
  };
  if (is_cause(failed, Cause::kRc2)) return is_out_of_files(before);
  return (is_cause(failed, Cause::kQp22) || is_cause(failed, Cause::kQp61)) &&
         is_cause(before, Cause::kGidWrong) && before.dev.name == failed.dev.name;
}

// An HCA tries again before it gives up. Half of that, as signs of life are told late.
Ns unanswered(const log::Process& process, const log::Diagnosis& told,
              std::optional<std::uint64_t> conn) {
  constexpr Ns kEnough = 1'000'000'000;
  if (told.cause != nccl_net_diag::cause_id(Cause::kWc12) || !conn) return 0;
  const auto connection = process.connections.find(*conn);
  if (connection == process.connections.end()) return 0;
  return std::min(static_cast<Ns>(connection->second.retries_us * 1000 / 2), kEnough);
}

// Over RoCE, towards no GID: the other end has none, and that is what fails.
bool is_towards_nobody(const log::Diagnosis& told, const log::Dev& dev, const log::Peer& peer) {
  return told.cause == nccl_net_diag::cause_id(Cause::kQp22) && told.event == "qp.transition" &&
         dev.gid.starts_with("::ffff:") && peer.gid.empty();
}

Failure failure_of(const Picture& picture, std::size_t index,
                   const std::vector<const log::Diagnosis*>& told) {
  Failure out;
  out.member = index;
  out.told = *std::max_element(told.begin(), told.end(), [](const auto* a, const auto* b) {
    return log::evidence(*a) < log::evidence(*b);
  });
  out.at = picture.at(index, told.front()->mono_ns);
  for (const auto& other : picture.members[index].log->diagnoses)
    if (explains(other, *out.told)) out.told = &other;
  out.recovered = recovered(picture.members[index], told);
  out.warned = is_sign(*out.told);
  // The event that says most of the cause may not name the connection.
  const auto conn =
      std::find_if(told.begin(), told.end(), [](const auto* one) { return one->conn.has_value(); });
  const auto& where = conn != told.end() ? **conn : *out.told;
  log::Dev dev = out.told->dev.name.empty() ? where.dev : out.told->dev;
  out.here = picture.place_of(index, dev);
  const auto& peer = out.told->peer.gid.empty() ? where.peer : out.told->peer;
  out.reach = is_towards_nobody(*out.told, dev, peer)
                  ? Reach::kEcho
                  : reach_of(*out.told, where.conn.has_value() || !peer.gid.empty());
  if (is_own(out.reach)) return out;
  out.unanswered = unanswered(*picture.members[index].log, *out.told, where.conn);
  out.peer = picture.peer_of(index, peer, where.conn);
  out.there = picture.peer_place(index, peer, where.conn);
  return out;
}

}  // namespace

bool is_own(Reach reach) {
  return reach == Reach::kLocal || reach == Reach::kNode || reach == Reach::kJob;
}

std::vector<Failure> failures_of(const Picture& picture) {
  std::vector<Failure> out;
  const bool mixed = mixes_transports(picture);
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    std::map<std::uint64_t, std::vector<const log::Diagnosis*>> numbered;
    for (const auto& told : picture.members[i].log->diagnoses) {
      if (!is_failure(picture, i, told, mixed)) continue;
      if (told.failure)
        numbered[*told.failure].push_back(&told);
      else
        out.push_back(failure_of(picture, i, {&told}));
    }
    for (const auto& [number, told] : numbered) {
      out.push_back(failure_of(picture, i, told));
      if (!out.back().warned && is_sign(*told.front()))
        out.push_back(failure_of(picture, i, {told.front()}));
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Failure& a, const Failure& b) { return a.at < b.at; });
  return out;
}

bool is_out_of_files(const log::Diagnosis& told) {
  return told.cause == nccl_net_diag::cause_id(Cause::kLimNoFile);
}

bool is_fallback(const log::Diagnosis& told) {
  return told.cause == nccl_net_diag::cause_id(Cause::kDevFallback);
}

bool is_on_tcp(const log::Process& process) {
  return process.wraps.name == "Socket" ||
         std::any_of(process.diagnoses.begin(), process.diagnoses.end(), is_fallback);
}

bool can_follow_a_death(const Failure& failure) {
  if (is_own(failure.reach)) return false;
  if (is(*failure.told, nccl_net_diag::EventId::kQpTransition)) return false;
  return !is_one_of(failure.told->cause, kOfPaths);
}

bool proves_a_death(const Failure& failure) {
  return failure.told->msg.find("the peer's process has ended") != std::string::npos;
}

}  // namespace nnd::report
