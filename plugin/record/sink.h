// The end of the log: collects lines and writes them in one go to a file descriptor that was
// created safely (safe_file.h). When a write fails half way it tells how many whole lines are out
// and takes the broken piece back. For one thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "record/waiting_lines.h"

namespace nnd::record {

class LineSink {
 public:
  // Does not own the descriptor; -1: lines are thrown away. `regular`: a file that can be cut.
  LineSink() = default;
  LineSink(int fd, bool regular) : fd_(fd), regular_(regular) {}

  // A line without its end. When it throws (bad_alloc), the line is not in.
  void add(std::string_view line) { waiting_.add(line); }
  void flush();

  std::size_t waiting_bytes() const { return waiting_.text.size(); }
  std::size_t waiting_lines() const { return waiting_.ends.size(); }
  // After flush(): whole lines written by it, and the errno that stopped it (0: none).
  std::size_t lines_out() const { return lines_out_; }
  int error() const { return error_; }
  std::uint64_t total_bytes() const { return total_; }

 private:
  void take_back_broken_line(std::size_t whole, std::size_t written);

  int fd_ = -1;
  bool regular_ = false;
  bool broken_line_ = false;  // the last thing in a stream is half a line
  WaitingLines waiting_;
  std::size_t lines_out_ = 0;
  int error_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace nnd::record
