// Logs of processes that no look has seen, and those that are none.
#include "cli/exporter/left_logs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "cli/exporter/failures.h"
#include "support/catch.h"
#include "support/forked.h"
#include "support/temp_dir.h"

namespace nnd::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSec = 1'000'000'000;

// Of a process that has ended.
int ended_pid() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSec + static_cast<std::uint64_t>(now.tv_nsec);
}

class Node {
 public:
  Node() { fs::create_directory(usual()); }

  fs::path usual(uid_t user = ::getuid()) const {
    return dir_.path() / ("nccl-net-diag-" + std::to_string(user));
  }
  fs::path log(const fs::path& file, int pid, const std::string& job = "4711") const {
    const auto event = [&](const char* name, const char* severity, const std::string& more) {
      return R"({"v":1,"seq":0,"ts":"2026-03-01T14:02:11.000000Z","ev":")" + std::string(name) +
             R"(","sev":")" + severity + R"(","proc":"0x1","host":"node0","pid":)" +
             std::to_string(pid) + more + "}\n";
    };
    std::ofstream(file, std::ios::app)
        << event("plugin.load", "info",
                 R"(,"launch":{"launcher":"slurm","job":")" + job + R"(","rank":3})")
        << event("conn.fail", "error",
                 R"(,"cause":"DEV-DOWN","failure":1,"dev":{"name":"mlx5_0","port":1})");
    return file;
  }
  std::vector<fs::path> look(const std::set<FileId>& watched = {}) {
    return logs_.next(watched, now_ns());
  }

  using Paths = std::vector<fs::path>;

 private:
  test::TempDir dir_;
  LeftLogs logs_{dir_.path()};
};

FileId id_of(const fs::path& file) {
  struct stat about {};
  REQUIRE(stat(file.c_str(), &about) == 0);
  return {about.st_dev, about.st_ino};
}

}  // namespace

TEST_CASE("the log of a process that no look has seen is found once it is gone", "[exporter]") {
  Node node;
  CHECK(node.look().empty());
  const int pid = ended_pid();
  const auto left = node.log(node.usual() / "a.jsonl", pid);
  CHECK(node.look() == Node::Paths{left});
  CHECK(node.look().empty());

  Failures failures;
  failures.read_left({left}, 1);
  const auto families = failures.families();
  REQUIRE(families[0].samples.size() == 1);
  const Sample& sample = families[0].samples[0];
  CHECK(sample.value == 1);
  using Label = std::pair<std::string, std::string>;
  for (const Label& label : {Label("hpc_job", "4711"), Label("rank", "3"),
                             Label("cause", "DEV-DOWN"), Label("device", "mlx5_0")})
    CHECK(std::count(sample.labels.begin(), sample.labels.end(), label) == 1);
}

TEST_CASE("who lives is waited for, and who is watched is not taken twice", "[exporter]") {
  Node node;
  CHECK(node.look().empty());
  int go[2] = {};
  REQUIRE(pipe(go) == 0);
  const pid_t child = fork();
  if (child == 0) {
    char end = 0;
    _exit(read(go[0], &end, 1) == 1 ? 0 : 1);
  }
  const auto living = node.log(node.usual() / "living.jsonl", child);
  const auto seen = node.log(node.usual() / "seen.jsonl", ended_pid());
  const std::set<FileId> watched{id_of(seen)};
  CHECK(node.look(watched).empty());
  REQUIRE(write(go[1], "", 1) == 1);
  waitpid(child, nullptr, 0);
  CHECK(node.look(watched) == Node::Paths{living});
  for (const int fd : go) close(fd);
}

TEST_CASE("however many are left, few are read at a time, and not many kinds are counted",
          "[exporter]") {
  Node node;
  CHECK(node.look().empty());
  const int pid = ended_pid();
  constexpr std::size_t kMany = 2000;
  for (std::size_t i = 0; i < kMany; ++i)
    node.log(node.usual() / (std::to_string(i) + ".jsonl"), pid, std::to_string(i));
  Failures failures;
  std::size_t found = 0;
  for (std::size_t i = 0; i <= kMany / LeftLogs::kMostAtOnce; ++i) {
    const auto left = node.look();
    CHECK(left.size() <= LeftLogs::kMostAtOnce);
    found += left.size();
    failures.read_left(left, 1);
  }
  CHECK(found == kMany);
  const auto families = failures.families();
  CHECK(families[0].samples.size() > 900);
  CHECK(families[0].samples.size() <= 1024);
}

TEST_CASE("what is older, another user's, a link or elsewhere is left alone", "[exporter]") {
  Node node;
  const int pid = ended_pid();
  const auto old = node.log(node.usual() / "old.jsonl", pid);
  fs::last_write_time(old, fs::last_write_time(old) - std::chrono::hours(1));
  CHECK(node.look().empty());
  const auto apart = node.usual() / "apart";
  fs::create_directory(apart);
  const auto elsewhere = node.log(apart / "a.jsonl", pid);
  fs::create_symlink(elsewhere, node.usual() / "link.jsonl");
  fs::create_symlink(apart, node.usual(::getuid() + 1));
  REQUIRE(mkfifo((node.usual() / "pipe.jsonl").c_str(), 0600) == 0);
  std::ofstream(node.usual() / "empty.jsonl").close();
  std::ofstream(node.usual() / "text.jsonl") << "hello\n";
  fs::create_directory(node.usual(::getuid() + 2));
  node.log(node.usual(::getuid() + 2) / "a.jsonl", pid);
  CHECK(node.look().empty());
}

}  // namespace nnd::cli
