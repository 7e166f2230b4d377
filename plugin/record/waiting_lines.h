// Lines that wait to be written in one go. For one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nnd::record {

struct WaitingLines {
  std::string text;
  std::vector<std::size_t> ends;  // of the lines in text

  // A line without its end. When it throws (bad_alloc), the line is not in.
  void add(std::string_view line) {
    if (ends.size() == ends.capacity()) ends.reserve(2 * ends.size() + 64);
    if (text.capacity() - text.size() <= line.size())
      text.reserve(2 * text.size() + line.size() + 1);
    text.append(line).push_back('\n');  // has room: a line is in with its end or not at all
    ends.push_back(text.size());
  }
  void clear() noexcept {
    text.clear();
    ends.clear();
  }
};

}  // namespace nnd::record
