// The watch's own threads: names, signals, forks, and an exit that waits for no driver.
#include "watch/thread.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "context/clock.h"
#include "facts/counters.h"
#include "record/recorder.h"
#include "scene.h"
#include "support/forked.h"
#include "support/sanitizers.h"
#include "support/temp_dir.h"

using namespace nnd::watch::test;
namespace fs = std::filesystem;

namespace {

std::string text(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Names of this process's threads of the watch that take no signal.
std::set<std::string> quiet_threads() {
  std::set<std::string> names;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    std::string name = text(task.path() / "comm");
    const std::string status = text(task.path() / "status");
    const std::size_t at = status.find("SigBlk:");
    if (name.empty() || at == std::string::npos) continue;
    name.pop_back();
    const auto blocked = std::stoull(status.substr(at + 7), nullptr, 16);
    bool quiet = name == "nnd-watch" || name == "nnd-counters";
    for (const int signal : {SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGALRM})
      quiet = quiet && (blocked >> (signal - 1) & 1) == 1;
    if (quiet) names.insert(name);
  }
  return names;
}

nnd::config::Settings settings_in(const nnd::test::TempDir& dir) {
  nnd::config::Settings settings;
  settings.file = dir / "log.jsonl";
  settings.blackbox = "off";
  settings.connect_sec = settings.stall_sec = 0.05;
  settings.sysfs = dir.path();
  return settings;
}

template <class F>
bool comes_true(F&& f) {
  const std::uint64_t until = nnd::context::mono_ns() + 50 * kSec;
  while (!f() && nnd::context::mono_ns() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return f();
}

}  // namespace

TEST_CASE("the watch's threads have names and take no signals, and a forked child has its own") {
  const nnd::test::TempDir dir;
  const nnd::config::Settings settings = settings_in(dir);
  const std::set<std::string> both{"nnd-counters", "nnd-watch"};
  CHECK(nnd::test::holds_in_child([&] {
    nnd::record::start(settings);
    nnd::watch::start(settings);
    nnd::watch::start(settings);  // there already
    if (!comes_true([&] { return quiet_threads() == both; })) return false;
    // ThreadSanitizer lets no forked child of several threads have new ones.
    const bool child = nnd::test::kThreadSanitizer || nnd::test::holds_in_child([&] {
                         if (!quiet_threads().empty()) return false;
                         nnd::record::start(settings);
                         nnd::watch::start(settings);
                         return comes_true([&] { return quiet_threads() == both; });
                       });
    nnd::record::stop();
    return child;
  }));
}

TEST_CASE("a library that is turned off has no threads") {
  const nnd::test::TempDir dir;
  nnd::config::Settings settings = settings_in(dir);
  settings.disable = true;
  CHECK(nnd::test::holds_in_child([&] {
    nnd::watch::start(settings);
    return quiet_threads().empty();
  }));
}

TEST_CASE("the threads look by themselves, and the summary has what the ports counted last") {
  const nnd::test::TempDir dir;
  const nnd::config::Settings settings = settings_in(dir);
  const fs::path counters = dir / "class/infiniband/mlx5_0/ports/1/hw_counters";
  fs::create_directories(counters);
  std::ofstream(counters / "packet_seq_err") << "5\n";
  REQUIRE(nnd::test::holds_in_child([&] {
    nnd::record::start(settings);
    nnd::watch::start(settings);
    nnd::facts::count_port("mlx5_0", 1);
    Comm connect(ConnectionKind::kSend);
    const bool told = comes_true([&] {
      connect.poll();
      const auto events = nnd::test::read_log(settings.file);
      return !nnd::test::only(events, "conn.stall").empty();
    });
    // The first sample was taken by now, or is before the summary's.
    const bool read = comes_true([] { return nnd::facts::take_needs().empty(); }) &&
                      comes_true([] { return !nnd::facts::counters_being_read(); });
    nnd::record::stop();
    return told && read;
  }));
  const auto events = nnd::test::read_log(settings.file);
  CHECK(nnd::test::only(events, "conn.stall").at(0)["cause"] == "HANG-CONNECT");
  const json summary = events.back();
  REQUIRE(summary["ev"] == "summary");
  CHECK(summary["counters"].at(0)["name"] == "mlx5_0");
  CHECK(summary["network"]["verdict"] == "healthy");
  CHECK(summary["stalls"].at(0)["kind"] == "not-accepted");
}
