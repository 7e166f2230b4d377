#include "profiler/layer.h"

#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>

#include "context/fork_mutex.h"
#include "context/keep_loaded.h"
#include "context/memory_order.h"
#include "context/quiet.h"
#include "context/raw_clock.h"
#include "profiler/events.h"
#include "profiler/handle.h"
#include "state/communicators.h"
#include "state/connections.h"
#include "state/labelling.h"

namespace nnd::profiler {

namespace {

namespace profile = nccl_abi::profile;
using state::Communicator;
using state::Phase;

using context::kRelaxed;
using context::kRelease;

// What is told all the time, and besides while a connection wants a label. An operation is told by
// each version that tells its steps; from v4 on by two calls, before by some more for each step.
constexpr int kAlways = profile::kColl | profile::kP2p | profile::kProxyOp;
constexpr int kCalls = profile::kCollApi | profile::kP2pApi;
constexpr int kForLabels = profile::kProxyStep | profile::kNetPlugin;

// NCCL 2.26 (v3) finds the step by a number that it never sets back, so that an operation in a
// place that had another before leads to a step of that one (profilerSteps in v2.26.2-1
// src/transport/net.cc). NCCL 2.27 (v4) leaves the handle of a step that its mask does not tell
// unset, and then crashes on it in the callback (src/plugin/profiler.cc,
// ncclProfilerStartSendProxyStepEvent and ncclProfilerCallback); so does it with older versions, to
// which another profiler may bring it.
constexpr bool leads_by_handle(int api) { return api >= 5; }

constexpr int low_mask(int api) { return api >= 5 ? kAlways | kCalls : kAlways; }
constexpr int high_mask(int api, bool by_handle) {
  return low_mask(api) | (by_handle ? kForLabels : profile::kProxyStep);
}

// A context of ours: place and a word of this process's own, since NCCL hands operations to other
// processes' proxies together with it.
std::atomic<std::uint64_t> g_word{0};
std::atomic<int> g_pid{0};

context::ForkMutex g_lock;
int g_using_mask = 0;  // communicators that have the mask in g_labelling; under the lock

constexpr int kWordShift = 16;

void* context_of(std::uint32_t index) noexcept {
  return std::bit_cast<void*>(g_word.load(kRelaxed) << kWordShift | (index + 1));
}

Communicator* communicator_of(const void* context) noexcept {
  return is_own(context) ? state::communicator_at(place_of(context)) : nullptr;
}

void take_mask(int api, bool by_handle, int* mask) noexcept {
  auto& labelling = state::g_labelling;
  int* const taken = labelling.mask.load(kRelaxed);
  if (taken != nullptr && taken != mask) {  // a second NCCL: counted, not labelled
    std::atomic_ref<int>(*mask).store(low_mask(api) | labelling.other.load(kRelaxed), kRelaxed);
    return;
  }
  ++g_using_mask;
  if (taken != nullptr) return;
  labelling.low.store(low_mask(api), kRelaxed);
  const int high = high_mask(api, by_handle);
  labelling.high.store(high, kRelaxed);
  labelling.by_handle.store(by_handle, kRelaxed);
  context::keep_loaded(mask);
  labelling.mask.store(mask, std::memory_order_release);
  labelling.active.store(true, kRelaxed);
  // The first requests are to find it raised.
  std::atomic_ref<int>(*mask).store(high | labelling.other.load(kRelaxed), kRelaxed);
}

void give_mask_back() noexcept {
  if (g_using_mask == 0 || --g_using_mask != 0) return;
  state::g_labelling.active.store(false, kRelaxed);
  state::g_labelling.mask.store(nullptr, kRelaxed);
}

// From 2.27 on NCCL tells the begin also of operations that copy inside a node, and the end of
// those of its net transport alone.
bool tells_all_ends(int api) noexcept {
  constexpr int kFirstThatTellsAllBegins = 4;
  const auto set = [](const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && std::atoi(value) != 0;
  };
  return api < kFirstThatTellsAllBegins ||
         (!set("NCCL_P2P_USE_CUDA_MEMCPY") && !set("NCCL_SHM_USE_CUDA_MEMCPY"));
}

void identify_process() noexcept {
  const int pid = ::getpid();
  if (g_pid.exchange(pid) == pid) return;
  g_using_mask = 0;  // a parent's
  std::uint64_t word = 0;
  if (::getentropy(&word, sizeof word) != 0) word = static_cast<std::uint64_t>(pid);
  g_word.store((word | 1) & 0xffffffffffff, kRelaxed);
}

// Before v4: what the first event of a communicator tells.
[[gnu::noinline]] void learn(Communicator& communicator, const Task& task) noexcept {
  if (communicator.known.exchange(true)) return;
  state::Membership who{task.comm_hash, task.rank, -1, -1, {}};
  if (task.comm_name != nullptr) who.name = task.comm_name;
  communicator.membership.set(who);
  communicator.rank.store(task.rank, kRelaxed);
}

void note_change(state::Task& task, state::Progress progress) noexcept {
  task.changed.store(context::raw_clock::now(), kRelease);
  task.progress.store(progress, kRelease);
}

// Null: it has no place.
state::Task* new_entry(Communicator& communicator, state::Purpose purpose,
                       std::uint64_t& ordinal) noexcept {
  state::Task* const entry = communicator.tasks(purpose).make(ordinal);
  if (entry != nullptr) entry->began.store(context::raw_clock::now(), kRelease);
  return entry;
}

void describe(state::Task& entry, const Task& task, state::CallCount* count) noexcept {
  const bool transfers = task.purpose == state::Purpose::kTransfer;
  entry.what.store(count, kRelease);
  entry.bytes.store(count == nullptr ? 0 : task.elements * count->element_bytes, kRelease);
  entry.number.store(transfers ? static_cast<std::uint64_t>(task.peer) : task.seq, kRelease);
  entry.numbered.store(transfers ? task.peer >= 0 : task.has_seq, kRelease);
}

void* handle_of(const Communicator& communicator, const Task& task,
                std::uint64_t ordinal) noexcept {
  return pack({.kind = HandleKind::kTask,
               .purpose = task.purpose,
               .communicator = communicator.index,
               .task = ordinal});
}

struct TaskAt {
  state::LastTasks* among = nullptr;  // null: there is none
  std::uint64_t ordinal = 0;

  // Null: it has no place.
  state::Task* find() const noexcept { return among == nullptr ? nullptr : among->find(ordinal); }
};

// By the handle itself, of which it needs little: most events come here.
TaskAt task_at(const void* handle) noexcept {
  const Handle h = unpack(handle);
  Communicator* const communicator = state::communicator_at(h.communicator);
  if (communicator == nullptr || h.purpose == state::Purpose::kUnknown) return {};
  state::LastTasks& among = communicator->tasks(h.purpose);
  if (h.kind == HandleKind::kTask) return {&among, h.task};
  // Of an operation the low bits are told: the newest that fits.
  constexpr std::uint64_t kMask = (1 << kOpTaskBits) - 1;
  const std::uint64_t made = among.made.load(kRelaxed);
  return {&among, made - ((made - h.task) & kMask)};
}

// Where labels are joined: whatever is heard from NCCL ends the wait for the word on the last
// request.
state::Connection* take_last_posted() noexcept {
  if (!state::labels_are_joined() || !state::somebody_wants_a_label()) return nullptr;
  state::Connection*& last = state::last_posted();
  state::Connection* const c = last;
  last = nullptr;
  return c;
}

state::Labels labels_of(const void* handle, std::int32_t rank, state::LabelOrigin how) noexcept {
  const Handle op = unpack(handle);
  state::Labels labels;
  labels.how = how;
  labels.channel = static_cast<std::int32_t>(op.channel);
  labels.peer_rank = static_cast<std::int32_t>(op.peer);
  labels.rank = rank;
  labels.purpose = op.purpose;
  labels.relayed = op.communicator == kOtherProcess;
  Communicator* const communicator = state::communicator_at(op.communicator);
  if (communicator == nullptr) return labels;
  labels.communicator = op.communicator;
  if (labels.rank < 0) labels.rank = communicator->rank.load(kRelaxed);
  state::Membership who;
  if (communicator->membership.get(who)) labels.comm = who.hash;
  return labels;
}

// Of the states that are told of a step once: with them its next phase begins.
void end_phase(const void* step, nccl_abi::ProfilerState state) noexcept {
  using nccl_abi::ProfilerState;
  const bool sent = state == ProfilerState::kProxyStepSendWait;
  if (!sent && state != ProfilerState::kProxyStepRecvGpuWait) return;
  if (sent != unpack(step).sends) return;
  const TaskAt at = task_at(step);
  state::Task* const task = at.find();
  if (task == nullptr) return;
  const std::uint64_t now = context::raw_clock::now();
  at.among->phase(*task, sent ? Phase::kBeforeSend : Phase::kReceiving).end(now);
  at.among->phase(*task, sent ? Phase::kSending : Phase::kAfterReceive).begin(now);
}

bool is_for(const state::Connection& c, const Handle& op) noexcept {
  return c.unlabelled && (c.kind.load(kRelaxed) == state::ConnectionKind::kSend) == op.sends;
}

}  // namespace

Dependencies& dependencies() noexcept {
  static constinit Dependencies instance;
  return instance;
}

void* open(const Opening& opening) noexcept {
  const std::lock_guard guard(g_lock);
  identify_process();
  context::quietly([&] { dependencies().start(opening.logger); });
  take_mask(opening.api, leads_by_handle(opening.api), opening.mask);
  Communicator* const communicator = state::open_communicator();
  if (communicator == nullptr) return context_of(kNoCommunicator);
  communicator->membership.set(opening.told);
  communicator->rank.store(opening.told.rank, kRelaxed);
  communicator->known.store(opening.told.hash != 0, kRelaxed);
  communicator->api.store(opening.api, kRelaxed);
  if (!tells_all_ends(opening.api))
    for (state::LastTasks* const tasks : {&communicator->collectives, &communicator->transfers})
      tasks->leave_ops_out();
  context::quietly([&] { tell_init(*communicator); });
  return context_of(communicator->index);
}

void close(void* context) noexcept {
  const std::lock_guard guard(g_lock);
  if (g_pid.load(kRelaxed) != ::getpid()) return;
  give_mask_back();
  Communicator* const communicator = communicator_of(context);
  if (communicator == nullptr) return;
  communicator->collectives.settle();
  communicator->transfers.settle();
  context::quietly([&] {
    tell_init(*communicator);
    tell_counts(*communicator, true);
    tell_finalize(*communicator);
  });
  state::release_communicator(*communicator);
}

bool is_own(const void* context) noexcept {
  return word_of(context) >> kWordShift == g_word.load(kRelaxed);
}

std::uint32_t place_of(const void* context) noexcept {
  const std::uint64_t word = word_of(context);
  return static_cast<std::uint32_t>((word & ((1 << kWordShift) - 1)) - 1);
}

bool is_own_process(int pid) noexcept { return pid == g_pid.load(kRelaxed); }

void* start_call(void* context, const Task& task) noexcept {
  Communicator* const communicator = communicator_of(context);
  if (communicator == nullptr) return start_other();
  state::CallCount* const count = communicator->count_of(task.kind, true);
  if (count != nullptr) count->count(task.elements);
  std::uint64_t ordinal = 0;
  if (state::Task* const entry = new_entry(*communicator, task.purpose, ordinal)) {
    describe(*entry, task, count);
    note_change(*entry, state::Progress::kCalled);
  }
  return handle_of(*communicator, task, ordinal);
}

void* start_task(void* context, const Task& task, const void* parent) noexcept {
  Communicator* const communicator = communicator_of(context);
  if (communicator == nullptr) return start_other();
  if (task.comm_hash != 0 && !communicator->known.load(kRelaxed)) learn(*communicator, task);
  state::end_sample();
  state::CallCount* const count = communicator->count_of(task.kind, false);
  if (count != nullptr) {
    count->count(task.elements);
    count->last_seq.store(task.seq, kRelaxed);
  }
  // Its call's entry, unless that serves another task already. All ranks count alike: a call that
  // has no place has its number all the same.
  const Handle call = unpack(parent);
  const bool called = call.kind == HandleKind::kTask && call.communicator == communicator->index &&
                      call.purpose == task.purpose;
  std::uint64_t ordinal = called ? call.task : 0;
  state::LastTasks& among = communicator->tasks(task.purpose);
  state::Task* entry = called ? among.find(ordinal) : nullptr;
  const bool placeless = called && entry == nullptr && among.has_made(ordinal);
  if (!placeless &&
      (entry == nullptr || entry->progress.load(kRelaxed) != state::Progress::kCalled))
    entry = new_entry(*communicator, task.purpose, ordinal);
  if (entry != nullptr) {
    describe(*entry, task, count);
    note_change(*entry, state::Progress::kScheduled);
  }
  return handle_of(*communicator, task, ordinal);
}

void* start_op(void* context, const nccl_abi::ProfilerProxyOp& op, const void* parent) noexcept {
  take_last_posted();
  Handle h{.kind = HandleKind::kOp};
  h.sends = op.isSend != 0;
  h.channel = op.channelId;
  h.peer = static_cast<std::uint32_t>(op.peer);
  if (is_own_process(op.pid)) {  // else parent and context are another process's
    if (const Communicator* const communicator = communicator_of(context))
      h.communicator = communicator->index;
    const Handle task = unpack(parent);
    if (task.kind == HandleKind::kTask && task.communicator == h.communicator) {
      h.purpose = task.purpose;
      h.task = task.task & ((1 << kOpTaskBits) - 1);
      if (const TaskAt at = task_at(parent); at.among != nullptr)
        at.among->begin_op(at.ordinal, h.channel);
    }
  } else {
    h.communicator = kOtherProcess;
  }
  return pack(h);
}

void* start_step(const void* op) noexcept {
  take_last_posted();
  if (kind_of(op) != HandleKind::kOp) return nullptr;
  const TaskAt at = task_at(op);
  if (state::Task* const task = at.find())
    at.among->phase(*task, unpack(op).sends ? Phase::kBeforeSend : Phase::kReceiving)
        .begin(context::raw_clock::now());
  return step_of(op);
}

void* start_other() noexcept {
  take_last_posted();
  return pack({.kind = HandleKind::kGroup});
}

void net_event(const nccl_abi::ProfilerNetPlugin& event, std::int32_t rank,
               const void* step) noexcept {
  if (event.id != state::kLabelEvent || kind_of(step) != HandleKind::kStep) return;
  auto& c = *static_cast<state::Connection*>(event.data);
  if (is_for(c, unpack(step)))
    state::set_labels(c, labels_of(step, rank, state::LabelOrigin::kExact));
}

void stop(const void* handle) noexcept {
  take_last_posted();
  const HandleKind kind = kind_of(handle);
  if (kind != HandleKind::kTask && kind != HandleKind::kOp && kind != HandleKind::kStep) return;
  const TaskAt at = task_at(handle);
  if (at.among == nullptr) return;
  if (kind == HandleKind::kOp) return at.among->end_op(at.ordinal, context::raw_clock::now());
  state::Task* const task = at.find();
  if (task == nullptr) return;
  if (kind == HandleKind::kStep)
    at.among->phase(*task, unpack(handle).sends ? Phase::kSending : Phase::kAfterReceive)
        .end(context::raw_clock::now());
  else if (task->progress.load(kRelaxed) == state::Progress::kScheduled)
    note_change(*task, state::Progress::kLaunched);
}

// Right after a request is posted NCCL tells the profiler of it, on the same thread and before
// anything else (src/transport/net.cc, sendProxyProgress and recvProxyProgress).
void record(const void* handle, nccl_abi::ProfilerState state) noexcept {
  using nccl_abi::ProfilerState;
  if (kind_of(handle) == HandleKind::kStep) end_phase(handle, state);
  state::Connection* const c = take_last_posted();
  if (c == nullptr) return;
  const Handle op = unpack(handle);
  const bool of_op =
      op.kind == HandleKind::kOp && state == (op.sends ? ProfilerState::kProxyOpSendTransmitted
                                                       : ProfilerState::kProxyOpRecvPosted);
  const bool of_step =
      op.kind == HandleKind::kStep &&
      state == (op.sends ? ProfilerState::kProxyStepSendWait : ProfilerState::kProxyStepRecvWait);
  if ((of_op || of_step) && is_for(*c, op))
    state::set_labels(*c, labels_of(handle, -1, state::LabelOrigin::kJoined));
}

}  // namespace nnd::profiler
