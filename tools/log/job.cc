#include "log/job.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <tuple>

#include "log/natural_order.h"
#include "nccl_net_diag/causes.h"

namespace nnd::log {

namespace {

template <typename T>
void update(T& to, const T& from) {
  if (from != T{}) to = from;
}

void update(Dev& to, const Dev& from) {
  for (const auto member :
       {&Dev::name, &Dev::netdev, &Dev::gid, &Dev::subnet, &Dev::link_layer, &Dev::pci})
    update(to.*member, from.*member);
  for (const auto member : {&Dev::index, &Dev::port, &Dev::gid_index, &Dev::mtu, &Dev::numa})
    update(to.*member, from.*member);
  update(to.speed_mbps, from.speed_mbps);
}

void update(Peer& to, const Peer& from) {
  for (const auto member : {&Peer::proc, &Peer::host, &Peer::dev, &Peer::gid, &Peer::subnet})
    update(to.*member, from.*member);
  update(to.rank, from.rank);
  update(to.pid, from.pid);
}

Transition transition_of(const Event& event) {
  return {event.mono_ns, event.qp, event.rc.value_or(0), event.error, event.dur_us.value_or(0)};
}

// CLOCK_MONOTONIC so long after or before; 0 where the log's numbers don't fit.
std::uint64_t moved(std::uint64_t ns, double us) {
  const double out = static_cast<double>(ns) + us * 1000;
  return out > 0 ? static_cast<std::uint64_t>(out) : 0;
}

// A timeout of 0 never ends.
void add_retries(Connection& connection, const Event& event) {
  for (const auto& qp : event.qps) {
    const int timeout = qp.timeout.value_or(0), retries = qp.retry_cnt.value_or(0);
    if (timeout <= 0 || timeout > 31 || retries <= 0 || retries > 7) continue;
    const double us = std::ldexp(4.096, timeout) * retries;
    connection.retries_us = connection.retries_us == 0 ? us : std::min(connection.retries_us, us);
  }
}

// The transitions of a connection's QPs, where the log has them in the connection's own line only.
void add_transitions(Connection& connection, const Event& event, std::uint64_t opened_ns) {
  const auto told = [&](const ConnectionQp& qp, std::string_view to) {
    return std::any_of(
        connection.transitions.begin(), connection.transitions.end(),
        [&](const Transition& one) { return one.qp.num == qp.num && one.qp.to == to; });
  };
  const auto add = [&](const ConnectionQp& qp, const char* to, double spent_us, double at_us) {
    if (told(qp, to)) return;
    Transition& out = connection.transitions.emplace_back();
    out.mono_ns = moved(opened_ns, at_us);
    out.qp = {qp.num, qp.remote_num, {}, to, 1, qp.path_mtu, qp.traffic_class};
    out.dur_us = spent_us;
  };
  for (const auto& qp : event.qps) {
    // When it came to INIT isn't told: some time before.
    if (qp.state != "RESET") add(qp, "INIT", qp.init_us, 0);
    if (qp.rtr_at_us) add(qp, "RTR", qp.rtr_us, *qp.rtr_at_us);
    if (qp.rts_at_us) add(qp, "RTS", qp.rts_us, *qp.rts_at_us);
  }
  std::stable_sort(connection.transitions.begin(), connection.transitions.end(),
                   [](const auto& one, const auto& other) { return one.mono_ns < other.mono_ns; });
}

// A process has a rank in each of its communicators, most of which are parts of the job.
void add_rank(Process& process, const Event& event) {
  if (!event.rank) return;
  const int ranks = event.nranks.value_or(0);  // NCCL 2.23 to 2.26 don't tell
  if (process.launch.has_more_than(ranks) || ranks <= process.ranks_told) return;
  process.rank = event.rank;
  process.ranks_told = ranks;
}

void add_load(Process& process, const Event& event) {
  process.loaded = true;
  process.launch = event.launch;
  if (!process.rank) process.rank = event.launch.rank;
  process.version = event.version;
  process.nccl_version = event.nccl_version;
  process.net_api = event.net_api;
  process.wraps = event.inner;
  process.layers = event.layers;
  process.log = event.log;
}

void add_to(Connection& connection, const Event& event) {
  update(connection.dir, event.dir);
  update(connection.channel, event.channel);
  update(connection.link, event.link);
  update(connection.dev, event.dev);
  update(connection.peer, event.peer);
  switch (event.id.value_or(EventId::kCount)) {
    case EventId::kConnOpen:
      connection.opened_ns = event.mono_ns;
      break;
    case EventId::kConnReady:
      connection.ready_us = event.dur_us;
      connection.ready_ns = event.mono_ns;
      if (connection.opened_ns == 0 && event.dur_us)
        connection.opened_ns = moved(event.mono_ns, -*event.dur_us);
      add_transitions(connection, event, connection.opened_ns);
      add_retries(connection, event);
      break;
    case EventId::kConnFail:
      if (connection.opened_ns == 0 && event.age_us)
        connection.opened_ns = moved(event.mono_ns, -*event.age_us);
      add_transitions(connection, event, connection.opened_ns);
      add_retries(connection, event);
      break;
    case EventId::kConnClose:
      connection.closed = true;
      connection.lived_us = event.lived_us;
      connection.peer_wait_us = event.peer_wait_us;
      connection.bytes = event.bytes;
      connection.completed = event.completed;
      connection.failed = event.failed;
      connection.in_flight = event.in_flight;
      connection.oldest_us = event.oldest_us;
      connection.latency = event.latency;
      connection.closed_ns = event.mono_ns;
      break;
    case EventId::kQpTransition:
      connection.transitions.push_back(transition_of(event));
      break;
    default:
      break;
  }
}

// Whatever the process was told to wait for and counts no more: that connection waits for something
// else since, or NCCL asks for it no more.
void end_uncounted(Process& process, const Event& event) {
  if (event.census.empty()) return;
  for (Stall& stall : process.stalls)
    if (!stall.ended_ns && stall.kind != "slow" && stall.kind != event.kind &&
        !event.census.contains(stall.kind))
      stall.ended_ns = event.mono_ns;
}

// One stall has a line now and then: the last one counts. A process has few kinds of them at a
// time.
void add_stall(Process& process, const Event& event) {
  end_uncounted(process, event);
  const auto found =
      std::find_if(process.stalls.rbegin(), process.stalls.rend(), [&](const Stall& stall) {
        return !stall.ended_ns && stall.kind == event.kind && stall.told.conn == event.conn;
      });
  Stall& stall = found != process.stalls.rend() ? *found : process.stalls.emplace_back();
  stall.told = diagnosis_of(event);
  if (stall.first_ns == 0) stall.first_ns = event.mono_ns;
  stall.kind = event.kind;
  stall.age_us = event.age_us.value_or(0);
  stall.conns = event.conns.value_or(1);
  stall.peers = event.peers.value_or(1);
  stall.in_flight = event.in_flight.value_or(0);
  stall.listener = event.listener;
  stall.peer_tcp = event.peer_tcp;
  stall.link = event.link;
  stall.comm = event.comm;
  stall.rank = event.rank;
  stall.mean_us = event.mean_us;
  stall.usual_us = event.usual_us;
}

// All that wait alike on one HCA are one stall, and what moves again may be another of them.
void end_stalls(Process& process, const Event& event) {
  for (Stall& stall : process.stalls)
    if (!stall.ended_ns && stall.kind == event.kind && stall.told.dir == event.dir &&
        (stall.told.conn == event.conn || stall.told.dev.name == event.dev.name))
      stall.ended_ns = event.mono_ns;
}

// A kind counts apart from the others in NCCL's numbers, and sends are no step that all take.
bool is_collective(const std::string& kind) {
  return !kind.empty() && kind != "Send" && kind != "Recv";
}

void add_tasks(Process& process, const Event& event) {
  if (!event.comm.empty() && is_collective(event.task.kind)) {
    auto& communicator = process.communicators[event.comm];
    communicator.waits_in = event.task;
    communicator.tasks = {event.task};
    communicator.mono_ns = event.mono_ns;
    update(communicator.rank, event.rank);
  }
  if (event.kind != "idle") return;
  for (const auto& given : event.communicators) {
    if (given.comm.empty() || !is_collective(given.task.kind)) continue;
    auto& communicator = process.communicators[given.comm];
    communicator.waits_in.reset();
    communicator.tasks = {given.task};
    communicator.mono_ns = event.mono_ns;
    update(communicator.rank, given.rank);
  }
}

void add_communicator(Process& process, const Event& event) {
  if (event.comm.empty()) return;
  auto& communicator = process.communicators[event.comm];
  update(communicator.rank, event.rank);
  update(communicator.nranks, event.nranks);
  update(communicator.name, event.comm_name);
  if (event.id != EventId::kCommInit || event.net_api) return;  // the net's tells it once more
  communicator.several |= communicator.init_seq != 0 && communicator.init_seq != event.seq;
  communicator.init_seq = event.seq;
}

void add_calls(Communicator& communicator, const CallCount& count) {
  std::uint64_t least = 0;
  for (const auto& [bytes, calls] : count.sizes) {
    communicator.calls[{count.kind, count.datatype, bytes}] += calls;
    least += bytes * calls;
  }
  if (count.sizes.empty()) communicator.calls[{count.kind, count.datatype, 0}] += count.calls;
  communicator.exact_sizes = communicator.exact_sizes && least == count.bytes;
}

// Of the last line, which comes when it is destroyed or aborted.
void add_counts(Process& process, const Event& event) {
  if (event.comm.empty()) return;
  auto& communicator = process.communicators[event.comm];
  update(communicator.rank, event.rank);
  update(communicator.nranks, event.nranks);
  update(communicator.name, event.comm_name);
  communicator.given = communicator.finished = 0;
  communicator.calls.clear();
  communicator.busy.clear();
  communicator.exact_sizes = true;
  // NCCL up to 2.27 doesn't tell what was called.
  for (const auto& count : event.called.empty() ? event.ran : event.called)
    if (is_collective(count.kind)) {
      communicator.given += count.calls;
      add_calls(communicator, count);
    }
  for (const auto& count : event.ran) {
    if (!is_collective(count.kind)) continue;
    communicator.finished += count.finished;
    for (const auto& [bytes, busy] : count.busy) communicator.busy[{count.kind, "", bytes}] += busy;
  }
}

void add_end(Process& process, const Event& event) {
  process.summary = {event.events.value_or(0),
                     event.dropped.value_or(0),
                     event.causes,
                     event.network,
                     event.network_msg,
                     event.counters,
                     event.communicators.size(),
                     event.open.value_or(0),
                     0,
                     event.bytes.value_or(0),
                     event.exit_status,
                     event.catches_sigterm.value_or(false),
                     event.longest_pause_us,
                     event.oldest_us,
                     event.ports,
                     event.nccl_warning,
                     event.latecomer};
  const std::uint64_t ended = event.completed.value_or(0) + event.failed.value_or(0);
  if (event.started.value_or(0) > ended) process.summary->pending = *event.started - ended;
  for (const auto& one : event.communicators) {
    if (one.comm.empty() || !one.collectives) continue;
    auto& communicator = process.communicators[one.comm];
    communicator.given = *one.collectives;
    if (is_collective(one.task.kind)) communicator.tasks = {one.task};
  }
}

void add_hca(Process& process, const Event& event) {
  Hca& hca = process.hcas.emplace_back(
      Hca{event.dev, event.state, event.verdict, event.reasons, event.facts, {}});
  for (const auto& gid : event.gids)
    if (gid.index == event.dev.gid_index) hca.gid_type = gid.type;
}

void add_facts(Process& process, const Event& event) {
  for (const auto& [name, value] : event.facts) process.facts[name] = value;
}

void add_time(Process& process, const Event& event) {
  if (process.events++ == 0) {
    process.first_ns = event.mono_ns;
    process.clock_ns = event.wall_ns - static_cast<std::int64_t>(event.mono_ns);
  }
  process.first_ns = std::min(process.first_ns, event.mono_ns);
  if (event.mono_ns >= process.last_ns) process.last_event = event.name;
  process.last_ns = std::max(process.last_ns, event.mono_ns);
  process.last_seq = std::max(process.last_seq, event.seq);
}

bool same_qps(const Connection& one, const Connection& other) {
  for (const auto& mine : one.transitions)
    for (const auto& theirs : other.transitions)
      if (mine.qp.remote_num && mine.qp.remote_num == theirs.qp.num) return true;
  return false;
}

struct LinkHash {
  std::size_t operator()(const std::pair<Link, Direction>& key) const {
    return std::hash<std::string>()(key.first.proc) + 2 * key.first.listen +
           static_cast<std::size_t>(key.second);
  }
};

const End* find_by_qps(const Connection& connection, const std::vector<End>& candidates) {
  const auto found = std::find_if(candidates.begin(), candidates.end(), [&](const End& end) {
    return same_qps(connection, *end.connection) || same_qps(*end.connection, connection);
  });
  return found != candidates.end() ? &*found : nullptr;
}

}  // namespace

bool Making::blocked() const {
  using nccl_net_diag::Cause;
  return told.severity != Severity::kInfo &&
         told.cause != nccl_net_diag::cause_id(Cause::kInitStuck) &&
         told.cause != nccl_net_diag::cause_id(Cause::kOobClosed);
}

Diagnosis diagnosis_of(const Event& event) {
  Diagnosis out;
  out.event = event.name;
  out.proc = event.proc;
  out.ts = event.ts;
  out.mono_ns = event.mono_ns;
  out.seq = event.seq;
  out.severity = event.severity;
  out.conn = event.conn;
  out.failure = event.failure;
  out.dir = event.dir;
  out.error = event.error;
  out.rc = event.rc;
  out.nccl_warning = event.nccl_warning;
  out.cause = event.cause;
  out.msg = event.msg;
  out.fix = event.fix;
  out.rule = event.rule;
  out.stage = event.stage;
  out.verb = event.verb;
  out.transition = event.qp.to;
  out.port_event = event.event;
  out.wc = event.wc;
  out.dev = event.dev;
  out.peer = event.peer;
  out.dur_us = event.dur_us;
  return out;
}

int evidence(const Diagnosis& diagnosis) {
  const auto is = [&](EventId id) { return diagnosis.event == nccl_net_diag::event_name(id); };
  if (is(EventId::kQpTransition)) return diagnosis.rc.value_or(0) != 0 ? 4 : 0;
  if (is(EventId::kWcError)) return 3;
  if (is(EventId::kMrRegister)) return diagnosis.severity != Severity::kInfo ? 2 : 0;
  return is(EventId::kConnFail) ? 1 : 0;
}

// A root tells of its own wait and, as a rank of the same process, of the one that comes of it: of
// waits that overlap the one that something was seen to block says more.
void add_making(Process& process, const Event& event) {
  Making made{diagnosis_of(event),      event.step, event.comm, event.mono_ns,
              event.age_us.value_or(0), event.error};
  if (const auto& before = process.making) {
    made.first_ns = before->first_ns;
    const auto began_ns = static_cast<double>(event.mono_ns) - made.age_us * 1000;
    const bool overlap = began_ns < static_cast<double>(before->told.mono_ns);
    if (overlap && before->blocked() && !made.blocked()) return;
  }
  process.making = std::move(made);
}

// What shows that no communicator is being made any more, or another one.
bool ends_making(EventId id) {
  return id == EventId::kInitReady || id == EventId::kInitFail || id == EventId::kCommInit ||
         id == EventId::kConnListen || id == EventId::kConnOpen || id == EventId::kConnReady;
}
bool ends_making(const Event& event) {
  const bool ended_well = event.id == EventId::kSummary && event.exit_status == 0;
  return ended_well || (event.id && ends_making(*event.id));
}

void Job::add(const Event& event) {
  Process& process = processes_[event.proc];
  update(process.proc, event.proc);
  update(process.host, event.host);
  update(process.pid, event.pid);
  add_time(process, event);
  if (event.conn) add_to(process.connections[*event.conn], event);
  if (ends_making(event)) process.making.reset();
  switch (event.id.value_or(EventId::kCount)) {
    case EventId::kPluginLoad:
      add_load(process, event);
      break;
    case EventId::kInitReady:
      if (process.met_ns == 0) process.met_ns = event.mono_ns;
      process.listens_at.insert(process.listens_at.end(), event.listens.begin(),
                                event.listens.end());
      break;
    case EventId::kCommInit:
      if (process.init_ns == 0) process.init_ns = event.mono_ns;
      add_rank(process, event);
      add_communicator(process, event);
      break;
    case EventId::kCommFinalize:
      if (const auto found = process.communicators.find(event.comm);
          found != process.communicators.end())
        found->second.closed_ns = event.mono_ns;
      break;
    case EventId::kCollCount:
      add_counts(process, event);
      break;
    case EventId::kHcaPort:
      add_hca(process, event);
      break;
    case EventId::kNodeFacts:
      add_facts(process, event);
      break;
    case EventId::kGdrState:
      if (const auto way = event.facts.find("way"); way != event.facts.end())
        process.gdr[event.dev.name] = way->second;
      break;
    case EventId::kPolicyLoaded:
      for (const char* name : {"mode", "file"})
        if (const auto fact = event.facts.find(name); fact != event.facts.end())
          process.facts[std::string("policy.") + name] = fact->second;
      break;
    case EventId::kConnListen:
      process.listens.emplace(event.link.listen, event.mono_ns);
      break;
    case EventId::kInitStall:
      add_making(process, event);
      break;
    case EventId::kConnStall:
      add_stall(process, event);
      add_tasks(process, event);
      break;
    case EventId::kConnResume:
      end_stalls(process, event);
      if (process.awaited.kind == "idle" || process.awaited.kind == "cycle" ||
          process.awaited.kind == "meets")
        process.job_stall.reset();
      if (const auto found = process.communicators.find(event.comm);
          found != process.communicators.end())
        found->second.waits_in.reset();
      break;
    case EventId::kPortEvent:
      if (event.event == "PORT_ACTIVE") process.port_ups.push_back(diagnosis_of(event));
      break;
    case EventId::kNetDevice:
      if (event.dev.index) process.net_devices[*event.dev.index] = event.dev;
      break;
    case EventId::kJobStall:
      process.job_stall = diagnosis_of(event);
      process.awaited = event.awaited;
      return;  // it waits, and nothing of it has failed
    case EventId::kOobClosed:
      process.closed.push_back({event.target, event.mono_ns, event.error == ECONNREFUSED});
      break;
    case EventId::kQpTransition:
      if (!event.conn) process.transitions.push_back(transition_of(event));
      break;
    case EventId::kSummary:
      add_end(process, event);
      break;
    default:
      break;
  }
  if (event.severity != Severity::kInfo || event.id == EventId::kPolicyWarn ||
      event.id == EventId::kPolicyRefuse)
    process.diagnoses.push_back(diagnosis_of(event));
}

void Job::set_communicator(const std::string& proc, const std::string& comm,
                           Communicator communicator) {
  auto& known = processes_[proc].communicators[comm];
  if (!communicator.nranks) communicator.nranks = known.nranks;
  if (!communicator.rank) communicator.rank = known.rank;
  communicator.name = known.name;
  communicator.init_seq = known.init_seq;
  communicator.calls = known.calls;
  communicator.exact_sizes = known.exact_sizes;
  communicator.finished = known.finished;
  communicator.busy = known.busy;
  communicator.closed_ns = known.closed_ns;
  communicator.given = std::max(communicator.given, known.given);
  communicator.several |= known.several;
  known = std::move(communicator);
}

void Job::cut_off(const std::string& proc) {
  if (const auto found = processes_.find(proc); found != processes_.end())
    found->second.cut_off = true;
}

void Job::merge(Job&& other) { processes_.merge(other.processes_); }

void Job::replace(const std::string& proc, Job&& other) {
  processes_[proc] = std::move(other.processes_[proc]);
}

void Job::add_box(const std::string& proc, const std::string& host, std::int64_t pid,
                  std::uint64_t mono_ns, std::uint64_t real_ns) {
  Process& process = processes_[proc];
  if (process.events != 0) return;
  process.proc = proc;
  process.host = host;
  process.pid = pid;
  process.first_ns = process.last_ns = mono_ns;
  process.clock_ns = static_cast<std::int64_t>(real_ns - mono_ns);
}

const Process* Job::find(const std::string& proc) const {
  const auto found = processes_.find(proc);
  return found != processes_.end() ? &found->second : nullptr;
}

std::vector<const Process*> Job::processes() const {
  std::vector<const Process*> out;
  for (const auto& [proc, process] : processes_) out.push_back(&process);
  std::sort(out.begin(), out.end(), [](const Process* a, const Process* b) {
    constexpr int kLast = std::numeric_limits<int>::max();
    const int one = a->rank.value_or(kLast), other = b->rank.value_or(kLast);
    if (one != other) return one < other;
    if (a->host != b->host) return natural_less(a->host, b->host);
    return std::tie(a->pid, a->proc) < std::tie(b->pid, b->proc);
  });
  return out;
}

Ends Job::ends() const {
  std::unordered_map<std::pair<Link, Direction>, std::vector<End>, LinkHash> by_link;
  for (const auto& [proc, process] : processes_)
    for (const auto& [number, connection] : process.connections)
      if (connection.dir && !connection.link.proc.empty())
        by_link[{connection.link, *connection.dir}].push_back({&process, &connection});
  Ends out;
  for (const auto& [key, ends] : by_link) {
    const auto& [link, dir] = key;
    const auto others =
        by_link.find({link, dir == Direction::kSend ? Direction::kRecv : Direction::kSend});
    if (others == by_link.end()) continue;
    // Of several connections to one listener the QPs tell which belong together.
    const auto& candidates = others->second;
    const bool plain = ends.size() == 1 && candidates.size() == 1;
    for (const End& end : ends)
      if (const End* other = plain ? &candidates.front() : find_by_qps(*end.connection, candidates))
        out.emplace(end.connection, *other);
  }
  return out;
}

}  // namespace nnd::log
