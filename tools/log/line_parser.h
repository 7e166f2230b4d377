// One line of an event log as a typed event.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "log/event.h"

namespace nnd::log {

inline constexpr std::size_t kLongestLine = std::size_t{1} << 20;  // bytes; no event is near it
inline constexpr std::size_t kLinePadding = 64;  // readable bytes that must follow a line

// One thread at a time.
class LineParser {
 public:
  LineParser();
  ~LineParser();
  LineParser(const LineParser&) = delete;
  LineParser& operator=(const LineParser&) = delete;

  // `line` is without its newline, kLongestLine bytes at most; kLinePadding more can be read behind
  // it. False: it is no event of ours, and `event` is no use. Throws std::bad_alloc.
  bool parse(std::string_view line, Event& event);

  // Room for whoever reads lines for it, so that a thousand logs in turn need it once.
  std::string spare;

 private:
  struct Json;
  std::unique_ptr<Json> json_;
};

}  // namespace nnd::log
