// Where lines of healthy connections go when the log has its part of them: two files beside it that
// take turns. When one is full the older one is emptied, so that the last ones are always there.
// For the drain's thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "record/waiting_lines.h"

namespace nnd::record {

class Files;

class Tail {
 public:
  // A file's size at most; 0: there is no such place, and no line fits.
  explicit Tail(std::uint64_t half_bytes = 0) : half_bytes_(half_bytes) {}

  bool fits(std::size_t line) const { return line < half_bytes_; }
  // A line without its end. When it throws (bad_alloc), the line is not in.
  void add(std::string_view line) { waiting_.add(line); }
  std::size_t waiting_bytes() const { return waiting_.text.size(); }
  std::size_t waiting_lines() const { return waiting_.ends.size(); }
  // Writes the first `count` of the waiting lines, which are dropped whatever comes of them. How
  // many lines are nowhere now: others that made room for them, and what could not be written.
  std::uint64_t flush(Files& files, std::size_t count) noexcept;

 private:
  struct Half {
    int fd = -1;
    bool tried = false;
    std::uint64_t bytes = 0;
    std::uint64_t lines = 0;
  };

  // Empties the older half and goes on in it. How many lines that had.
  std::uint64_t turn(Files& files) noexcept;
  // False: the lines are not in.
  bool write(Half& half, const char* from, std::size_t size) noexcept;

  std::uint64_t half_bytes_;
  std::array<Half, 2> halves_;
  std::size_t current_ = 1;  // the first line turns to the first
  WaitingLines waiting_;
};

}  // namespace nnd::record
