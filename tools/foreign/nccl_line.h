// One line of NCCL's own (NCCL_DEBUG), whatever stands before it: a launcher's prefix, a time, a
// colour, another line that was cut off.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "foreign/fact.h"

namespace nnd::foreign {

struct NcclLine {
  enum class Level : std::uint8_t { kInfo, kWarn } level = Level::kInfo;
  Writer writer;
  std::int64_t at_sec = 0;
  std::string_view place;  // "transport/nvls.cc:244", where it is told
  std::string_view text;
  bool cut = false;  // another line begins where this one should go on
};

// Each that begins in this line of a file, in order. `text` points into `line`, or into what
// without_colours() gave.
void for_each_nccl_line(std::string_view line, const std::function<void(const NcclLine&)>& sink);

// "2026-11-24 08:30:00", or with a T or an underscore, as if it were UTC; 0: there is none.
std::int64_t time_in(std::string_view text);

// Without the sequences that colour a terminal.
std::string without_colours(std::string_view line);

}  // namespace nnd::foreign
