#include "watch/thread.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "context/clock.h"
#include "context/futex.h"
#include "context/immortal.h"
#include "context/quiet.h"
#include "context/worker.h"
#include "facts/counters.h"
#include "peers/channel.h"
#include "record/recorder.h"
#include "record/safe_file.h"
#include "state/bootstrap.h"
#include "state/failure.h"
#include "watch/inits.h"
#include "watch/limits.h"
#include "watch/own_facts.h"
#include "watch/ports.h"
#include "watch/roots.h"
#include "watch/stays.h"
#include "watch/summary.h"
#include "watch/unlike.h"
#include "watch/watch.h"

namespace nnd::watch {

namespace {

using context::kSecond;

constexpr std::uint64_t kCountersEvery = 30 * kSecond;
constexpr std::uint64_t kSummaryPatience = kSecond / 4;

std::uint64_t to_ns(double sec) { return static_cast<std::uint64_t>(sec * 1e9); }

timespec to_timespec(std::uint64_t ns) {
  return {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
}

void sleep(std::uint64_t ns) {
  const timespec time = to_timespec(ns);
  ::nanosleep(&time, nullptr);
}

struct Running {
  explicit Running(const config::Settings& settings)
      : ages{to_ns(settings.connect_sec), to_ns(settings.stall_sec)},
        watch(ages),
        roots(ages.stall_ns) {}

  Ages ages;
  Watch watch;
  Roots roots;
  OwnFacts facts;
  Unlike unlike;
  Stays stays;
  Inits inits;
  Limits limits;
  Ports ports{kCountersEvery * 9 / 10};
  context::Worker looks, counts;
  std::atomic<std::uint32_t> wanted{0};  // samples of the counters that were asked for
  std::atomic<std::uint64_t> asked{0}, answered{0};
  std::atomic<std::uint64_t> failures{0};  // of which the peers know
  std::atomic<bool> settled{true};         // nothing more is to be heard of them
};

// The process that has the threads; 0: none.
std::atomic<pid_t> g_owner{0};
std::atomic<Running*> g_running{nullptr};
std::atomic<void (*)(std::uint64_t)> g_also{nullptr};
std::atomic<std::string (*)()> g_last_words{nullptr};

// At once: a process that fails may end.
void tell_failure(Running& own) {
  const std::uint64_t failures = state::list_failures(1).total;
  if (failures == own.failures.load()) return;
  peers::LocalView now = own.watch.own().value_or(peers::LocalView());
  if (!now.state.who.known()) now.state.who = this_process().self;
  add_failure(now, context::mono_ns());
  peers::look(std::move(now));
  own.settled.store(peers::settled());
  own.failures.store(failures);
}

void find_root(Running& own) {
  if (const auto& seen = own.watch.own())
    own.roots.look(seen->longest_ms(), seen->state.in, seen->state.who.proc);
}

// Until the next look: meanwhile the peers are served, and what they say is told.
void rest(Running& own) {
  constexpr std::uint64_t kSlice = kSecond / 10;
  const std::uint64_t period = own.ages.period_ns();
  if (!peers::wanted()) return sleep(period);
  for (std::uint64_t rested = 0; rested < period; rested += kSlice) {
    peers::serve(std::min(kSlice, period - rested));
    context::quietly([&] { tell_failure(own); });
    own.settled.store(peers::settled());
    context::quietly([&] { find_root(own); });
  }
}

void* look_body(void* argument) {
  auto& own = *static_cast<Running*>(argument);
  for (;;) {
    rest(own);
    if (!record::running()) continue;
    context::quietly([&] {
      own.watch.look(context::mono_ns());
      if (const auto& seen = own.watch.own()) peers::look(*seen);
      find_root(own);
      if (peers::wanted()) {
        peers::note_collective_times(own.stays.look());
        state::latecomer().set(peers::latecomer());
      }
      own.watch.tell();
      own.inits.look(context::mono_ns());
      if (const auto also = g_also.load()) also(context::mono_ns());
      own.limits.look();
      tell_silent_driver(facts::counters_being_read(), context::mono_ns());
    });
  }
}

void* count_body(void* argument) {
  auto& own = *static_cast<Running*>(argument);
  std::uint32_t seen = 0;
  for (;;) {
    context::futex_wait(own.wanted, seen, kCountersEvery);
    seen = own.wanted.load();
    const std::uint64_t asked = own.asked.load();
    if (record::running())
      context::quietly([&] { own.ports.look(); });
    else if (own.answered.load() != asked)  // for the summary
      context::quietly([] { facts::sample_counters(); });
    own.answered.store(asked);
  }
}

void wake_counters() noexcept {
  if (Running* const own = g_running.load()) {
    own->wanted.fetch_add(1);
    context::futex_wake(own->wanted);
  }
}

// Where the processes of a node read for each other: beside their black boxes. Nodes that are
// emulated share a /tmp.
std::string shared_place(const config::Settings& settings) {
  return settings.sysfs == config::Settings().sysfs ? record::default_place() : std::string();
}

// What failed here, and what they say of it.
bool peers_know(const Running& own) {
  return !peers::wanted() ||
         (own.settled.load() && state::list_failures(1).total == own.failures.load());
}

void add_last_words(record::Pack& fields) {
  const auto ask = g_last_words.load();
  const std::string words = ask == nullptr ? std::string() : ask();
  if (!words.empty() && !words.starts_with(record::kNcclPrefix)) fields.add("nccl_warning", words);
}

// For the drain, at the end: what a driver that hangs has not told is left out.
void add_to_summary(record::Pack& fields) {
  Running* const own = g_running.load();
  if (own == nullptr || g_owner.load() != ::getpid()) return;
  const std::uint64_t mine = ++own->asked;
  facts::need_counters(context::mono_ns());
  for (std::uint64_t waited = 0; own->answered.load() < mine && waited < kSummaryPatience;
       waited += kSecond / 1000)
    sleep(kSecond / 1000);
  for (std::uint64_t waited = 0; waited < kSummaryPatience && !peers_know(*own);
       waited += kSecond / 500) {
    peers::wake();
    sleep(kSecond / 500);
  }
  facts::add_counters(fields);
  add_last_words(fields);
  add_summary(fields, own->watch.totals(), own->ports.any_worse());
}

}  // namespace

void also_look(void (*look)(std::uint64_t mono_ns)) noexcept { g_also.store(look); }

void ask_for_last_words(std::string (*words)()) noexcept { g_last_words.store(words); }

void start(const config::Settings& settings) noexcept {
  const pid_t self = ::getpid();
  if (settings.disable || g_owner.exchange(self) == self) return;
  context::quietly([&] {
    static context::Immortal<Running> instance(settings);
    Running& own = *instance;
    own.watch.forget();  // a parent's
    own.roots.forget();
    own.unlike.forget();
    own.stays.forget();
    state::latecomer().set({});
    peers::forget();
    if (settings.peers) {
      peers::ChannelSetup start = this_process();
      start.ask_ms = static_cast<std::uint32_t>(settings.stall_sec * 800);
      start.directory = record::default_place();
      start.facts = [&own]() -> const peers::ProcessFacts& { return own.facts.now(); };
      start.met = [&own](const peers::Who& who, const peers::ProcessFacts& theirs) {
        own.unlike.met(own.facts.now(), own.facts.variables(), who, theirs);
      };
      peers::start(std::move(start));
    }
    own.inits.forget();
    state::forget_bootstraps();
    own.ports.forget();
    own.limits.forget();
    own.wanted.store(0);
    own.asked.store(0);
    own.answered.store(0);
    own.failures.store(0);
    g_running.store(&own);
    facts::watch_counters(settings.sysfs, wake_counters, shared_place(settings));
    record::set_summary_part(add_to_summary);
    record::set_error_hook(peers::wake);
    own.looks.start("nnd-watch", look_body, &own);
    own.counts.start("nnd-counters", count_body, &own);
  });
}

}  // namespace nnd::watch
