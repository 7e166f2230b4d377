#include "report/waits.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "nccl_net_diag/causes.h"
#include "report/two_ends.h"

namespace nnd::report {

namespace {

constexpr std::array<std::string_view, 5> kNetworkKinds{"tcp", "modify-qp", "in-call", "stuck-send",
                                                        "stuck-flush"};
constexpr std::array<std::string_view, 7> kPeerKinds{
    "not-accepted", "not-dialled", "metadata", "qps", "ready", "nothing-came", "no-receive"};

template <std::size_t kSize>
bool is_one_of(const std::string& kind, const std::array<std::string_view, kSize>& kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

// It was given up, and by others made after that the process went on.
bool went_on_anew(const Member& member, const log::Connection& closed) {
  if (closed.closed_ns == 0) return false;
  const auto& all = member.log->connections;
  const auto is_later = [&](const log::Connection& one) { return one.ready_ns > closed.closed_ns; };
  if (std::any_of(all.begin(), all.end(), [&](const auto& one) {
        return is_later(one.second) && one.second.completed.value_or(0) != 0;
      }))
    return true;
  return member.box != nullptr &&
         std::any_of(member.box->conns.begin(), member.box->conns.end(), [&](const auto& slot) {
           const auto found = all.find(slot.conn);
           return slot.completed != 0 && found != all.end() && is_later(found->second);
         });
}

// A connection that was closed with nothing in flight waited for nothing in the end, whatever was
// told of it before.
bool over(const Member& member, const log::Stall& stall) {
  if (stall.ended_ns) return true;
  if (!stall.told.conn) return false;
  const log::Process& process = *member.log;
  const auto found = process.connections.find(*stall.told.conn);
  if (found == process.connections.end()) return false;
  const auto& connection = found->second;
  return (connection.closed && connection.in_flight.value_or(0) == 0 && connection.ready_ns != 0) ||
         went_on_anew(member, connection);
}

std::optional<std::size_t> waiter_of(const Picture& picture, std::size_t member,
                                     const log::Stall& stall) {
  const auto& own = picture.members[member].log->communicators;
  const auto communicator = own.find(stall.comm);
  if (!stall.rank || communicator == own.end() || !communicator->second.rank ||
      communicator->second.rank == stall.rank)
    return member;
  const auto found = picture.by_comm_rank.find({stall.comm, *stall.rank});
  return found == picture.by_comm_rank.end() ? std::nullopt : std::optional(found->second);
}

Wait wait_of(const Picture& picture, std::size_t member, const log::Stall& stall) {
  Wait out;
  out.member = member;
  out.stall = &stall;
  out.waiter = waiter_of(picture, member, stall);
  out.since = picture.at(member, stall.told.mono_ns) - static_cast<Ns>(stall.age_us * 1000);
  out.told_at = picture.at(member, stall.first_ns);
  out.peer = picture.peer_of(member, stall.told.peer, stall.told.conn, stall.link);
  if (!out.peer && !stall.comm.empty() && stall.told.peer.rank)
    if (const auto found = picture.by_comm_rank.find({stall.comm, *stall.told.peer.rank});
        found != picture.by_comm_rank.end() && found->second != member)
      out.peer = found->second;
  out.here = picture.place_of(member, stall.told.dev);
  out.there = picture.peer_place(member, stall.told.peer, stall.told.conn);
  return out;
}

// By itself.
bool shows_network(const log::Stall& stall) {
  if (is_one_of(stall.kind, kNetworkKinds)) return true;
  // What is known of the port or the pair by then.
  const auto& cause = stall.told.cause;
  return stall.told.severity != log::Severity::kInfo && !cause.empty() &&
         cause != nccl_net_diag::cause_id(nccl_net_diag::Cause::kHangConnect) &&
         cause != nccl_net_diag::cause_id(nccl_net_diag::Cause::kHangData);
}

void by_time(std::vector<Wait>& waits) {
  std::stable_sort(waits.begin(), waits.end(),
                   [](const Wait& a, const Wait& b) { return a.since < b.since; });
}

}  // namespace

bool Wait::blames_network() const { return lost || shows_network(*stall); }
bool Wait::is_for_nobody() const { return stall->kind == "idle" || stall->kind == "not-asked"; }
bool is_for_peer(const std::string& kind) { return is_one_of(kind, kPeerKinds); }

Waits waits_of(const Picture& picture) {
  Waits out;
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    for (const auto& stall : picture.members[i].log->stalls) {
      // What NCCL asks for no more it doesn't wait for: it has given it up, or shares another
      // connection's comm.
      if (stall.kind == "slow" || stall.kind == "not-polled") continue;
      const bool ended = over(picture.members[i], stall);
      if (ended && !(shows_network(stall) && stall.told.severity != log::Severity::kInfo)) continue;
      (ended ? out.passed : out.waits).push_back(wait_of(picture, i, stall));
    }
  find_lost(picture, out.waits);
  for (const auto& wait : out.waits)
    if (wait.blames_network()) out.network.push_back(wait);
  // A process that is done and asks for nothing any more is no wait.
  const bool anybody = std::any_of(out.waits.begin(), out.waits.end(),
                                   [](const Wait& wait) { return wait.stall->kind != "idle"; });
  if (!anybody) out.waits.clear();
  by_time(out.waits);
  by_time(out.network);
  by_time(out.passed);
  Waiting waiting;
  for (const auto& wait : out.waits) {
    if (wait.is_for_nobody() || !wait.waiter) continue;
    waiting.all.insert(*wait.waiter);
    if (wait.stall->kind == "nothing-came") waiting.for_data.insert(*wait.waiter);
  }
  out.apart = apart_in_collectives(picture, waiting);
  // What a box shows of a moment is a wait only where somebody tells of one.
  if (out.waits.empty()) std::erase_if(out.apart, [](const Apart& one) { return one.since == 0; });
  return out;
}

}  // namespace nnd::report
