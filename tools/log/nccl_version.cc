#include "log/nccl_version.h"

#include <array>
#include <charconv>

namespace nnd::log {

int version_code(const std::string& text) {
  std::array<int, 3> parts{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0 && (at == end || *at++ != '.')) return 0;
    const auto parsed = std::from_chars(at, end, parts[i]);
    if (parsed.ec != std::errc() || parts[i] < 0 || parts[i] > 99) return 0;
    at = parsed.ptr;
  }
  return at == end ? parts[0] * 10000 + parts[1] * 100 + parts[2] : 0;
}

}  // namespace nnd::log
