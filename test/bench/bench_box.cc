// What the black box costs a process of many connections: prints JSON, for 40,000 of which 2 move
// and for 2,000 that all do, microseconds of CPU and bytes of one copy of the table, and what that
// comes to a second at the pace of the drain.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "context/clock.h"
#include "record/box.h"
#include "record/mirror.h"
#include "state/connections.h"

namespace {

using namespace nnd;

// As record/drain.cc paces it.
constexpr double kCpuPart = 400, kBytesPerSec = 500'000, kLongestSec = 2, kShortestSec = 0.1;

void measure(record::Box& box, const std::vector<state::Connection*>& moving, std::size_t all,
             const char* end) {
  constexpr int kTimes = 50;
  std::vector<double> us;
  std::uint64_t bytes = 0;
  for (int i = 0; i < kTimes + 3; ++i) {
    for (state::Connection* const c : moving) c->count_post(1), c->count_done(1, 2, 1);
    const std::uint64_t cpu = context::now_ns(CLOCK_THREAD_CPUTIME_ID), before = box.written();
    record::mirror_connections(box);
    box.flush();
    if (i < 3) continue;
    us.push_back(static_cast<double>(context::now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu) / 1000);
    bytes += box.written() - before;
  }
  std::sort(us.begin(), us.end());
  const double one_us = us[us.size() / 2], one = static_cast<double>(bytes) / kTimes;
  const double every =
      std::clamp(std::max(one_us / 1e6 * kCpuPart, one / kBytesPerSec), kShortestSec, kLongestSec);
  std::printf(
      "{\"connections\": %zu, \"moving\": %zu, \"copy_us\": %.0f, \"copy_bytes\": %.0f, "
      "\"bytes_per_sec\": %.0f, \"core_percent\": %.2f}%s\n",
      all, moving.size(), one_us, one, one / every, one_us / 1e4 / every, end);
}

}  // namespace

int main() {
  const std::string path = "bench_box." + std::to_string(::getpid());
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ::unlink(path.c_str());
  record::Box box;
  if (fd < 0 || box.open(fd) != 0) return 1;
  std::vector<state::Connection*> all;
  const auto grow = [&](std::size_t many) {
    while (all.size() < many) {
      all.push_back(state::open_connection(state::ConnectionKind::kSend, 11, {}, nullptr));
      state::hand_out(*all.back(), all.back());
    }
  };
  std::printf("[");
  grow(2000);
  measure(box, all, all.size(), ",");
  grow(40'000);
  measure(box, {all[7], all[39'000]}, all.size(), "]");
}
