#include "resources.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace nnd::soak {

namespace {

namespace fs = std::filesystem;

std::size_t entries(const fs::path& dir) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(dir), fs::directory_iterator()));
}

std::size_t number(const fs::path& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key)) return std::stoul(line.substr(key.size()));
  return 0;
}

std::size_t lines(const fs::path& file) {
  std::ifstream in(file);
  return static_cast<std::size_t>(
      std::count(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>(), '\n'));
}

}  // namespace

bool Resources::holds_no_more_than(const Resources& before) const {
  constexpr std::size_t kArenas = 16, kArenaKib = 4096;
  return descriptors <= before.descriptors && threads <= before.threads &&
         mappings <= before.mappings + kArenas &&
         memory_kib <= before.memory_kib + before.memory_kib / 10 + kArenaKib;
}

std::string table(std::size_t rank, const Resources& before, const Resources& after) {
  std::string out;
  for (const auto& [when, held] : {std::pair{"at first", before}, std::pair{"at last", after}})
    out +=
        fmt::format("rank {}, {:<8} {:>7} KiB, {:>3} descriptors, {:>2} threads, {:>3} mappings\n",
                    rank, when, held.memory_kib, held.descriptors, held.threads, held.mappings);
  return out;
}

namespace {

Resources resources_of(pid_t process) {
  const fs::path proc = fs::path("/proc") / std::to_string(process);
  return {number(proc / "smaps_rollup", "Private_Dirty:"), entries(proc / "fd"),
          entries(proc / "task"), lines(proc / "maps")};
}

constexpr std::chrono::milliseconds kPause{50};

}  // namespace

Resources least_of(pid_t process) {
  Resources least = resources_of(process);
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(kPause);
    if (const Resources now = resources_of(process); now.descriptors <= least.descriptors)
      least = now;
  }
  return least;
}

Resources settled(pid_t process, const Resources& before) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (;;) {
    const Resources now = resources_of(process);
    if (now.holds_no_more_than(before) || std::chrono::steady_clock::now() > until) return now;
    std::this_thread::sleep_for(kPause);
  }
}

Io operator+(const Io& a, const Io& b) {
  return {a.reads + b.reads, a.writes + b.writes, a.bytes_read + b.bytes_read,
          a.bytes_written + b.bytes_written, a.cpu + b.cpu};
}

Io operator/(const Io& a, double by) {
  return {a.reads / by, a.writes / by, a.bytes_read / by, a.bytes_written / by, a.cpu / by};
}

Io operator-(const Io& a, const Io& b) { return a + b / -1; }

Io io_of(pid_t process) {
  const fs::path io = fs::path("/proc") / std::to_string(process) / "io";
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0)
    throw std::runtime_error("no process " + std::to_string(process));
  const auto figure = [&io](const char* key) { return static_cast<double>(number(io, key)); };
  return {figure("syscr:"), figure("syscw:"), figure("rchar:"), figure("wchar:"),
          static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9};
}

}  // namespace nnd::soak
