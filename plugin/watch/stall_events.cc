#include "watch/stall_events.h"

#include <cmath>
#include <vector>

#include "context/clock.h"
#include "context/memory_order.h"
#include "context/raw_clock.h"
#include "diagnosis/connection.h"
#include "facts/counters.h"
#include "facts/ip.h"
#include "record/fields.h"
#include "state/communicators.h"
#include "state/connections.h"
#include "state/failure.h"
#include "state/ports.h"
#include "state/qp_table.h"

namespace nnd::watch {

namespace {

using diagnosis::Stall;
using record::Event;
using record::EventId;
using record::Severity;
using record::Weight;

using context::kRelaxed;

struct ConnFacts {
  state::Identity about;
  state::ConnectionStart start;
  state::ConnectionEnds ends;
  state::Labels labels;

  explicit ConnFacts(const state::Connection& c) {
    c.identity.get(about);
    c.start.get(start);
    c.ends.get(ends);
    c.labels.get(labels);
  }
  context::Gid peer() const {
    return context::gid_zero(ends.remote_gid) ? about.peer_gid : ends.remote_gid;
  }
  std::string place() const {
    const bool used = ends.port != 0;
    const std::string name(used ? std::string_view(ends.device) : std::string_view(start.device));
    const std::uint32_t port = used ? ends.port : start.port;
    return name.empty() || port == 0 ? name : name + ":" + std::to_string(port);
  }
};

std::string address_text(const context::Gid& gid) {
  return context::gid_zero(gid) ? "" : facts::gid_address(gid).text();
}

std::string listener_text(const state::ConnectionStart& start) {
  if (start.listener_port == 0) return "";
  const std::string address = address_text(start.listener);
  return (address.find(':') == std::string::npos ? address : "[" + address + "]") + ":" +
         std::to_string(start.listener_port);
}

// A warning that is as old as this will not end by itself.
constexpr double kLastsSec = 30;

double us(std::uint64_t ns) { return static_cast<double>(ns) / 1000; }
double sec(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

std::uint64_t age_of(std::uint64_t raw) {
  return raw == 0 ? 0 : context::raw_clock::elapsed_ns(raw, context::raw_clock::now());
}

void add_whose(Event& e, const ConnFacts& known) {
  add_connection(e, known.about);
  add_labels(e, known.about, known.labels);
  const state::ConnectionEnds& ends = known.ends;
  const state::ConnectionStart& start = known.start;
  if (ends.port != 0)
    add_device(e, {.index = known.about.dev,
                   .name = ends.device,
                   .port = ends.port,
                   .pci = ends.pci,
                   .numa = ends.numa,
                   .link_layer = ends.link_layer,
                   .speed_mbps = ends.speed_mbps,
                   .mtu = ends.mtu,
                   .gid_index = ends.gid_index,
                   .gid = ends.gid,
                   .subnet = ends.subnet,
                   .netdev = ends.netdev});
  else
    add_device(e, {.index = known.about.dev,
                   .name = start.device,
                   .port = start.port,
                   .pci = start.pci,
                   .speed_mbps = start.speed_mbps});
  add_peer(e, {.proc = known.about.peer_proc,
               .rank = known.labels.peer_rank,
               .gid = known.peer(),
               .subnet = ends.remote_subnet});
}

std::string_view progress_name(state::Progress progress) {
  switch (progress) {
    case state::Progress::kCalled:
      return "called";
    case state::Progress::kScheduled:
      return "scheduled";
    case state::Progress::kLaunched:
      return "launched";
    case state::Progress::kNone:
      break;
  }
  return "";
}

diagnosis::TaskName name_of(const state::TaskSeen& task, const state::Membership& who) {
  return {std::string(std::string_view(task.func)),
          task.has_seq ? static_cast<std::int64_t>(task.seq) : -1, who.hash, task.bytes, who.rank};
}

// "task": a collective, send or receive, and how far it is.
void add_task(Event& e, const state::TaskSeen& task) {
  e.object("task").add("kind", std::string_view(task.func)).add("ordinal", task.ordinal);
  if (task.has_seq) e.add("seq", task.seq);
  if (task.peer >= 0) e.add("peer", task.peer);
  if (task.bytes != 0) e.add("bytes", task.bytes);
  e.add("state", progress_name(task.progress));
  e.add("ops", task.ops).add("ops_done", task.ops_done).end();
}

// What a connection works for.
std::optional<state::TaskSeen> task_of(const state::Connection& c, const state::Labels& labels) {
  const state::Communicator* const communicator = state::communicator_at(labels.communicator);
  const state::Work work{labels.channel, labels.peer_rank,
                         c.kind.load(kRelaxed) == state::ConnectionKind::kSend};
  state::TaskSeen task;
  if (communicator == nullptr || !communicator->tasks(labels.purpose).unfinished(task, work))
    return std::nullopt;
  return task;
}

// Of a process that asks for nothing: the last that each communicator was given.
struct LastGiven {
  state::Membership who;
  state::TaskSeen task;
};
std::vector<LastGiven> last_given() {
  std::vector<LastGiven> out;
  state::for_each_communicator([&](const state::Communicator& communicator) {
    LastGiven last;
    communicator.membership.get(last.who);
    if (communicator.collectives.newest(last.task) || communicator.transfers.newest(last.task))
      out.push_back(last);
  });
  return out;
}

void add_census(Event& e, const Census& census) {
  e.object("process").add("moving", census.moving);
  for (std::size_t i = 0; i < census.waiting.size(); ++i)
    if (census.waiting[i] != 0)
      e.add(diagnosis::wait_name(static_cast<Wait>(i)), census.waiting[i]);
  e.end();
}

// Until the HCA gives up: the intervals of the first QP, as asked for.
double retry_sec(const state::Connection& c) {
  state::QpSummary qp;
  if (!c.qp(0).get(qp) || qp.timeout == 0) return 0;
  return std::ldexp(4.096e-6, qp.timeout) * qp.retry_cnt;
}

diagnosis::PeerTcp peer_tcp_of(const state::Connection& c, const state::ConnectionStart& start,
                               std::optional<facts::TcpTable>& tcp) {
  if (start.listener_port == 0) return diagnosis::PeerTcp::kUnknown;
  if (!tcp) tcp.emplace();
  const facts::TcpEnd listener{start.listener, start.listener_port};
  const bool sends = c.kind.load(kRelaxed) == state::ConnectionKind::kSend;
  switch (sends ? tcp->to(listener) : tcp->from(listener)) {
    case facts::TcpState::kMade:
      return diagnosis::PeerTcp::kOpen;
    case facts::TcpState::kHungUp:
      return diagnosis::PeerTcp::kClosed;
    default:
      return diagnosis::PeerTcp::kUnknown;
  }
}

Stall evidence(state::Connection& c, const ConnFacts& known, const StallLine& line) {
  Stall seen;
  seen.wait = line.wait;
  seen.sec = sec(line.age_ns);
  seen.place = known.place();
  seen.peer = address_text(known.peer());
  seen.listener = listener_text(known.start);
  seen.connections = line.connections;
  seen.peers = line.peers;
  seen.after_failure = line.after_failure && !diagnosis::being_made(line.wait);
  if (line.wait == Wait::kModifyQp) {
    const std::uint32_t to = c.moving_to.load(kRelaxed);
    seen.to = state::qp_state_name(static_cast<int>(to));
    seen.attempt = c.moving_attempt.load(kRelaxed);
    if (const std::uint64_t since = c.moving_since.load(kRelaxed); since != 0)
      seen.attempt_sec = sec(age_of(since));
  }
  seen.requests = sample(c).in_flight();
  if (diagnosis::needs_own_port(line.wait) && known.ends.port != 0) {
    const state::PortHistory port =
        state::history_of(std::string(known.ends.device), known.ends.port);
    seen.port_down = port.down;
    if (port.down_ns != 0) seen.down_ago_sec = sec(context::mono_ns() - port.down_ns);
    if (!port.down && port.up_ns > port.down_ns) seen.down_sec = sec(port.up_ns - port.down_ns);
    const auto* lost = known.ends.gid_index < 0 ? nullptr : port.find_lost(known.ends.gid);
    seen.gid_gone = lost != nullptr && !lost->back;
  }
  seen.peer_rank = known.labels.peer_rank;
  seen.channel = known.labels.channel;
  seen.task.rank = known.labels.rank;
  if (!diagnosis::being_made(line.wait) && known.ends.port != 0)
    if (const auto growth = facts::grown_since(std::string_view(known.ends.device), known.ends.port,
                                               context::mono_ns() - line.age_ns)) {
      seen.counters_sec = growth->sec;
      for (const auto& [name, by] : growth->counts)
        if (facts::is_trouble(facts::kind_of_counter(name))) seen.counters.push_back({name, by});
    }
  if (line.wait == Wait::kStuckSend) {
    seen.on_hca = state::traffic_of_qps(c).qps != 0;
    seen.retry_sec = seen.on_hca ? retry_sec(c) : 0;
  }
  return seen;
}

bool is_warning(const Stall& seen, bool lasts) {
  const diagnosis::Suspicion suspicion = diagnosis::suspicion(seen.wait);
  return seen.on_hca && !seen.after_failure &&
         (seen.port_down || seen.gid_gone || suspicion == diagnosis::Suspicion::kAtOnce ||
          (suspicion == diagnosis::Suspicion::kLater && lasts));
}

}  // namespace

std::string place_of(const state::Connection& c) { return ConnFacts(c).place(); }

std::string peer_of(const state::Connection& c) { return address_text(ConnFacts(c).peer()); }

// Nothing of the network is between NCCL and what it holds back itself, or its own memory.
std::optional<state::Failure> known_of(const state::Connection& c, Wait wait) {
  if (!diagnosis::being_made(wait) && !diagnosis::needs_own_port(wait)) return std::nullopt;
  const auto fits = [](const diagnosis::Diagnosis& known) {
    return diagnosis::keeps_apart(known.cause);
  };
  const auto known = state::known_of_pair(c, fits);
  return known && (diagnosis::being_made(wait) || fits(known->diagnosis)) ? known : std::nullopt;
}

bool tell_who(const state::Connection& c) {
  // Asked of all that have none, at each look.
  state::Labels labels;
  if (!c.labels.get(labels) || labels.how == state::LabelOrigin::kNot) return false;
  const ConnFacts known(c);
  Event e(EventId::kConnWho, Severity::kInfo, Weight::kStep);
  if (!e.enabled()) return true;
  add_connection(e, known.about);
  add_labels(e, known.about, known.labels);
  add_peer(e, {.proc = known.about.peer_proc, .rank = known.labels.peer_rank});
  e.emit();
  return true;
}

bool tell_conn_stall(state::Connection& oldest, const StallLine& line, const Census& census,
                     std::optional<facts::TcpTable>& tcp) {
  const ConnFacts known(oldest);
  Stall seen = evidence(oldest, known, line);
  seen.awaited = state::awaited_text();
  if (!diagnosis::being_made(line.wait)) seen.peer_tcp = peer_tcp_of(oldest, known.start, tcp);
  const auto failure =
      line.failure != 0 ? known_of(oldest, line.wait) : std::optional<state::Failure>();
  const bool warning = failure || is_warning(seen, line.lasts);
  Event e(EventId::kConnStall, warning ? Severity::kWarn : Severity::kInfo);
  if (!e.enabled()) return warning;
  add_whose(e, known);
  e.add("kind", diagnosis::wait_name(line.wait)).add("age_us", us(line.age_ns));
  e.add("conns", line.connections).add("peers", line.peers);
  if (!seen.listener.empty()) e.add("listener", seen.listener);
  if (seen.peer_tcp != diagnosis::PeerTcp::kUnknown)
    e.add("peer_tcp", seen.peer_tcp == diagnosis::PeerTcp::kOpen ? "open" : "closed");
  if (diagnosis::being_made(line.wait)) {
    e.add("polls", oldest.polls.load(kRelaxed));
    if (line.wait == Wait::kModifyQp) {
      e.object("qp").add("to", seen.to).add("attempt", seen.attempt).end();
      if (seen.attempt_sec >= 0) e.add("dur_us", seen.attempt_sec * 1e6);
    }
  } else {
    e.add("in_flight", seen.requests);
    e.add("oldest_us", us(age_of(state::oldest_post(oldest))));
    e.add("started", oldest.started.load(kRelaxed))
        .add("completed", oldest.completed.load(kRelaxed))
        .add("bytes", oldest.bytes.load(kRelaxed));
    if (seen.counters_sec > 0) {
      e.array("counters").push_object().add("name", std::string_view(known.ends.device));
      e.add("port", known.ends.port).object("grown");
      for (const auto& [name, by] : seen.counters) e.add(name, by);
      e.end().end().end();
    }
  }
  add_census(e, census);
  if (state::Awaited awaited; state::awaited().get(awaited))
    e.with([&](record::Pack& fields) { add_awaited(fields, awaited); });
  if (const auto task = task_of(oldest, known.labels)) {
    add_task(e, *task);
    seen.task = name_of(*task, {known.labels.comm, known.labels.rank, -1, -1, {}});
  }
  const diagnosis::Diagnosis told = diagnose(seen, failure ? &failure->diagnosis : nullptr);
  const auto of = failure ? failure : state::suspicion_of_port(seen.place, told.cause);
  e.diagnose(told, of ? of->number : 0).lasts(sec(line.age_ns) >= kLastsSec).emit();
  return warning;
}

void tell_slow(state::Connection& c, const SlowSendDetector::Slow& slow, std::uint64_t age_ns,
               const Census& census) {
  const ConnFacts known(c);
  Stall seen = evidence(c, known, {.wait = Wait::kSlow, .age_ns = age_ns});
  seen.ms = static_cast<double>(slow.mean_ns) / 1e6;
  seen.usual_ms = static_cast<double>(slow.usual_ns) / 1e6;
  seen.rate = slow.rate;
  seen.usual_rate = slow.usual_rate;
  Event e(EventId::kConnStall);
  add_whose(e, known);
  e.add("kind", diagnosis::wait_name(Wait::kSlow)).add("age_us", us(age_ns));
  e.add("mean_us", us(slow.mean_ns)).add("usual_us", us(slow.usual_ns));
  if (slow.usual_rate > 0)
    e.add("bytes_per_sec", slow.rate).add("usual_bytes_per_sec", slow.usual_rate);
  add_census(e, census);
  e.diagnose(diagnose(seen)).emit();
}

void tell_idle(std::uint64_t age_ns, const Census& census) {
  Event e(EventId::kConnStall);
  e.add("kind", diagnosis::wait_name(Wait::kIdle)).add("age_us", us(age_ns));
  add_census(e, census);
  Stall seen;
  seen.sec = sec(age_ns);
  const std::vector<LastGiven> given = last_given();
  if (!given.empty()) {
    seen.task = name_of(given.front().task, given.front().who);
    e.array("communicators");
    for (const LastGiven& last : given) {
      e.push_object();
      if (last.who.hash != 0) e.hex("comm", last.who.hash);
      if (last.who.rank >= 0) e.add("rank", last.who.rank);
      add_task(e, last.task);
      e.end();
    }
    e.end();
  }
  e.diagnose(diagnose(seen)).emit();
}

void tell_resume(const state::Connection* c, Wait wait, std::uint64_t connections,
                 std::uint64_t waited_ns) {
  Event e(EventId::kConnResume);
  if (c != nullptr) add_whose(e, ConnFacts(*c));
  e.add("kind", diagnosis::wait_name(wait)).add("dur_us", us(waited_ns));
  if (c != nullptr) e.add("conns", connections);
  e.emit();
}

}  // namespace nnd::watch
