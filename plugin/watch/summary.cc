#include "watch/summary.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "context/memory_order.h"
#include "context/raw_clock.h"
#include "diagnosis/network.h"
#include "facts/ip.h"
#include "record/fields.h"
#include "state/communicators.h"
#include "state/connections.h"
#include "state/failure.h"

namespace nnd::watch {

namespace {

void add_way(record::Pack& fields, std::string_view name, const state::Traffic::Way& way) {
  fields.open(name, false);
  fields.add_unsigned("conns", way.conns);
  fields.add_unsigned("completed", way.completed);
  fields.add_unsigned("failed", way.failed);
  fields.add_unsigned("bytes", way.bytes);
  fields.end();
}

void add_most(record::Pack& fields, std::string_view name, std::string_view time,
              const state::PortTraffic::Most& most) {
  if (most.conn == 0) return;
  fields.open(name, false);
  fields.add_unsigned("conn", most.conn);
  fields.add(time, static_cast<double>(most.ns) / 1000);
  if (!context::gid_zero(most.peer)) fields.add("peer", facts::gid_address(most.peer).text());
  if (most.peer_rank >= 0) fields.add_signed("peer_rank", most.peer_rank);
  fields.end();
}

void add_ports(record::Pack& fields, const std::vector<state::PortTraffic>& ports) {
  fields.open("per_port", true);
  for (const state::PortTraffic& port : ports) {
    fields.push_object();
    fields.add("name", std::string_view(port.device));
    fields.add_unsigned("port", port.port);
    add_way(fields, "send", port.send);
    add_way(fields, "recv", port.recv);
    add_most(fields, "slowest", "mean_us", port.slowest);
    add_most(fields, "awaited", "waited_us", port.awaited);
    fields.end();
  }
  fields.end();
}

void add_stalls(record::Pack& fields, const Totals& totals) {
  fields.open("stalls", true);
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const Total& total = totals[i];
    if (total.longest_ns == 0) continue;
    fields.push_object();
    fields.add("kind", diagnosis::wait_name(static_cast<Wait>(i)));
    fields.add_unsigned("conns", total.connections);
    fields.add("longest_us", static_cast<double>(total.longest_ns) / 1000);
    if (!total.place.empty()) fields.add("device", total.place);
    if (!total.peer.empty()) fields.add("peer", total.peer);
    fields.end();
  }
  fields.end();
}

// The last collective that a communicator was given.
void add_task(record::Pack& fields, const state::TaskSeen& task) {
  fields.open("task", false);
  fields.add("kind", std::string_view(task.func));
  fields.add_unsigned("ordinal", task.ordinal);
  if (task.has_seq) fields.add_unsigned("seq", task.seq);
  if (task.bytes != 0) fields.add_unsigned("bytes", task.bytes);
  fields.end();
}

// What those that still live were asked for.
void add_communicators(record::Pack& fields) {
  using context::kRelaxed;
  fields.open("communicators", true);
  state::for_each_communicator([&](const state::Communicator& communicator) {
    state::Membership who;
    communicator.membership.get(who);
    fields.push_object();
    if (who.hash != 0) fields.hex("comm", who.hash);
    if (who.rank >= 0) fields.add_signed("rank", who.rank);
    if (who.nranks >= 0) fields.add_signed("nranks", who.nranks);
    fields.add_unsigned("collectives", communicator.collectives.made.load(kRelaxed));
    fields.add_unsigned("transfers", communicator.transfers.made.load(kRelaxed));
    if (state::TaskSeen task; communicator.collectives.newest(task)) add_task(fields, task);
    fields.end();
  });
  fields.end();
  if (const std::uint64_t lost = state::communicators_not_kept(); lost != 0)
    fields.add_unsigned("communicators_not_kept", lost);
}

// The longest of those that were warned of, or that were not.
diagnosis::Stall longest(const Totals& totals, bool warned) {
  diagnosis::Stall out;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const Wait wait = static_cast<Wait>(i);
    const double sec = static_cast<double>(totals[i].longest_ns) / 1e9;
    if (wait == Wait::kIdle || totals[i].warned != warned || sec <= out.sec) continue;
    out.wait = wait;
    out.sec = sec;
    out.place = totals[i].place;
    out.peer = totals[i].peer;
  }
  return out;
}

void add_failures(diagnosis::NetworkHistory& seen) {
  constexpr std::size_t kLookedAt = 256;
  const state::FailureList failures = state::list_failures(kLookedAt);
  seen.failures = failures.total;
  if (failures.first.empty()) return;
  auto worst = std::find_if(failures.first.begin(), failures.first.end(),
                            [](const state::Listed& one) { return !one.over; });
  seen.all_over = worst == failures.first.end() && failures.total <= kLookedAt;
  if (worst == failures.first.end()) worst = failures.first.begin();
  seen.cause = worst->failure.diagnosis.cause;
  seen.device = worst->subject.device;
  seen.peer = worst->subject.peer;
}

// Of what is under way at the end.
void add_oldest(record::Pack& fields) {
  std::uint64_t oldest = 0;
  state::for_each_connection([&](state::Connection& one) {
    const std::uint64_t posted = state::oldest_post(one);
    if (posted != 0 && (oldest == 0 || posted < oldest)) oldest = posted;
  });
  if (oldest == 0) return;
  const std::uint64_t age = context::raw_clock::elapsed_ns(oldest, context::raw_clock::now());
  fields.add("oldest_us", static_cast<double>(age) / 1000);
}

}  // namespace

void add_summary(record::Pack& fields, const Totals& totals, bool worse_port) {
  const std::vector<state::PortTraffic> ports = state::traffic_by_port();
  add_oldest(fields);
  add_ports(fields, ports);
  add_stalls(fields, totals);
  add_communicators(fields);
  if (state::Awaited awaited; state::awaited().get(awaited)) add_awaited(fields, awaited);
  if (state::Latecomer late; state::latecomer().get(late)) add_latecomer(fields, late);
  diagnosis::NetworkHistory seen;
  for (const state::PortTraffic& port : ports) {
    seen.connections += port.send.conns + port.recv.conns;
    seen.bytes += port.send.bytes + port.recv.bytes;
  }
  add_failures(seen);
  seen.stalled = longest(totals, true);
  seen.waited = longest(totals, false);
  seen.worse_port = worse_port;
  seen.awaited = state::awaited_text();
  const diagnosis::NetworkVerdict verdict = judge(seen);
  fields.open("network", false);
  fields.add("verdict", verdict.verdict);
  fields.add("msg", verdict.sentence);
  if (seen.failures != 0) fields.add("cause", nccl_net_diag::cause_id(seen.cause));
  fields.end();
}

}  // namespace nnd::watch
