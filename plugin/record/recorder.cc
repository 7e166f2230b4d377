#include "record/recorder.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

#include "context/clock.h"
#include "context/fork_mutex.h"
#include "context/quiet_signals.h"
#include "context/raw_clock.h"
#include "context/worker.h"
#include "record/advice.h"
#include "record/box.h"
#include "record/console.h"
#include "record/drain.h"
#include "record/exit_status.h"
#include "record/files.h"
#include "record/filter.h"
#include "record/submit.h"
#include "state/communicators.h"
#include "state/connections.h"
#include "state/failure.h"
#include "state/labelling.h"

namespace nnd::record {

namespace {

using nccl_net_diag::EventId;
using nccl_net_diag::Severity;

// ns that an exit, and the first init, wait for a file system that hangs.
constexpr std::uint64_t kStopPatience = 5'000'000'000;
constexpr std::uint64_t kOpenPatience = 1'000'000'000;
constexpr std::uint64_t kSettlePatience = 100'000'000;
constexpr std::uint64_t kErrorPatience = 20'000'000;
// For all errors of the process together: they may come on one thread, before a disk that hangs.
constexpr std::uint64_t kErrorsPatience = 60'000'000;
constexpr std::uint32_t kFirstErrors = 16;  // that are waited for until they are written
constexpr std::uint32_t kAnnounced = 64;    // errors

// Everything of one start(). Never freed: a thread may be inside emit() while another stops.
struct State {
  explicit State(const config::Settings& settings);

  Ring rings[Box::kRings];
  Filter filter;
  Files files;
  Drain drain;
  context::Worker drain_thread;
  State* previous = nullptr;
};

enum class Phase : int { kIdle, kStarting, kRunning, kStopping };

constinit std::atomic<ErrorHook> g_error_hook{nullptr};
constinit std::atomic<std::uint32_t> g_announced{0};
constinit std::atomic<std::uint32_t> g_errors{0};             // of the first
constinit std::atomic<std::uint64_t> g_waited_for_errors{0};  // ns
constinit std::atomic<State*> g_state{nullptr};               // what emit() uses
constinit std::atomic<State*> g_latest{nullptr};              // running or not
constinit std::atomic<Phase> g_phase{Phase::kIdle};
constinit std::atomic<std::uint64_t> g_proc_id{0};

// A thread's ring. After the thread's destructors have run, its events go through the shared ring.
thread_local bool t_gone = false;
struct ThreadRing {
  State* state = nullptr;
  Ring* ring = nullptr;
  std::uint32_t tid = 0;

  ~ThreadRing() {
    let_go();
    t_gone = true;
  }
  void let_go() noexcept {
    if (ring != nullptr) ring->release();
    ring = nullptr;
  }
  void find(State* current) noexcept {
    if (state != current) {
      let_go();
      state = current;
      tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    }
    for (std::uint32_t i = 0; i + 1 < Box::kRings && ring == nullptr; ++i)
      if (!current->rings[i].owned() && current->rings[i].acquire()) ring = &current->rings[i];
  }
};
thread_local ThreadRing t_ring;

std::uint64_t random_id() noexcept {
  std::uint64_t id = 0;
  if (::getentropy(&id, sizeof(id)) != 0 || id == 0)
    id = (context::mono_ns() * 0x9E3779B97F4A7C15u) ^ static_cast<std::uint64_t>(::getpid());
  return id | 1;
}

void* thread_body(void* state) {
  Drain& drain = static_cast<State*>(state)->drain;
  drain.open();
  drain.run();
  return nullptr;
}

// Pages come as they are used. As long as the process.
char* room_for_rings() {
  void* const at = ::mmap(nullptr, Box::kRings * Box::kRingSize, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(at);
}

State::State(const config::Settings& settings)
    : filter(event_filter(settings.events)),
      files(settings),
      drain(files, rings,
            {.max_bytes = static_cast<std::uint64_t>(settings.max_mb) << 20,
             .want_summary = (filter.mask & event_bit(EventId::kSummary)) != 0}) {
  open_console(settings.on_stderr, files.host() + " pid " + std::to_string(::getpid()));
  char* data = room_for_rings();
  for (Ring& ring : rings) {
    ring.attach(data, Box::kRingSize);
    data += Box::kRingSize;
  }
}

// An error is on disk before NCCL is told of it, as far as there is patience for that: NCCL may not
// survive what it is told next.
void see_it_written(Drain& drain) noexcept {
  const std::uint64_t waited = g_waited_for_errors.load(std::memory_order_relaxed);
  if (waited >= kErrorsPatience || g_errors.load(std::memory_order_relaxed) >= kFirstErrors) return;
  g_errors.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t began = context::mono_ns();
  drain.settle(std::min(kErrorPatience, kErrorsPatience - waited));
  g_waited_for_errors.fetch_add(context::mono_ns() - began, std::memory_order_relaxed);
}

// The child of a fork has no drain thread, and the files are its parent's.
void in_child() noexcept {
  State* state = g_latest.exchange(nullptr);
  g_state.store(nullptr);
  g_proc_id.store(0);
  g_phase.store(Phase::kIdle);
  state::forget_connections();
  state::forget_communicators();
  state::forget_labelling();
  if (state == nullptr) return;
  if (state->drain.opened()) state->files.close();
  forget_causes();
  forget_console();
}

}  // namespace

bool wanted(EventId id, Severity severity, Weight weight) noexcept {
  const State* state = g_state.load(std::memory_order_acquire);
  if (state == nullptr) return false;
  if (severity != Severity::kInfo) return true;
  return (state->filter.mask & event_bit(id)) != 0 &&
         (weight == Weight::kNews || state->filter.steps);
}

void set_error_hook(ErrorHook hook) noexcept { g_error_hook.store(hook); }

void announce_error() noexcept {
  const ErrorHook hook = g_error_hook.load(std::memory_order_acquire);
  if (hook != nullptr && g_announced.fetch_add(1, std::memory_order_relaxed) < kAnnounced) hook();
}

void submit(EventId id, Severity severity, std::string_view payload) noexcept {
  State* state = g_state.load(std::memory_order_acquire);
  if (state == nullptr || (state->filter.mask & event_bit(id)) == 0) return;
  Ring* own = nullptr;
  std::uint32_t tid = 0;
  if (!t_gone) {
    if (t_ring.state != state || t_ring.ring == nullptr) t_ring.find(state);
    own = t_ring.ring;
    tid = t_ring.tid;
  }
  Ring::Put put{};
  if (own != nullptr) {
    put = own->put(id, severity, context::mono_ns(), tid, payload);
  } else {
    Ring& shared = state->rings[Box::kRings - 1];
    shared.lock();
    put = shared.put(id, severity, context::mono_ns(), tid, payload);
    shared.unlock();
  }
  if (severity == Severity::kError && state->drain_thread.started()) see_it_written(state->drain);
  if (put != Ring::Put::kDone || severity != Severity::kInfo)
    state->drain.wake();
  else if (id != EventId::kReqPost && id != EventId::kReqDone)  // those are the data path's
    state->drain.nudge();
}

void start(const config::Settings& settings) {
  Phase idle = Phase::kIdle;
  if (settings.disable || !g_phase.compare_exchange_strong(idle, Phase::kStarting)) return;
  context::in_forked_child(in_child);
  watch_exit();
  context::raw_clock::calibrate();
  std::unique_ptr<State> state;
  try {
    state = std::make_unique<State>(settings);
    state->previous = g_latest.load();
    if (!state->drain_thread.start("nnd-drain", thread_body, state.get())) {
      nccl_info("no thread for the event log: it is written when the process ends");
      state->drain.open();
    }
    state->drain.wait_opened(kOpenPatience);
    g_latest.store(state.get());
    g_state.store(state.release(), std::memory_order_release);
    g_phase.store(Phase::kRunning);
  } catch (...) {
    g_phase.store(Phase::kIdle);
    nccl_info("no memory for the event log; nothing is recorded");
  }
}

void stop() {
  Phase running = Phase::kRunning;
  if (!g_phase.compare_exchange_strong(running, Phase::kStopping)) return;
  State* state = g_state.exchange(nullptr);
  state->drain.request_stop();
  if (!state->drain_thread.started()) {
    const context::QuietSignals quiet;
    state->drain.run();
  }
  // A disk that hangs must not hang the job's exit; the black box then keeps what is not written.
  if (state->drain.wait_finished(kStopPatience)) {
    state->drain_thread.join();
    if (state->drain.all_written()) state->files.remove_box();
    state->files.close();
  }
  forget_causes();
  forget_console();
  nnd::state::forget_failures();
  g_phase.store(Phase::kIdle);
}

bool settle() noexcept {
  State* const state = g_state.load(std::memory_order_acquire);
  return state == nullptr || !state->drain_thread.started() || state->drain.settle(kSettlePatience);
}

bool running() noexcept { return g_state.load(std::memory_order_acquire) != nullptr; }

std::uint64_t proc_id() noexcept {
  std::uint64_t id = g_proc_id.load(std::memory_order_acquire);
  if (id != 0) return id;
  const std::uint64_t fresh = random_id();
  return g_proc_id.compare_exchange_strong(id, fresh) ? fresh : id;
}

std::string log_place() {
  const State* state = g_latest.load(std::memory_order_acquire);
  if (state == nullptr) return "no event log: not started";
  return state->drain.opened() ? state->files.place() : "the event log is not open yet";
}

namespace {

// As late as can be: events of exit handlers are still taken.
[[gnu::destructor]] void at_unload() { stop(); }

}  // namespace

}  // namespace nnd::record
