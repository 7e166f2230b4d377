#include "cli/common/size.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"

namespace nnd::cli {

std::size_t parse_size(const std::string& text) {
  constexpr std::size_t kMost = std::size_t{4} << 30;
  std::size_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (error != std::errc{} || shift < 0 || value > (kMost >> shift) ||
      (value << shift) < sizeof(float))
    throw CallError(
        kWrongCall, "size",
        fmt::format("\"{}\" is no size from 4 bytes to 4G, such as 65536, 64K or 4M", text), text);
  return value << shift;
}

}  // namespace nnd::cli
