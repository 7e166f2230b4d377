#include "record/drain.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <new>

#include "context/clock.h"
#include "context/raw_clock.h"
#include "diagnosis/own.h"
#include "record/advice.h"
#include "record/console.h"
#include "record/mirror.h"
#include "record/pack.h"
#include "record/recorder.h"

namespace nnd::record {

namespace {

using nccl_net_diag::EventId;
using nccl_net_diag::Severity;

constexpr std::uint64_t kMs = 1000000;
constexpr std::uint64_t kShortestSleep = 2 * kMs;
constexpr std::uint64_t kLongestSleep = 100 * kMs;
constexpr std::uint64_t kRetrySleep = 250 * kMs;
constexpr std::uint64_t kMirrorEvery = 100 * kMs;
constexpr std::uint64_t kReportEvery = 1000 * kMs;
constexpr std::size_t kBatchBytes = 64 * 1024;
constexpr std::size_t kOwnLines =
    16 * 1024;                            // kept free of the size limit for log.dropped and summary
constexpr std::uint64_t kUrgentPart = 8;  // an eighth of it for warnings and errors
constexpr std::uint64_t kClockStep = kMs;  // a wall clock that is off by more was set

constinit std::atomic<SummaryPart> g_summary_part{nullptr};

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, std::uint64_t ns) noexcept {
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(ns / 1000000000);
  timeout.tv_nsec = static_cast<long>(ns % 1000000000);
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &timeout, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

void set_summary_part(SummaryPart part) noexcept { g_summary_part.store(part); }

Drain::Drain(Box& box, Ring* rings, std::uint32_t count, LineWriter lines, DrainTarget target)
    : box_(box),
      rings_(rings),
      lines_(std::move(lines)),
      target_(std::move(target)),
      sink_(target_.fd, target_.regular),
      started_ns_(context::mono_ns()) {
  for (std::uint32_t i = 0; i < count; ++i) cursors_.emplace_back(rings[i]);
}

void Drain::run() noexcept {
  std::uint64_t idle = kShortestSleep;
  bool was_idle = false;
  while (!stop_.load(std::memory_order_acquire)) {
    awake_.store(0, std::memory_order_seq_cst);
    const std::uint64_t before = next_seq_;
    bool fine = false;
    try {
      fine = pass();
      if (fine) report_losses(false);
    } catch (const std::bad_alloc&) {
      if (flush())  // what was ready; the rest waits for memory
        for (RingCursor& cursor : cursors_) cursor.rewind();
    }
    mirror();
    write_console();
    idle = before != next_seq_ ? kShortestSleep : std::min(2 * idle, kLongestSleep);
    sleep(fine ? idle : kRetrySleep);
    if (idle == kLongestSleep && !was_idle && !stop_.load(std::memory_order_acquire)) {
      was_idle = true;
      target_.when_idle();
    }
  }
  try {
    finish();
  } catch (const std::bad_alloc&) {
    all_written_ = false;
  }
  mirror();
  write_console();
  finished_.store(1, std::memory_order_release);
  futex_wake(finished_);
}

void Drain::sleep(std::uint64_t ns) noexcept {
  if (!stop_.load(std::memory_order_acquire)) futex_wait(awake_, 0, ns);
}

void Drain::wake() noexcept {
  if (awake_.exchange(1, std::memory_order_seq_cst) == 0) futex_wake(awake_);
}

void Drain::request_stop() noexcept {
  stop_.store(true, std::memory_order_release);
  awake_.store(1, std::memory_order_seq_cst);
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
    if (sink_.waiting_bytes() >= kBatchBytes && !flush()) return false;
  }
  if (!flush()) return false;
  for (RingCursor& cursor : cursors_) cursor.commit(cursor.mark());
  return true;
}

void Drain::write_record(RingCursor& cursor) {
  const box::RecordHeader& header = cursor.header();
  std::uint64_t* lost = nullptr;
  line_.clear();
  const auto severity = static_cast<Severity>(header.severity);
  if (severity == Severity::kInfo ? full_ : urgent_full_) {
    lost = &past_limit_;
  } else if (target_.fd < 0) {
    line_ = "{}";  // nobody reads it
  } else if (!lines_.write(line_, next_seq_, static_cast<EventId>(header.event), severity,
                           header.mono_ns, cursor.payload())) {
    lost = &unwritable_;
  } else if (!fits(severity)) {
    (severity == Severity::kInfo ? full_ : urgent_full_) = true;
    lost = &past_limit_;
  }
  if (commits_.size() == commits_.capacity()) commits_.reserve(2 * commits_.size() + 64);
  if (lost == nullptr) hand_to_sink();
  cursor.next();
  commits_.push_back({&cursor, cursor.mark(), lost});
}

// Whether the line may become part of the log.
bool Drain::fits(Severity severity) const {
  const std::uint64_t kept =
      severity == Severity::kInfo
          ? std::max<std::uint64_t>(target_.max_bytes / kUrgentPart, kOwnLines)
          : kOwnLines;
  return sink_.total_bytes() + sink_.waiting_bytes() + line_.size() + kept <= target_.max_bytes;
}

void Drain::hand_to_sink() {
  sink_.add(line_);
  ++next_seq_;
}

// Writes the waiting lines and gives their bytes back to the rings. When only some got out, the
// cursors go back behind those.
bool Drain::flush() {
  const std::size_t waiting = sink_.waiting_lines();
  sink_.flush();
  std::size_t out = sink_.lines_out();
  next_seq_ -= waiting - out;
  for (const Commit& commit : commits_) {
    if (commit.lost == nullptr && out-- == 0) break;
    if (commit.lost != nullptr) ++*commit.lost;
    commit.cursor->commit(commit.mark);
  }
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
                    target_.path, std::strerror(failing_)));
  failure_told_ = true;
  return false;
}

// A line that comes from no ring. The rings' lines must be out.
bool Drain::write_own(EventId id, Severity severity, Pack& fields) {
  line_.clear();
  if (!lines_.write(line_, next_seq_, id, severity, context::mono_ns(), fields.finish()))
    return false;
  hand_to_sink();
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
  if (total == reported_ || target_.fd < 0) return;
  const std::uint64_t now = context::mono_ns();
  if (!last && (limit_told_ || now - reported_at_ < kReportEvery)) return;
  Pack fields;
  fields.add_unsigned("dropped", total - reported_);
  fields.add_unsigned("total", total);
  add_losses(fields);
  const diagnosis::Diagnosis lost =
      diagnosis::diagnose(diagnosis::LostEvents{total - reported_, full_ ? target_.max_bytes : 0});
  fields.add("cause", nccl_net_diag::cause_id(lost.cause));
  fields.add("msg", lost.sentence);
  fields.add("fix", lost.remedy);
  if (!write_own(EventId::kLogDropped, Severity::kWarn, fields)) return;
  reported_ = total;
  reported_at_ = now;
  limit_told_ = full_;
}

bool Drain::write_summary() {
  if (target_.fd < 0 || !target_.want_summary) return true;
  Pack fields;
  fields.add_unsigned("events", next_seq_);
  fields.add_unsigned("dropped", ring_dropped() + past_limit_ + damaged() + unwritable_);
  add_losses(fields);
  fields.add_unsigned("log_bytes", sink_.total_bytes());
  fields.add_unsigned("dur_us", (context::mono_ns() - started_ns_) / 1000);
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
  mirrored_at_ = now;
  const std::uint64_t real_ns = context::now_ns(CLOCK_REALTIME);
  if (context::mono_ns() - now < kClockStep) lines_.set_clock(now, real_ns, kClockStep);
  context::raw_clock::calibrate();
  if (!box_.file_backed()) return;
  mirror_connections(box_);
  mirror_communicators(box_);
  const context::raw_clock::Reference reference = context::raw_clock::reference();
  box::FileHeader& header = box_.header();
  header.alive_mono_ns = now;
  header.lines_written = next_seq_;
  header.raw_base = reference.raw;
  header.raw_base_mono_ns = reference.mono_ns;
  header.raw_hz = reference.hz;
}

}  // namespace nnd::record
