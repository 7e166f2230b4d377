#include "watch/whom.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/launchers.h"
#include "context/clock.h"
#include "context/raw_clock.h"
#include "diagnosis/connection.h"
#include "peers/channel.h"
#include "record/recorder.h"
#include "record/safe_file.h"
#include "state/bootstrap.h"
#include "state/communicators.h"
#include "state/failure.h"
#include "state/ports.h"
#include "state/qp_table.h"

namespace nnd::watch {

namespace {

using peers::Doing;
using peers::EndState;
using peers::LocalView;

constexpr std::size_t kMostPorts = 16;
constexpr std::size_t kMostPosters = 64;
constexpr std::uint64_t kRestNs = 250'000'000;

std::uint32_t to_ms(std::uint64_t ns) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(ns / 1'000'000, ~std::uint32_t{0}));
}

// Of this process.
bool sleeps(std::uint32_t thread) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  std::array<char, 256> text{};
  const ssize_t size = ::read(fd, text.data(), text.size());
  ::close(fd);
  const std::string_view seen(text.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
  const std::size_t name_end = seen.rfind(") ");
  return name_end != std::string_view::npos && seen.substr(name_end + 2).starts_with('S');
}

// A send that the transport has taken: is it the HCA that has it? What the HCA has completed is
// known where NCCL asks for it: an aborted communicator doesn't.
EndState of_send(const state::Connection& c, bool asked) {
  if (!asked) return EndState::kOwn;
  const state::QpTraffic traffic = state::traffic_of_qps(c);
  if (traffic.qps == 0) return EndState::kAwaitsRoom;  // no HCA: it is for the peer to read
  return traffic.sends == traffic.completed ? EndState::kOwn : EndState::kStuck;
}

EndState state_of(const state::Connection& c, Wait wait, bool asked) {
  if (diagnosis::being_made(wait)) return EndState::kBeingMade;
  switch (wait) {
    case Wait::kNothingCame:
      return EndState::kAwaitsData;
    case Wait::kNoReceive:
      return EndState::kAwaitsRoom;
    case Wait::kStuckSend:
      return of_send(c, asked);
    default:
      return EndState::kQuiet;
  }
}

bool is_relayed(const state::Connection& c) {
  state::Labels labels;
  return c.labels.get(labels) && labels.relayed;
}

// The longest waits first.
std::vector<LocalView::Edge> sorted(std::map<std::uint64_t, LocalView::Edge>& by_proc) {
  const auto older = [](const auto& a, const auto& b) { return a.age_ms > b.age_ms; };
  std::vector<LocalView::Edge> out;
  for (auto& [proc, edge] : by_proc) {
    std::sort(edge.links.begin(), edge.links.end(), older);
    out.push_back(std::move(edge));
  }
  std::stable_sort(out.begin(), out.end(), older);
  return out;
}

// Whose end the other one is; 0: not known.
std::uint64_t peer_of(const state::Identity& about) {
  const bool ours = about.link_proc == record::proc_id();
  return ours ? peers::process_connected_to(about.link_listen) : about.peer_proc;
}

peers::Link link_of(const state::Identity& about, EndState state, std::uint64_t age_ns,
                    const peers::Moved& moved) {
  const bool theirs = about.link_proc != record::proc_id();
  return {theirs, about.link_listen, state, to_ms(age_ns), moved};
}

// Of a receive only where NCCL would take what has come, and it is of one send.
peers::Moved moved_by(state::Connection& c, bool asked) {
  const std::uint64_t bytes = c.bytes.load(), requests = c.completed.load() - c.flushes.load();
  const bool untold = bytes == 0 && requests != 0;
  const bool receives = c.kind.load() == state::ConnectionKind::kRecv;
  if (receives && (untold || !asked || c.groups.load(std::memory_order_relaxed))) return {};
  return {true, static_cast<std::uint32_t>(requests), static_cast<std::uint32_t>(bytes)};
}

LocalView::Trouble trouble_of(nccl_net_diag::Cause cause, std::string_view place,
                              std::uint64_t age_ns, std::uint64_t proc = 0) {
  LocalView::Trouble out;
  out.cause = static_cast<std::uint16_t>(static_cast<unsigned>(cause) + 1);
  out.place = place;
  out.age_ms = to_ms(age_ns);
  out.proc = proc;
  return out;
}

// What others may print: no more than a terminal takes.
std::string plain(std::string text) {
  for (char& c : text)
    if (c <= ' ' || c > '~') c = '?';
  return text;
}

Doing to_doing(const state::TaskSeen& task, const state::Membership& member) {
  Doing out;
  out.func = std::string_view(task.func);
  out.comm = member.hash;
  out.ordinal = task.ordinal;
  out.number = task.has_seq ? static_cast<std::int64_t>(task.seq) : -1;
  out.bytes = task.bytes;
  return out;
}

// The tasks of all communicators: in which the process is, the longest first, and what each was
// given last. From 2.29 on NCCL tells of a Broadcast that it was called, and nothing more: where
// the process waits and no other is open, it is in that.
void add_tasks(LocalView& own, std::int32_t& rank) {
  std::uint64_t oldest = ~std::uint64_t{0}, oldest_called = oldest;
  Doing called;
  std::int32_t ranks = 0;
  state::for_each_communicator([&](const state::Communicator& communicator) {
    state::Membership member;
    if (!communicator.membership.get(member)) return;
    if (member.nranks > ranks || rank < 0) {
      rank = member.rank;
      ranks = member.nranks;
    }
    state::TaskSeen task;
    const bool any = communicator.collectives.newest(task) || communicator.transfers.newest(task);
    own.given.push_back(to_doing(any ? task : state::TaskSeen(), member));
    if (any && task.progress == state::Progress::kCalled && task.changed < oldest_called) {
      oldest_called = task.changed;
      called = own.given.back();
    }
    if ((communicator.collectives.unfinished(task) || communicator.transfers.unfinished(task)) &&
        task.changed < oldest) {
      oldest = task.changed;
      own.state.in = to_doing(task, member);
    }
  });
  if (!own.state.in.known() && !own.edges.empty()) own.state.in = called;
}

// A thread of NCCL's waits in a call of its bootstrap, by TCP: for whom is not seen here.
bool meets_others() {
  for (const state::BootThread& thread : state::boot_threads()) {
    state::Boot boot;
    if (thread.owner.load() != 0 && thread.boot.get(boot) && boot.call != state::BootCall::kNone)
      return true;
  }
  return false;
}

}  // namespace

peers::ChannelSetup this_process() {
  static const peers::ChannelSetup made = [] {
    peers::ChannelSetup start;
    const config::Launch launch = config::read_launch();
    if (launch.rank) start.self.rank = *launch.rank;
    start.self.host = plain(record::path_fields().host);
    // A second one of its node has others there, also where these ended before it found them.
    start.alone = launch.local_ranks.value_or(launch.local_rank.value_or(0) + 1) <= 1;
    // The port tells jobs apart whose launcher gave them one name, or none.
    std::string job = config::environment("MASTER_PORT");
    for (const std::string& id : config::job_ids()) job += '\n' + id;
    if (!job.empty())
      start.job = std::hash<std::string>()(job + launch.run) ^
                  static_cast<std::uint64_t>(launch.restarts.value_or(0));
    return start;
  }();
  peers::ChannelSetup out = made;
  out.self.proc = record::proc_id();
  out.self.pid = static_cast<std::uint32_t>(::getpid());
  return out;
}

namespace {

// "mlx5_0:1", where it is down.
LocalView::Trouble port_trouble(const std::string& place, std::uint64_t mono_ns) {
  const std::size_t colon = place.rfind(':');
  if (colon == std::string::npos) return {};
  const state::PortHistory port = state::history_of(
      place.substr(0, colon), static_cast<unsigned>(std::stoul(place.substr(colon + 1))));
  if (!port.down) return {};
  return trouble_of(nccl_net_diag::Cause::kAsyncPort, place,
                    mono_ns - std::min(mono_ns, port.down_ns));
}

// Where others wait for this process, which waits for nobody.
void add_port_in_use(LocalView& own, std::uint64_t mono_ns) {
  for (const state::DownPort& down : state::ports_down())
    if (state::users_of(down.device, down.port).connections != 0)
      own.port_down = trouble_of(nccl_net_diag::Cause::kAsyncPort,
                                 down.device + ":" + std::to_string(down.port),
                                 mono_ns - std::min(mono_ns, down.down_ns));
}

}  // namespace

void add_failure(LocalView& own, std::uint64_t mono_ns) {
  static std::uint32_t number = 0;
  static std::uint64_t since_ns = 0, proc = 0;  // it was first seen; the other end's
  const state::FailureList failures = state::list_failures(4);
  for (const state::Listed& one : failures.first) {
    const diagnosis::Cause cause = one.failure.diagnosis.cause;
    if (one.over) continue;
    // The process may end before its ports are looked at again.
    if (cause == diagnosis::Cause::kAsyncPort && own.port_down.cause == 0)
      own.port_down = port_trouble(one.subject.device, mono_ns);
    if (!one.error && nccl_net_diag::cause_entry(cause).severity != nccl_net_diag::Severity::kError)
      continue;
    if (number != one.failure.number) {
      since_ns = mono_ns;
      proc = 0;
    }
    number = one.failure.number;
    // Who has connected to a listener of ours may say so later.
    if (proc == 0 && one.about.id != 0) proc = peer_of(one.about);
    const std::string missing = diagnosis::keeps_apart(cause) ? state::missing_rail() : "";
    own.failed = missing.empty()
                     ? trouble_of(cause, one.subject.device, mono_ns - since_ns, proc)
                     : trouble_of(diagnosis::Cause::kDevDown, missing, mono_ns - since_ns);
    return;
  }
}

void WaitCollector::begin() {
  asked_ = peers::asked();
  moves_ = false;
  waits_ns_ = 0;
  edges_.clear();
  relayed_.clear();
  quiet_.clear();
  ports_.clear();
  posters_.clear();
}

void WaitCollector::Latest::note(std::uint64_t when_raw) noexcept {
  if (when_raw <= raw) return;
  raw = when_raw;
  mono_ns = context::mono_ns() - context::raw_clock::elapsed_ns(raw, context::raw_clock::now());
}

void WaitCollector::take(state::Connection& c, const WaitHistory& history, std::uint64_t age_ns,
                         bool asked) {
  const std::uint32_t poster = c.poster.load(std::memory_order_relaxed);
  if (asked_ && poster != 0 && posters_.size() < kMostPosters) posters_.insert(poster);
  const std::uint64_t posted = c.last_post.load(std::memory_order_relaxed);
  posted_.note(posted);
  if (c.kind.load() == state::ConnectionKind::kRecv) posted_receive_.note(posted);
  if (*history.wait == Wait::kIdle) return take_quiet(c, age_ns);
  if (age_ns < edge_ns_) {
    moves_ = true;
    return take_quiet(c, age_ns);
  }
  const EndState state = state_of(c, *history.wait, asked);
  const std::uint64_t counts =
      state == EndState::kBeingMade
          ? static_cast<std::uint64_t>(static_cast<double>(age_ns) * made_weight_)
          : age_ns;
  const bool relayed = is_relayed(c);
  if (!relayed) waits_ns_ = std::max(waits_ns_, counts);
  state::Identity about;
  if (!c.identity.get(about)) return;
  state::ConnectionEnds ends;
  if (c.ends.get(ends) && ends.port != 0 && ports_.size() < kMostPorts)
    ports_.insert(std::string(std::string_view(ends.device)) + ":" + std::to_string(ends.port));
  const std::uint64_t proc = peer_of(about);
  if (proc == 0) return;
  LocalView::Edge& edge = (relayed ? relayed_ : edges_)[proc];
  edge.proc = proc;
  edge.age_ms = std::max(edge.age_ms, to_ms(age_ns));
  edge.links.push_back(link_of(about, state, age_ns, moved_by(c, asked)));
}

// What others wait for may have been sent, or the connection may be closed.
void WaitCollector::take_quiet(state::Connection& c, std::uint64_t age_ns) {
  if (!asked_) return;
  state::Identity about;
  if (!c.identity.get(about)) return;
  if (const std::uint64_t proc = peer_of(about))
    quiet_[proc].push_back(link_of(about, EndState::kQuiet, age_ns, moved_by(c, false)));
}

// NCCL's progress thread waits for a condition where all operations that it was given are over, and
// else runs, with or without a request (proxy.cc, ncclProxyGetPostedOps; 2.12 to 2.28). Asked where
// NCCL tells of no calls.
bool WaitCollector::rests(const LocalView& own, std::uint64_t mono_ns) {
  const bool nothing = own.given.empty() && waits_ns_ == 0 && relayed_.empty() && !own.state.moves;
  if (!nothing || posters_.empty() || posters_.size() == kMostPosters ||
      !std::all_of(posters_.begin(), posters_.end(), sleeps))
    rested_ns_ = 0;
  else if (rested_ns_ == 0)
    rested_ns_ = mono_ns;
  return rested_ns_ != 0 && mono_ns - rested_ns_ >= kRestNs;
}

LocalView WaitCollector::end(std::uint64_t mono_ns) {
  LocalView own;
  own.state.who = this_process().self;
  own.edges = sorted(edges_);
  own.relayed = sorted(relayed_);
  std::int32_t rank = -1;
  add_tasks(own, rank);
  if (own.state.who.rank < 0) own.state.who.rank = rank;
  const bool meets = meets_others();
  if (!meets || meets_ns_ == 0) meets_ns_ = meets ? mono_ns : 0;
  own.meets_ms = meets ? to_ms(mono_ns - meets_ns_) : 0;
  own.state.moves = moves_ || meets;
  if (own.state.moves || moved_ns_ == 0 || waits_ns_ != 0) moved_ns_ = mono_ns;
  own.state.idle_ms = to_ms(mono_ns - moved_ns_);
  own.waits_ms = to_ms(waits_ns_);
  own.state.posted_ns = posted_.mono_ns;
  own.state.posted_receive_ns = posted_receive_.mono_ns;
  own.worked = worked_;
  own.rests = rests(own, mono_ns);
  // Its GPU has all that it needs of the network, or waits for the others of this node.
  own.inside = own.edges.empty() && waits_ns_ == 0 && !own.state.moves && !own.given.empty();
  if (own.inside && !own.state.in.known()) own.state.in = own.given.front();
  own.quiet = std::move(quiet_);
  for (const std::string& place : ports_)
    if (const auto down = port_trouble(place, mono_ns); down.cause != 0) own.port_down = down;
  if (own.edges.empty()) add_port_in_use(own, mono_ns);
  add_failure(own, mono_ns);
  return own;
}

void WaitCollector::forget() {
  begin();
  worked_ = false;
  moved_ns_ = meets_ns_ = 0;
  posted_ = posted_receive_ = {};
  rested_ns_ = 0;
}

}  // namespace nnd::watch
