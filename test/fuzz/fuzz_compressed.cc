// Logs come compressed, from anywhere: whatever the bytes say, they become no more than so many
// times as many, and a damaged end loses what follows it and nothing else.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "log/reader.h"

namespace {

constexpr std::uint64_t kAnyway = std::uint64_t{32} << 20, kMostTimes = 200, kPiece = 65536;

std::uint64_t unpacked(const std::string& path) {
  std::vector<char> piece(kPiece);
  std::uint64_t all = 0;
  try {
    const auto source = nnd::log::open_source(path);
    for (;;) {
      const std::size_t some = source->read(piece.data(), piece.size());
      if (some == 0) return all;
      if (some > piece.size()) __builtin_trap();
      all += some;
    }
  } catch (const nnd::log::ReadError&) {
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = memfd_create("compressed", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  static nnd::log::LineParser parser;
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
    __builtin_trap();
  if (unpacked(path) > kAnyway + kMostTimes * (size + kPiece) + kPiece) __builtin_trap();
  try {
    nnd::log::LogFile log(path);
    log.read(parser, [](const nnd::log::Event&) {});
  } catch (const nnd::log::ReadError&) {
  }
  return 0;
}
