#include "record/mirror.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "context/memory_order.h"
#include "record/box.h"
#include "record/pack.h"
#include "state/awaited.h"
#include "state/communicators.h"
#include "state/connections.h"

namespace nnd::record {

namespace {

using context::kRelaxed;

static_assert(std::size(box::kStageNames) == static_cast<std::size_t>(state::Stage::kClosing) + 1);
static_assert(std::size(box::kKindNames) ==
              static_cast<std::size_t>(state::ConnectionKind::kRecv) + 1);

template <std::size_t kRoom>
void copy_text(char (&to)[kRoom], std::string_view text) {
  const std::size_t n = std::min(text.size(), kRoom - 1);
  std::copy_n(text.begin(), n, to);
  to[n] = '\0';
}

void copy_identity(box::ConnSlot& slot, const state::Connection& c) {
  state::Identity about;
  state::Labels labels;
  if (!c.identity.get(about) || !c.labels.get(labels)) return;
  slot.conn = about.id;
  slot.net_api = c.api.load(kRelaxed);
  slot.dev = about.dev;
  slot.comm = about.comm;
  slot.link_proc = about.link_proc;
  slot.link_listen = about.link_listen;
  slot.peer_proc = about.peer_proc;
  slot.rank = labels.rank;
  slot.peer_rank = labels.peer_rank;
  slot.channel = labels.channel;
}

void copy_progress(box::ConnSlot& slot, const state::Connection& c) {
  slot.opened_mono_ns = c.opened_ns.load(kRelaxed);
  slot.ready_mono_ns = c.ready_ns.load(kRelaxed);
  slot.polls = c.polls.load(kRelaxed);
  slot.last_poll_raw = c.last_poll.load(kRelaxed);
  slot.moving_since_raw = c.moving_since.load(std::memory_order_acquire);
  slot.moving_to = c.moving_to.load(kRelaxed);
  slot.moving_attempt = c.moving_attempt.load(kRelaxed);
}

void copy_counters(box::ConnSlot& slot, const state::Connection& c) {
  slot.started = c.started.load(kRelaxed);
  slot.completed = c.completed.load(kRelaxed);
  slot.failed = c.failed.load(kRelaxed);
  slot.bytes = c.bytes.load(kRelaxed);
  slot.untracked = c.untracked.load(kRelaxed);
  slot.flushes = c.flushes.load(kRelaxed);
  slot.last_post_raw = c.last_post.load(kRelaxed);
  slot.last_done_raw = c.last_done.load(kRelaxed);
  for (std::size_t b = 0; b < state::kPlausibleBuckets; ++b)
    slot.latency[std::min<std::size_t>(b, box::kLatencyBuckets - 1)] += c.latency[b].load(kRelaxed);
}

void copy_ends(box::ConnSlot& slot, const state::Connection& c) {
  state::ConnectionEnds ends;
  if (c.ends.get(ends) && ends.port != 0) {
    copy_text(slot.device, ends.device);
    copy_text(slot.netdev, ends.netdev);
    slot.port = ends.port;
    slot.gid_index = ends.gid_index;
    std::copy(ends.gid.begin(), ends.gid.end(), slot.gid);
    std::copy(ends.remote_gid.begin(), ends.remote_gid.end(), slot.peer_gid);
  }
  slot.qp_count = c.qps.load(kRelaxed);
  for (std::uint32_t i = 0; i < std::min(slot.qp_count, box::kSlotQps); ++i)
    if (state::QpSummary qp; c.qp(i).get(qp)) slot.qps[i] = {qp.num, qp.remote_num};
}

box::ConnSlot slot_of(const state::Connection& c) {
  box::ConnSlot slot{};
  slot.kind = static_cast<std::uint8_t>(c.kind.load(kRelaxed));
  slot.stage = static_cast<std::uint8_t>(c.stage.load(kRelaxed));
  copy_identity(slot, c);
  copy_progress(slot, c);
  copy_counters(slot, c);
  copy_ends(slot, c);
  slot.checksum = box::Checksum().add(&slot, sizeof(slot)).value();
  return slot;
}

// Another one after each change of what slot_of() reads, but for buckets, which come with others.
// Of a connection that is idle these are a few cache lines, and its slot is ten.
std::uint64_t mark_of(const state::Connection& c) {
  std::uint64_t mark = c.id.load(kRelaxed);
  const auto mix = [&mark](std::uint64_t word) {
    mark = (mark ^ word) * 0x9E3779B97F4A7C15u;
    mark ^= mark >> 29;
  };
  for (const state::Counter* word :
       {&c.started, &c.completed, &c.bytes, &c.last_post, &c.last_done, &c.failed, &c.untracked,
        &c.flushes, &c.polls, &c.opened_ns, &c.ready_ns, &c.last_poll, &c.moving_since})
    mix(word->load(kRelaxed));
  mix(std::uint64_t{c.qps.load(kRelaxed)} << 32 | c.moving_attempt.load(kRelaxed));
  mix(std::uint64_t{static_cast<std::uint8_t>(c.stage.load(kRelaxed))} << 8 |
      static_cast<std::uint8_t>(c.kind.load(kRelaxed)));
  mix(std::uint64_t{c.identity.version()} << 32 | c.labels.version());
  mix(std::uint64_t{c.ends.version()} << 32 | c.moving_to.load(kRelaxed));
  return mark;
}

static_assert(std::size(box::kAwaitedNames) ==  // behind these is what is not told
              static_cast<std::size_t>(diagnosis::RootKind::kRests));
static_assert(Box::kComms >= state::kCommunicators);
static_assert(std::size(box::kTaskStateNames) ==
              static_cast<std::size_t>(state::Progress::kLaunched) + 1);

// known: which of the tasks are open; else nobody may take one of these for the oldest.
box::CommTask task_of(const state::TaskSeen& task, bool known) {
  box::CommTask slot{};
  copy_text(slot.func, task.func);
  slot.ordinal = task.ordinal;
  slot.seq = task.has_seq ? task.seq : box::kNoSeq;
  slot.bytes = task.bytes;
  slot.ops = known ? task.ops : 0;
  slot.ops_done = known ? task.ops_done : 0;
  slot.changed_raw = task.changed;
  slot.state = static_cast<std::uint8_t>(task.progress);
  slot.peer = task.peer < 0 ? 0 : static_cast<std::uint32_t>(task.peer) + 1;
  return slot;
}

// The newest, and in the last place the oldest that is open, where it isn't among these.
template <std::size_t kKept>
void copy_tasks(box::CommTask (&to)[kKept], const state::LastTasks& last) {
  const auto unknown_from = last.unknown_from();
  const auto put = [&](std::size_t place, const state::TaskSeen& task) {
    to[place] = task_of(task, task.ordinal < unknown_from.value_or(task.ordinal + 1));
  };
  const std::uint64_t made = last.made.load(kRelaxed);
  state::TaskSeen task;
  std::size_t used = 0;
  for (std::uint64_t back = 0; back < made && back < kKept; ++back)
    if (last.read(made - back, task)) put(used++, task);
  if (last.unfinished(task) && task.ordinal + kKept <= made) put(std::min(used, kKept - 1), task);
}

box::CommSlot slot_of(const state::Communicator& communicator) {
  box::CommSlot slot{};
  state::Membership who;
  communicator.membership.get(who);
  slot.used = 1;
  slot.hash = who.hash;
  slot.rank = who.rank;
  slot.nranks = who.nranks;
  copy_text(slot.name, who.name);
  slot.collectives = communicator.collectives.made.load(kRelaxed);
  slot.transfers = communicator.transfers.made.load(kRelaxed);
  copy_tasks(slot.last_collectives, communicator.collectives);
  copy_tasks(slot.last_transfers, communicator.transfers);
  slot.checksum = box::Checksum().add(&slot, sizeof(slot)).value();
  return slot;
}

void add_way(Pack& fields, std::string_view name, const state::Traffic::Way& way) {
  fields.open(name, false);
  fields.add_unsigned("conns", way.conns);
  fields.add_unsigned("started", way.started);
  fields.add_unsigned("completed", way.completed);
  fields.add_unsigned("failed", way.failed);
  fields.add_unsigned("bytes", way.bytes);
  fields.end();
}

}  // namespace

void mirror_connections(Box& box) noexcept {
  const std::size_t places = box.make_places(state::entries_used());
  for (std::size_t place = 0; place < places; ++place) {
    const state::Connection* const c = state::entry_at(place);
    const std::uint64_t mark = c != nullptr ? mark_of(*c) : 0;
    Box::Look& look = box.look(place);
    const bool changed = std::exchange(look.mark, mark) != mark;
    // What was copied while it changed may be older than its mark: it is copied once more.
    if (!std::exchange(look.again, changed) && !changed) continue;
    box.conns().set(place, c != nullptr ? slot_of(*c) : box::ConnSlot{});
  }
}

void mirror_communicators(Box& box) noexcept {
  std::size_t used = Box::kComms;
  while (used != 0 && state::communicator_at(used - 1) == nullptr) --used;
  const std::size_t places = box.make_comm_places(used);
  for (std::size_t place = 0; place < places; ++place) {
    const state::Communicator* const communicator = state::communicator_at(place);
    box.comms().set(place, communicator != nullptr ? slot_of(*communicator) : box::CommSlot{});
  }
}

void mirror_awaited(Box& box) noexcept {
  state::Awaited now;
  box::AwaitedSlot slot{};
  if (!state::awaited().get(now)) return;
  if (now.known()) {
    slot.kind = static_cast<std::uint32_t>(now.kind);
    slot.proc = now.who.proc;
    slot.rank = now.who.rank;
    slot.pid = now.who.pid;
    slot.since_mono_ns = now.since_ns;
    copy_text(slot.host, now.who.host);
    copy_text(slot.msg, now.self ? "for nobody, and others for it" : diagnosis::whom(root_of(now)));
    slot.checksum = box::Checksum().add(&slot, sizeof(slot)).value();
  }
  box.set_awaited(slot);
}

void mirror_latecomer(Box& box) noexcept {
  state::Latecomer now;
  box::LatecomerSlot slot{};
  if (!state::latecomer().get(now)) return;
  if (now.known()) {
    slot.times = now.times;
    slot.of = now.of;
    slot.us = now.us;
    slot.rank = now.who.rank;
    slot.pid = now.who.pid;
    copy_text(slot.host, now.who.host);
    slot.checksum = box::Checksum().add(&slot, sizeof(slot)).value();
  }
  box.set_latecomer(slot);
}

void add_traffic(Pack& fields) {
  const state::Traffic sums = state::traffic();
  fields.open("traffic", false);
  fields.add_unsigned("open", sums.open);
  add_way(fields, "send", sums.send);
  add_way(fields, "recv", sums.recv);
  fields.end();
}

}  // namespace nnd::record
