// What happens around a job in weeks: the wall clock is set, the log's file system hangs, is full,
// its directory is away for a while. No call of NCCL's waits for that, no event is lost, and the
// processes hold no more afterwards.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

#include "carry.h"
#include "held.h"
#include "integration/harness.h"
#include "slow_disk.h"
#include "support/event_log.h"
#include "support/own_mounts.h"
#include "support/skip.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr long kDay = 24 * 3600;
constexpr long kConnections = 50;  // each time: what waits meanwhile has room in memory
constexpr int kTimes = 9;

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

template <class F>
void await(const std::string& what, F&& f) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(150);
  while (std::chrono::steady_clock::now() < until) {
    if (f()) return;
    std::this_thread::sleep_for(milliseconds(10));
  }
  throw std::runtime_error("in vain: " + what);
}

class Weeks {
 public:
  explicit Weeks(const fs::path& saved)
      : saved_(saved),
        job_(two_hosts(), 2,
             {{"LD_PRELOAD", NND_SET_CLOCK},
              {"SOAK_CLOCK", saved / "clock"},
              {"NCCL_IB_GID_INDEX", "3"},
              {"NCCL_NET_DIAG_FILE", disk_place() / "logs" / "%h.jsonl"}}),
        disk_(make(disk_place()), "64m") {}

  void live() {
    fs::create_directory(disk_.store() / "logs");
    set_clock(kDay);  // since the kernel's own is a day behind, no wait may be until a time of day
    job_->setup(shim());
    carry();
    await("a port that gets worse", [this] { return worse_port_is_told(); });
    troubles(0);
    const auto before = soak::held_by(*job_);  // what waits for a disk has had its room
    troubles(-kDay);
    require(soak::hold_no_more(*job_, before), "a rank holds more than before");
    end();
  }

 private:
  static fs::path make(const fs::path& place) {
    fs::create_directory(place);
    return place;
  }
  fs::path disk_place() const { return saved_ / "disk"; }
  fs::path log(const char* node) const {
    return disk_.store() / "logs" / (std::string(node) + ".jsonl");
  }
  std::array<std::uintmax_t, 2> sizes() const {
    return {fs::file_size(log("node0")), fs::file_size(log("node1"))};
  }
  bool logged(const std::string& text) const {
    std::ifstream in(log("node0"));
    return std::string(std::istreambuf_iterator<char>(in), {}).find(text) != std::string::npos;
  }

  void carry() { soak::carry(job_, kConnections); }

  void set_clock(long seconds) {
    std::ofstream(saved_ / "clock.new") << seconds;
    fs::rename(saved_ / "clock.new", saved_ / "clock");
  }

  bool worse_port_is_told() {
    symbol_errors_ += 10;
    for (const auto& file : fs::recursive_directory_iterator(job_.dir() / "fabric"))
      if (file.path().string().ends_with("mlx5_0/ports/1/counters/symbol_error")) {
        std::ofstream(file.path().string() + ".new") << symbol_errors_;
        fs::rename(file.path().string() + ".new", file.path());
      }
    return logged(R"("event":"counters")");
  }

  void troubles(long clock) {
    set_clock(clock);
    carry();
    hang();
    fill();
    directory_away();
    wait_for_logs();
  }

  void hang() {
    disk_.hang();
    const auto before = sizes();
    carry();
    require(sizes() == before, "the disk that hangs was written to");
    disk_.go_on();
    wait_for_logs();
  }

  void fill() {
    wait_for_logs();
    disk_.fill();
    const auto before = sizes();
    carry();
    for (std::size_t rank = 0; rank < 2; ++rank)  // the rest of a page
      require(sizes()[rank] < before[rank] + 4096, "the full disk was written to");
    disk_.make_room();
    wait_for_logs();
  }

  void directory_away() {
    fs::rename(disk_.store() / "logs", disk_.store() / "elsewhere");
    carry();
    fs::rename(disk_.store() / "elsewhere", disk_.store() / "logs");
  }

  // All that was said so far is in them: nothing was for a while.
  void wait_for_logs() {
    auto last = sizes();
    int quiet = 0;
    await("the logs come to rest", [&] {
      const auto now = sizes();
      quiet = now == last ? quiet + 1 : 0;
      last = now;
      return quiet == 100;
    });
  }

  void end() {
    job_->finish();
    job_->exit();
    fs::copy(disk_.store() / "logs", saved_ / "logs");
  }

  fs::path saved_;
  long symbol_errors_ = 0;
  EmulatedJob job_;
  soak::SlowDisk disk_;
};

std::time_t wall_time(const json& event) {
  std::tm time{};
  const std::string text = event["ts"];
  REQUIRE(::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &time) != nullptr);
  return ::timegm(&time);
}

}  // namespace

TEST_CASE("the clock is set, the log's disk hangs, is full, and its directory is away") {
  if (const std::string problem = soak::no_slow_disk(); !problem.empty()) NND_SKIP(problem);
  const ScratchDir saved;
  if (!test::in_own_mounts([&] { Weeks(saved.path()).live(); })) return;
  check_logs(saved / "logs");
  for (const char* node : {"node0", "node1"}) {
    INFO(node);
    const auto events = test::read_log(saved.path() / "logs" / (std::string(node) + ".jsonl"));
    check_lives(events, kTimes * kConnections);
    const auto summary = of_kind(events, "summary");
    REQUIRE(summary.size() == 1);
    CHECK(summary[0]["dropped"] == 0);
    CHECK(of_severity(events, "error").empty());
    const auto warned = of_severity(events, "warn");
    REQUIRE(warned.size() == 1);
    CHECK(warned[0]["event"] == "counters");
    CHECK(warned[0]["dev"]["name"] == "mlx5_0");
    const auto back = wall_time(of_kind(events, "conn.open").front()) - wall_time(summary[0]);
    CHECK(std::abs(back - 2 * kDay) < 3600);
  }
}
