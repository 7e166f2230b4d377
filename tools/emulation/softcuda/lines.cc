#include "lines.h"

#include <algorithm>
#include <cstring>

namespace softcuda {
namespace {

constexpr std::size_t kWord = 8;                     // LL: data and flag
constexpr std::size_t kHalf = kWord / 2;             // of which data
constexpr std::size_t kLine = 128, kLineData = 120;  // LL128
constexpr std::size_t kWarpLines = 16;

std::uint64_t load(const char* word) {
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(word), __ATOMIC_ACQUIRE);
}
void store(char* word, std::uint64_t value) {
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(word), value, __ATOMIC_RELEASE);
}

}  // namespace

std::size_t bytes_in_lines(Protocol protocol, std::size_t bytes) {
  if (protocol == Protocol::kLL) return (bytes + kWord - 1) / kWord * 2 * kWord;
  constexpr std::size_t kUnit = kWarpLines * kLineData;
  return (bytes + kUnit - 1) / kUnit * kWarpLines * kLine;
}

void write_lines(Protocol protocol, char* slot, const char* data, std::size_t bytes,
                 std::uint64_t flag) {
  const bool ll = protocol == Protocol::kLL;
  const std::size_t size = ll ? kWord : kLine, room = ll ? kHalf : kLineData;
  const char* const end = slot + bytes_in_lines(protocol, bytes);
  for (std::size_t at = 0; slot < end; slot += size, at += room) {
    const std::size_t count = at < bytes ? std::min(room, bytes - at) : 0;
    if (ll) {
      std::uint32_t half = 0;
      if (count > 0) std::memcpy(&half, data + at, count);
      store(slot, flag << 32 | half);
    } else {
      if (count > 0) std::memcpy(slot, data + at, count);
      store(slot + kLineData, flag);
    }
  }
}

bool read_lines(Protocol protocol, const char* slot, char* data, std::size_t bytes,
                std::uint64_t flag, std::size_t* done) {
  const bool ll = protocol == Protocol::kLL;
  const std::size_t size = ll ? kWord : kLine, room = ll ? kHalf : kLineData;
  for (const char* line = slot + *done / room * size; *done < bytes; line += size) {
    const std::size_t count = std::min(room, bytes - *done);
    if (ll) {
      const std::uint64_t word = load(line);
      if (word >> 32 != (flag & 0xffffffff)) return false;
      const auto half = static_cast<std::uint32_t>(word);
      std::memcpy(data + *done, &half, count);
    } else {
      if (load(line + kLineData) != flag) return false;
      std::memcpy(data + *done, line, count);
    }
    *done += count;
  }
  return true;
}

}  // namespace softcuda
