// What the watch's threads need of a processor, for a process of 256 connections on 16 ports of 90
// counters each: prints JSON, microseconds of CPU per look and per sample, and the share of a core
// that this comes to.
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "context/clock.h"
#include "facts/counters.h"
#include "state/connections.h"
#include "watch/ports.h"
#include "watch/watch.h"

namespace {

namespace fs = std::filesystem;
using namespace nnd;

constexpr int kConnections = 256;
constexpr int kPorts = 16;
constexpr int kCounters = 90;
constexpr double kLookEverySec = 1;  // with the default ages
constexpr double kSampleEverySec = 30;

template <class F>
double cpu_us(int times, F&& f) {
  const std::uint64_t begin = context::now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < times; ++i) f();
  return static_cast<double>(context::now_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / 1000 / times;
}

fs::path make_sysfs() {
  const fs::path root = fs::temp_directory_path() / ("bench_watch." + std::to_string(::getpid()));
  for (int port = 0; port < kPorts; ++port) {
    const fs::path dir =
        root / ("class/infiniband/mlx5_" + std::to_string(port) + "/ports/1/hw_counters");
    fs::create_directories(dir);
    for (int i = 0; i < kCounters; ++i)
      std::ofstream(dir / ("counter_err_" + std::to_string(i))) << i << '\n';
  }
  return root;
}

}  // namespace

int main() {
  const fs::path sysfs = make_sysfs();
  facts::watch_counters(sysfs);
  for (int port = 0; port < kPorts; ++port) facts::count_port("mlx5_" + std::to_string(port), 1);
  std::vector<state::Connection*> connections;
  for (int i = 0; i < kConnections; ++i) {
    connections.push_back(state::open_connection(
        i % 2 == 0 ? state::ConnectionKind::kSend : state::ConnectionKind::kRecv, 11, {}, nullptr));
    state::hand_out(*connections.back(), connections.back());
  }
  watch::Watch watch({});
  watch::Ports ports(27'000'000'000);
  std::uint64_t now = context::mono_ns();
  const double look = cpu_us(2000, [&] {
    for (state::Connection* const c : connections)
      state::add(c->completed, 1), state::add(c->started, 1);
    watch.look(now += 1'000'000'000);
    watch.tell();
  });
  const double sample = cpu_us(50, [&] { ports.look(); });
  fs::remove_all(sysfs);
  std::printf("{\"look_us\": %.1f, \"sample_us\": %.1f, \"core_percent\": %.4f}\n", look, sample,
              (look / kLookEverySec + sample / kSampleEverySec) / 1e4);
}
