#include "record/drain.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "context/clock.h"
#include "context/futex.h"
#include "context/raw_clock.h"
#include "diagnosis/own.h"
#include "record/advice.h"
#include "record/console.h"
#include "record/exit_status.h"
#include "record/mirror.h"
#include "record/pack.h"
#include "record/recorder.h"

namespace nnd::record {

namespace {

using context::futex_wait;
using context::futex_wake;
using nccl_net_diag::EventId;
using nccl_net_diag::Severity;

constexpr std::uint64_t kMs = 1000000;
constexpr std::uint64_t kShortestSleep = 2 * kMs;
constexpr std::uint64_t kLongestSleep = 100 * kMs;
constexpr std::uint64_t kRetrySleep = 250 * kMs;
constexpr std::uint64_t kMirrorEvery = 90 * kMs;  // each longest sleep ends with one
constexpr std::uint64_t kTablesCpuPart = 400;     // of the time that passes
constexpr std::uint64_t kTablesBytesPerSec = 500'000;
constexpr std::uint64_t kTablesAtLeastEvery = 2000 * kMs;
constexpr std::uint64_t kReportEvery = 1000 * kMs;
constexpr std::size_t kBatchBytes = 64 * 1024;
constexpr std::size_t kOwnLines =
    16 * 1024;  // kept free of the size limit for log.dropped and summary
constexpr std::uint64_t kClockStep = kMs;  // a wall clock that is off by more was set

// Of the thread: kAsleep: whoever has something wakes it; kNapping: only what is urgent does.
constexpr std::uint32_t kAsleep = 0, kAwake = 1, kNapping = 2;

constinit std::atomic<SummaryPart> g_summary_part{nullptr};

}  // namespace

void set_summary_part(SummaryPart part) noexcept { g_summary_part.store(part); }

Drain::Drain(Files& files, Ring* rings, DrainLimits limits)
    : files_(files),
      rings_(rings),
      limits_(limits),
      started_ns_(context::mono_ns()),
      awake_(kAwake) {
  for (std::uint32_t i = 0; i < Box::kRings; ++i) cursors_.emplace_back(rings[i]);
}

void Drain::open() noexcept {
  try {
    files_.open_log();
    sink_ = LineSink(files_.log_fd(), files_.log_is_regular());
    if (files_.log_is_regular()) tail_ = Tail(limits_.max_bytes / 8);
    lines_ = LineWriter(files_.host(), static_cast<std::uint32_t>(::getpid()), proc_id(),
                        context::mono_ns(), context::now_ns(CLOCK_REALTIME));
    name_console_log(files_.place());
  } catch (const std::bad_alloc&) {
    nccl_info("no memory to open the event log; nothing is written");
  }
  opened_.store(1, std::memory_order_release);
  futex_wake(opened_);
  try {
    files_.open_box(box_);
    box_.describe(proc_id(), files_.host(), files_.log_path());
  } catch (const std::bad_alloc&) {
    box_.close();
  }
}

bool Drain::wait_opened(std::uint64_t patience_ns) noexcept {
  const std::uint64_t deadline = context::mono_ns() + patience_ns;
  for (std::uint64_t now = 0; !opened(); futex_wait(opened_, 0, deadline - now))
    if ((now = context::mono_ns()) >= deadline) return false;
  return true;
}

void Drain::run() noexcept {
  std::uint64_t idle = kShortestSleep;
  bool was_idle = false;
  while (!stop_.load(std::memory_order_acquire)) {
    awake_.store(kNapping, std::memory_order_seq_cst);
    const std::uint64_t before = next_seq_;
    bool fine = false;
    try {
      fine = pass();
      if (fine) report_losses(false);
    } catch (const std::bad_alloc&) {
      if (flush())  // what was ready; the rest waits for memory
        for (RingCursor& cursor : cursors_) cursor.rewind();
    }
    passes_.fetch_add(1, std::memory_order_release);
    futex_wake(passes_);
    if (!fine) keep_unwritten();
    mirror();
    write_console();
    idle = before != next_seq_ ? kShortestSleep : std::min(2 * idle, kLongestSleep);
    rest(fine, idle);
    if (idle == kLongestSleep && !was_idle && !stop_.load(std::memory_order_acquire)) {
      was_idle = true;
      files_.sweep_default_place();
    }
  }
  try {
    finish();
  } catch (const std::bad_alloc&) {
    all_written_ = false;
  }
  keep_unwritten();
  mirror();
  write_console();
  finished_.store(1, std::memory_order_release);
  futex_wake(finished_);
}

// A short nap after work, which only what is urgent ends: events come in storms. Then until there
// is something to do.
void Drain::rest(bool fine, std::uint64_t idle) noexcept {
  if (stop_.load(std::memory_order_acquire)) return;
  if (!fine || idle == kShortestSleep) futex_wait(awake_, kNapping, kShortestSleep);
  std::uint32_t state = kNapping;
  if (!awake_.compare_exchange_strong(state, kAsleep)) return;
  if (!fine || !has_news()) futex_wait(awake_, kAsleep, fine ? idle : kRetrySleep);
}

bool Drain::settle(std::uint64_t patience_ns) noexcept {
  std::array<std::uint64_t, Box::kRings> heads{};
  for (std::uint32_t i = 0; i < Box::kRings; ++i) heads[i] = rings_[i].head();
  const std::uint64_t deadline = context::mono_ns() + patience_ns;
  for (;;) {
    const std::uint32_t seen = passes_.load(std::memory_order_acquire);
    bool taken = true;
    for (std::uint32_t i = 0; i < Box::kRings; ++i) taken = taken && rings_[i].tail() >= heads[i];
    const std::uint64_t now = context::mono_ns();
    if (taken || now >= deadline) return taken;
    wake();
    futex_wait(passes_, seen, deadline - now);
  }
}

bool Drain::has_news() const noexcept {
  for (std::uint32_t i = 0; i < Box::kRings; ++i)
    if (rings_[i].head() != rings_[i].tail()) return true;
  return false;
}

void Drain::nudge() noexcept {
  if (awake_.load(std::memory_order_seq_cst) != kAsleep) return;
  if (awake_.exchange(kAwake, std::memory_order_seq_cst) == kAsleep) futex_wake(awake_);
}

void Drain::wake() noexcept {
  if (awake_.exchange(kAwake, std::memory_order_seq_cst) != kAwake) futex_wake(awake_);
}

void Drain::request_stop() noexcept {
  stop_.store(true, std::memory_order_release);
  awake_.store(kAwake, std::memory_order_seq_cst);
  futex_wake(awake_);
}

bool Drain::wait_finished(std::uint64_t patience_ns) noexcept {
  std::uint64_t seen = batches_.load(std::memory_order_relaxed);
  std::uint64_t deadline = context::mono_ns() + patience_ns;
  while (finished_.load(std::memory_order_acquire) == 0) {
    const std::uint64_t now = context::mono_ns();
    const std::uint64_t batches = batches_.load(std::memory_order_relaxed);
    if (batches != seen) deadline = now + patience_ns;
    seen = batches;
    if (now >= deadline) return false;
    futex_wait(finished_, 0, std::min(deadline - now, kLongestSleep));
  }
  return true;
}

RingCursor* Drain::earliest() {
  RingCursor* first = nullptr;
  for (RingCursor& cursor : cursors_)
    if (cursor.load() && (first == nullptr || cursor.header().mono_ns < first->header().mono_ns))
      first = &cursor;
  return first;
}

// Writes what the rings held when it began. False when the log can't be written now: what did not
// get out stays in the rings.
bool Drain::pass() {
  for (RingCursor& cursor : cursors_) cursor.begin_pass();
  while (RingCursor* cursor = earliest()) {
    write_record(*cursor);
    if (sink_.waiting_bytes() + tail_.waiting_bytes() >= kBatchBytes && !flush()) return false;
  }
  if (!flush()) return false;
  for (RingCursor& cursor : cursors_) cursor.commit(cursor.mark());
  return true;
}

void Drain::write_record(RingCursor& cursor) {
  const box::RecordHeader& header = cursor.header();
  const auto id = static_cast<EventId>(header.event);
  const auto severity = static_cast<Severity>(header.severity);
  const bool routine = severity == Severity::kInfo && nccl_net_diag::gives_way(id);
  std::uint64_t* lost = &past_limit_;
  To to = To::kNowhere;
  line_.clear();
  if (files_.log_fd() < 0) {
    line_ = "{}";  // nobody reads it
    to = To::kLog;
  } else if (!lines_.write(line_, next_seq_, id, severity, header.mono_ns, cursor.payload())) {
    lost = &unwritable_;
  } else {
    to = place_of_line(routine);
  }
  if (commits_.size() == commits_.capacity()) commits_.reserve(2 * commits_.size() + 64);
  if (to == To::kLog) sink_.add(line_);
  if (to == To::kTail) tail_.add(line_);
  if (to != To::kNowhere) ++next_seq_;
  cursor.next();
  commits_.push_back({&cursor, cursor.mark(), to, lost});
}

// The log takes all up to half of its size, and up to three quarters what doesn't give way; the
// rest is the tail's. A stream has no tail.
Drain::To Drain::place_of_line(bool routine) {
  const std::uint64_t half = limits_.max_bytes / 2;
  const std::uint64_t all = files_.log_is_regular() ? half + half / 2 : limits_.max_bytes;
  const std::uint64_t size = sink_.total_bytes() + sink_.waiting_bytes() + line_.size() + 1;
  bool& full = routine ? full_ : crowded_;
  full = full || size + kOwnLines > (routine ? half : all);
  if (!full) return To::kLog;
  return (routine && crowded_) || !tail_.fits(line_.size()) ? To::kNowhere : To::kTail;
}

// Writes the waiting lines and gives their bytes back to the rings. When only some got out, the
// cursors go back behind those.
bool Drain::flush() {
  const std::size_t waiting = sink_.waiting_lines();
  sink_.flush();
  std::size_t out = sink_.lines_out(), to_tail = 0;
  for (const Commit& commit : commits_) {
    if (commit.to == To::kLog && out-- == 0) break;
    if (commit.to == To::kTail) ++to_tail;
    if (commit.to == To::kNowhere) ++*commit.lost;
    commit.cursor->commit(commit.mark);
  }
  // The numbers of what did not get out go to the next ones.
  next_seq_ -= waiting - sink_.lines_out() + tail_.waiting_lines() - to_tail;
  past_limit_ += tail_.flush(files_, to_tail);
  commits_.clear();
  failing_ = sink_.error();
  if (failing_ == 0) {
    batches_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  for (RingCursor& cursor : cursors_) cursor.rewind();
  if (!failure_told_)
    nccl_info(
        fmt::format("can't write the event log {}: {}; the job goes on, events wait in memory",
                    files_.log_path(), std::strerror(failing_)));
  failure_told_ = true;
  return false;
}

// A line that comes from no ring. The rings' lines must be out.
bool Drain::write_own(EventId id, Severity severity, Pack& fields) {
  line_.clear();
  if (!lines_.write(line_, next_seq_, id, severity, context::mono_ns(), fields.finish()))
    return false;
  sink_.add(line_);
  ++next_seq_;
  return flush();
}

std::uint64_t Drain::ring_dropped() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < cursors_.size(); ++i) sum += rings_[i].dropped();
  return sum;
}

std::uint64_t Drain::damaged() const {
  std::uint64_t sum = 0;
  for (const RingCursor& cursor : cursors_) sum += cursor.damaged();
  return sum;
}

void Drain::add_losses(Pack& fields) const {
  fields.open("lost", false);
  fields.add_unsigned("ring_full", ring_dropped());
  fields.add_unsigned("size_limit", past_limit_);
  fields.add_unsigned("damaged", damaged());
  fields.add_unsigned("unwritable", unwritable_);
  fields.end();
}

void Drain::report_losses(bool last) {
  const std::uint64_t total = ring_dropped() + past_limit_ + damaged() + unwritable_;
  if (total == reported_ || files_.log_fd() < 0) return;
  const std::uint64_t now = context::mono_ns();
  // A log that is full loses some all the time.
  if (!last && ((full_ && total < 2 * reported_) || now - reported_at_ < kReportEvery)) return;
  Pack fields;
  fields.add_unsigned("dropped", total - reported_);
  fields.add_unsigned("total", total);
  add_losses(fields);
  const diagnosis::Diagnosis lost =
      diagnosis::diagnose(diagnosis::LostEvents{total - reported_, full_ ? limits_.max_bytes : 0});
  fields.add("cause", nccl_net_diag::cause_id(lost.cause));
  fields.add("msg", lost.sentence);
  fields.add("fix", lost.remedy);
  if (!write_own(EventId::kLogDropped, Severity::kWarn, fields)) return;
  reported_ = total;
  reported_at_ = now;
}

bool Drain::write_summary() {
  if (files_.log_fd() < 0 || !limits_.want_summary) return true;
  Pack fields;
  fields.add_unsigned("events", next_seq_);
  fields.add_unsigned("dropped", ring_dropped() + past_limit_ + damaged() + unwritable_);
  add_losses(fields);
  fields.add_unsigned("log_bytes", sink_.total_bytes());
  fields.add_unsigned("dur_us", (context::mono_ns() - started_ns_) / 1000);
  if (const auto status = exit_status())
    fields.add_unsigned("exit_status", static_cast<unsigned>(*status));
  if (catches_sigterm()) fields.add("catches_sigterm", true);
  if (pauses_.longest() != 0) fields.add_unsigned("longest_pause_us", pauses_.longest() / 1000);
  add_causes(fields);
  add_failures(fields);
  add_traffic(fields);
  if (const SummaryPart part = g_summary_part.load()) part(fields);
  return write_own(EventId::kSummary, Severity::kInfo, fields);
}

void Drain::finish() {
  std::uint64_t before = 0;
  bool fine = false;
  do {
    before = next_seq_ + past_limit_ + unwritable_ + damaged();
    fine = pass();
  } while (fine && before != next_seq_ + past_limit_ + unwritable_ + damaged());
  for (RingCursor& cursor : cursors_) cursor.settle();
  if (fine) {
    report_losses(true);
    fine = write_summary();
  }
  all_written_ = fine;
}

// What the black box says of the process besides its events.
void Drain::mirror() {
  const std::uint64_t now = context::mono_ns();
  if (now - mirrored_at_ < kMirrorEvery && !stop_.load(std::memory_order_relaxed)) return;
  pauses_.add(mirrored_at_, now);
  mirrored_at_ = now;
  const std::uint64_t real_ns = context::now_ns(CLOCK_REALTIME);
  if (context::mono_ns() - now < kClockStep) lines_.set_clock(now, real_ns, kClockStep);
  context::raw_clock::calibrate();
  if (!box_.is_open()) return;
  keep_unwritten();
  if (now >= tables_due_ || stop_.load(std::memory_order_relaxed)) mirror_tables(now);
  const context::raw_clock::Reference reference = context::raw_clock::reference();
  box::FileHeader& header = box_.header();
  header.alive_mono_ns = now;
  header.longest_pause_ns = pauses_.longest();
  header.lines_written = next_seq_;
  header.raw_base = reference.raw;
  header.raw_base_mono_ns = reference.mono_ns;
  header.raw_hz = reference.hz;
  box_.flush();
}

// The more there is, the less often: a few thousandths of a core and some hundred kB a second, as
// far as two seconds between two copies go.
void Drain::mirror_tables(std::uint64_t now) {
  const std::uint64_t cpu = context::now_ns(CLOCK_THREAD_CPUTIME_ID), bytes = box_.written();
  mirror_connections(box_);
  mirror_communicators(box_);
  mirror_awaited(box_);
  mirror_latecomer(box_);
  box_.flush();
  const std::uint64_t by_cpu = (context::now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu) * kTablesCpuPart;
  const std::uint64_t by_bytes = (box_.written() - bytes) * (1000 * kMs / kTablesBytesPerSec);
  tables_due_ = now + std::min(std::max(by_cpu, by_bytes), kTablesAtLeastEvery);
}

// For whoever reads after this process was killed.
void Drain::keep_unwritten() noexcept {
  if (!box_.is_open()) return;
  for (std::uint32_t i = 0; i < Box::kRings; ++i) box_.put(i, rings_[i]);
}

}  // namespace nnd::record
