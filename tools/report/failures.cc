#include "report/failures.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace nnd::report {

namespace {

// What two hosts tell of the same moment, apart by this much: their logs' and clocks' doing.
constexpr Ns kSlack = 1'000'000'000;

bool is(const log::Diagnosis& told, nccl_net_diag::EventId id) {
  return told.event == nccl_net_diag::event_name(id);
}

// What a port tells of itself, of which something may fail.
bool is_sign(const log::Diagnosis& told) {
  return is(told, nccl_net_diag::EventId::kPortEvent) && told.severity == log::Severity::kWarn;
}

// What a rule or the environment is warned of is no failure, and a stall is judged by who waits for
// whom.
bool is_failure(const log::Diagnosis& told) {
  using nccl_net_diag::EventId;
  if (is(told, EventId::kConnStall) || is(told, EventId::kPolicyRefuse) ||
      is(told, EventId::kPolicyWarn) || is(told, EventId::kEnvLint) ||
      is(told, EventId::kLogDropped))
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
  if (reach != Reach::kOpen) return reach;
  return has_peer ? Reach::kPair : Reach::kLocal;
}

Failure failure_of(const Picture& picture, std::size_t index,
                   const std::vector<const log::Diagnosis*>& told) {
  Failure out;
  out.member = index;
  out.told = *std::max_element(told.begin(), told.end(), [](const auto* a, const auto* b) {
    return log::evidence(*a) < log::evidence(*b);
  });
  out.at = picture.at(index, told.front()->mono_ns);
  out.recovered = recovered(picture.members[index], told);
  out.warned = is_sign(*out.told);
  // The event that says most of the cause may not name the connection.
  const auto conn =
      std::find_if(told.begin(), told.end(), [](const auto* one) { return one->conn.has_value(); });
  const auto& where = conn != told.end() ? **conn : *out.told;
  log::Dev dev = out.told->dev.name.empty() ? where.dev : out.told->dev;
  out.here = picture.place_of(index, dev);
  const auto& peer = out.told->peer.gid.empty() ? where.peer : out.told->peer;
  out.reach = reach_of(*out.told, where.conn.has_value() || !peer.gid.empty());
  if (is_own(out.reach)) return out;
  out.peer = picture.peer_of(index, peer, where.conn);
  out.there = picture.peer_place(index, peer, where.conn);
  return out;
}

std::map<std::size_t, const Failure*> first_of_members(const std::vector<Failure>& failures) {
  std::map<std::size_t, const Failure*> out;
  for (const auto& failure : failures)
    if (!failure.recovered && !failure.warned) out.try_emplace(failure.member, &failure);
  return out;
}

// A quiet process writes nothing for minutes: that its log just ends says something only where
// others have ended.
bool is_gone(const Picture& picture, const Member& member, bool over) {
  if (member.ending == Ending::kDied) return true;
  return member.ending == Ending::kCutOff && over && member.last + kSlack < picture.last;
}

std::vector<Loss> deaths(const Picture& picture) {
  const bool over =
      std::any_of(picture.members.begin(), picture.members.end(), [](const Member& member) {
        return member.ending == Ending::kClean || member.ending == Ending::kDied;
      });
  std::vector<Loss> out;
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    if (is_gone(picture, picture.members[i], over))
      out.push_back({i, picture.members[i].last, false});
  std::stable_sort(out.begin(), out.end(),
                   [](const Loss& a, const Loss& b) { return a.at < b.at; });
  return out;
}

// Where all go, somebody ends the job: nobody was lost, but for those that went before the rest
// did.
void keep_first_to_go(std::vector<Loss>& losses) {
  constexpr Ns kApart = 250'000'000;  // a box tells of life ten times a second
  for (std::size_t i = 1; i < losses.size(); ++i)
    if (losses[i].at - losses[i - 1].at >= kApart) {
      losses.resize(2 * i <= losses.size() ? i : 0);
      return;
    }
  losses.clear();
}

// Those that ended while somebody still had requests that only they could answer. Who aborts a
// communicator has such requests too, and lives on.
std::vector<Loss> leavers(const Picture& picture) {
  std::set<std::size_t> missed;
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    for (const auto& [number, connection] : picture.members[i].log->connections) {
      const auto end = picture.ends.find(&connection);
      if (connection.in_flight.value_or(0) == 0 || end == picture.ends.end()) continue;
      const auto other = picture.by_proc.find(end->second.process->proc);
      if (other == picture.by_proc.end()) continue;
      const Member& gone = picture.members[other->second];
      if (gone.ending == Ending::kClean && gone.last < picture.at(i, connection.closed_ns))
        missed.insert(other->second);
    }
  std::vector<Loss> out;
  for (const auto one : missed) out.push_back({one, picture.members[one].last, true});
  return out;
}

// Whether the other end was gone, or had failed by itself, before this was told.
class Explained {
 public:
  Explained(const Picture& picture, const std::vector<Failure>& failures,
            const std::vector<Loss>& losses)
      : first_(first_of_members(failures)) {
    for (const auto& loss : losses) lost_.emplace(loss.member, loss.at);
    for (const auto& failure : failures)
      if (is_own(failure.reach) && !failure.warned && !failure.recovered)
        local_.try_emplace(failure.member, failure.at);
    for (const auto& host : picture.hosts) {
      Ns last = 0;
      bool all = !host.members.empty();
      for (const auto member : host.members) {
        const auto lost = lost_.find(member);
        all = all && lost != lost_.end();
        if (all) last = std::max(last, lost->second);
      }
      if (all) lost_hosts_[host.name] = last;
    }
  }

  bool operator()(const Failure& failure) const {
    if (failure.reach == Reach::kEcho) return true;
    // After its first failure a process fails everywhere; what fails alike has the same cause.
    const auto own = first_.find(failure.member);
    if (own != first_.end() && own->second->at < failure.at &&
        own->second->told->cause != failure.told->cause)
      return true;
    if (is_own(failure.reach)) return false;
    if (failure.peer)
      return before(lost_, *failure.peer, failure.at) || before(local_, *failure.peer, failure.at);
    const auto host = lost_hosts_.find(failure.there.host);
    return host != lost_hosts_.end() && host->second <= failure.at + kSlack;
  }

 private:
  static bool before(const std::map<std::size_t, Ns>& times, std::size_t member, Ns at) {
    const auto found = times.find(member);
    return found != times.end() && found->second <= at + kSlack;
  }

  std::map<std::size_t, const Failure*> first_;
  std::map<std::size_t, Ns> lost_, local_;
  std::map<std::string, Ns> lost_hosts_;
};

bool same_place(const Place& a, const Place& b) {
  return !a.dev.empty() && a.host == b.host && a.dev == b.dev;
}

std::vector<Failure> signs_of(const std::vector<Failure>& failures,
                              const std::vector<Failure>& roots) {
  std::vector<Failure> out;
  // Each process of a node tells of its ports.
  const auto known = [&](const Failure& sign) {
    return std::any_of(out.begin(), out.end(), [&](const Failure& one) {
      return same_place(one.here, sign.here) && one.told->cause == sign.told->cause;
    });
  };
  for (const auto& failure : failures)
    if (failure.warned && !known(failure) &&
        std::any_of(roots.begin(), roots.end(), [&](const Failure& root) {
          return failure.at <= root.at + kSlack &&
                 (same_place(failure.here, root.here) || same_place(failure.here, root.there));
        }))
      out.push_back(failure);
  return out;
}

// A log that just ends may have been cut off when it was collected.
bool is_sure(const Picture& picture, const Loss& loss) {
  return loss.clean || picture.members[loss.member].ending == Ending::kDied;
}

// Whom others show to be gone: by failures towards them or, where nothing failed, by requests that
// were left unanswered. An echo only says that somebody has failed.
std::map<std::size_t, std::size_t> missed(const Picture& picture,
                                          const std::vector<Failure>& failures) {
  std::map<std::size_t, std::size_t> out;
  for (const auto& failure : failures)
    if (failure.peer && failure.reach != Reach::kEcho) ++out[*failure.peer];
  if (!failures.empty()) return out;
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    for (const auto& [number, connection] : picture.members[i].log->connections)
      if (connection.in_flight.value_or(0) != 0)
        if (const auto peer = picture.peer_of(i, connection.peer, number)) ++out[*peer];
  return out;
}

// Those whose logs just end and whom nobody misses are left out; all of these, where more failures
// are towards others.
void drop_unmissed(const Picture& picture, const std::vector<Failure>& failures,
                   const std::vector<Failure>& unexplained, std::vector<Loss>& losses) {
  const auto by_others = missed(picture, failures);
  std::size_t times = 0;
  std::set<std::string> hosts;  // of somebody who is missed: all of a node go together
  for (const auto& loss : losses)
    if (!is_sure(picture, loss))
      if (const auto found = by_others.find(loss.member); found != by_others.end()) {
        times += found->second;
        hosts.insert(picture.host_of(loss.member).name);
      }
  std::erase_if(losses, [&](const Loss& loss) {
    return !is_sure(picture, loss) &&
           (times <= unexplained.size() || !hosts.contains(picture.host_of(loss.member).name));
  });
}

struct Split {
  std::vector<Failure> unexplained, followed;
};

Split split(const std::vector<Failure>& failures, const Explained& explained) {
  Split out;
  for (const auto& failure : failures)
    if (!failure.warned && !failure.recovered)
      (explained(failure) ? out.followed : out.unexplained).push_back(failure);
  return out;
}

}  // namespace

bool is_own(Reach reach) {
  return reach == Reach::kLocal || reach == Reach::kNode || reach == Reach::kJob;
}

std::vector<Failure> failures_of(const Picture& picture) {
  std::vector<Failure> out;
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    std::map<std::uint64_t, std::vector<const log::Diagnosis*>> numbered;
    for (const auto& told : picture.members[i].log->diagnoses) {
      if (!is_failure(told)) continue;
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

std::vector<Loss> losses_of(const Picture& picture) {
  auto out = deaths(picture);
  if (out.size() == picture.members.size()) keep_first_to_go(out);
  const auto left = leavers(picture);
  out.insert(out.end(), left.begin(), left.end());
  std::stable_sort(out.begin(), out.end(),
                   [](const Loss& a, const Loss& b) { return a.at < b.at; });
  return out;
}

FirstCause first_cause(const Picture& picture, const std::vector<Failure>& failures) {
  FirstCause out;
  auto losses = losses_of(picture);
  auto told = split(failures, Explained(picture, failures, losses));
  const auto all = losses.size();
  drop_unmissed(picture, failures, told.unexplained, losses);
  if (losses.size() != all) told = split(failures, Explained(picture, failures, losses));
  out.followed = std::move(told.followed);
  auto& unexplained = told.unexplained;
  const bool lost_first =
      !losses.empty() && (unexplained.empty() || losses[0].at < unexplained[0].at);
  if (lost_first) {
    out.at = losses[0].at;
    // Those that left much later followed.
    for (const auto& loss : losses)
      if (loss.at <= out.at + 2 * kSlack && loss.clean == losses[0].clean)
        out.losses.push_back(loss);
    out.other = std::move(unexplained);
    return out;
  }
  if (unexplained.empty()) {
    // Only echoes: what they echo is in logs that are not here.
    if (out.followed.empty()) return out;
    out.roots.push_back(out.followed.front());
    out.followed.erase(out.followed.begin());
    out.at = out.roots[0].at;
    return out;
  }
  const auto& cause = unexplained[0].told->cause;
  out.at = unexplained[0].at;
  for (auto& failure : unexplained)
    (failure.told->cause == cause ? out.roots : out.other).push_back(std::move(failure));
  out.signs = signs_of(failures, out.roots);
  return out;
}

}  // namespace nnd::report
