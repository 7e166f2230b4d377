// The drain: one thread that opens the files, takes records out of the rings, merges them by time,
// gives each its number and writes it to the log; what can't be written goes to the black box.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "record/box.h"
#include "record/files.h"
#include "record/line.h"
#include "record/pauses.h"
#include "record/ring.h"
#include "record/sink.h"
#include "record/tail.h"

namespace nnd::record {

class Pack;

struct DrainLimits {
  std::uint64_t max_bytes = 0;
  bool want_summary = true;
};

class Drain {
 public:
  // `files` are prepared and not open; they and the rings, Box::kRings of them, stay the caller's.
  Drain(Files& files, Ring* rings, DrainLimits limits);

  // Of an own thread, where there is one: opens the log, which a file system may take its time for,
  // and then the black box.
  void open() noexcept;
  // Whether the log is open, or known not to be, within that time.
  bool wait_opened(std::uint64_t patience_ns) noexcept;
  bool opened() const noexcept { return opened_.load(std::memory_order_acquire) != 0; }
  // The thread's body after open(): returns after request_stop(), with everything written.
  void run() noexcept;
  // There is something to write: soon, or at once. nudge() is a load where it is awake.
  void nudge() noexcept;
  void wake() noexcept;
  void request_stop() noexcept;
  // Whether what the rings hold now was taken out of them within that time.
  bool settle(std::uint64_t patience_ns) noexcept;
  // Waits for the end of run(); false when nothing has moved for that long.
  bool wait_finished(std::uint64_t patience_ns) noexcept;
  // After the end: every event that was taken is in the log or was thrown away on purpose.
  bool all_written() const noexcept { return all_written_; }

 private:
  enum class To : std::uint8_t { kLog, kTail, kNowhere };
  // What to do once a line is out: give the ring its bytes back, or, for a record that made no
  // line, count it.
  struct Commit {
    RingCursor* cursor;
    RingCursor::Mark mark;
    To to;
    std::uint64_t* lost;  // of kNowhere
  };

  bool pass();
  RingCursor* earliest();
  void write_record(RingCursor& cursor);
  To place_of_line(bool routine);
  bool flush();
  bool write_own(nccl_net_diag::EventId id, nccl_net_diag::Severity severity, Pack& fields);
  void report_losses(bool last);
  bool write_summary();
  void finish();
  void mirror();
  void mirror_tables(std::uint64_t now);
  void keep_unwritten() noexcept;
  void rest(bool fine, std::uint64_t idle) noexcept;
  bool has_news() const noexcept;
  std::uint64_t ring_dropped() const;
  std::uint64_t damaged() const;
  void add_losses(Pack& fields) const;

  Files& files_;
  Box box_;
  Ring* rings_;
  std::vector<RingCursor> cursors_;
  DrainLimits limits_;
  LineWriter lines_;
  LineSink sink_;
  Tail tail_;
  std::vector<Commit> commits_;
  std::string line_;
  std::uint64_t next_seq_ = 0;
  std::uint64_t past_limit_ = 0;  // thrown away because the log has its full size, at once or later
  std::uint64_t unwritable_ = 0;  // no valid map, or no memory for the line
  std::uint64_t reported_ = 0;    // losses that a log.dropped told
  std::uint64_t reported_at_ = 0;  // when, CLOCK_MONOTONIC ns
  std::uint64_t mirrored_at_ = 0;
  Pauses pauses_;
  std::uint64_t tables_due_ = 0;  // CLOCK_MONOTONIC ns: not before
  std::uint64_t started_ns_;
  bool full_ = false;     // the log itself has no room for lines of healthy connections
  bool crowded_ = false;  // nor for others, which have the tail then
  int failing_ = 0;       // errno of the last write, 0: it went well
  bool failure_told_ = false;
  bool all_written_ = false;
  std::atomic<std::uint64_t> batches_{0};  // written: shows that there is progress
  std::atomic<std::uint32_t> opened_{0};
  std::atomic<std::uint32_t> passes_{0};
  std::atomic<std::uint32_t> awake_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint32_t> finished_{0};
};

}  // namespace nnd::record
