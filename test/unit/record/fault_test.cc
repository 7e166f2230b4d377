// What goes wrong with files while the job runs.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>

#include "context/clock.h"
#include "fixture.h"
#include "record/box.h"
#include "support/catch.h"
#include "support/own_mounts.h"
#include "support/skip.h"

using namespace nnd::record;
using namespace nnd::record::testing;

namespace {

// There, and written.
bool has_box(const std::string& path) { return read_box(read_file(path)).problem.empty(); }

void limit_file_size(rlim_t bytes) {
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes;
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

bool own_tmpfs(const std::string& path, const char* size) {
  return nnd::test::enter_own_mounts() && nnd::test::mount_tmpfs(path, size);
}

constexpr int kSkipped = 77;

void emit_big(unsigned from, unsigned to) {
  const std::string text(1000, 'x');
  for (unsigned i = from; i < to; ++i)
    Event(EventId::kConnOpen).add("polls", i).add("stage", text).emit();
}

}  // namespace

TEST_CASE("a file size limit: events wait, and are written when there is room again") {
  const TempDir dir;
  const std::string path = dir / "log.jsonl";
  const int status = in_child([&] {
    limit_file_size(20000);
    start(log_to(path));
    emit_big(0, 100);
    if (!eventually([&] { return fs::file_size(path) > 15000; })) return 2;
    if (exists(dir / "log.nndbox")) return 1;  // no room for it
    limit_file_size(RLIM_INFINITY);
    emit_big(100, 110);
    stop();
    return 0;
  });
  REQUIRE(ended_with(status, 0));
  const auto lines = read_log(path);
  CHECK(gapless(lines));
  CHECK(only(lines, "conn.open").size() == 110);
}

TEST_CASE("a log that stays unwritable: what got out is whole, and the black box keeps the rest") {
  const TempDir dir;
  const std::string path = dir / "log.jsonl";
  const int status = in_child([&] {
    start(log_to(path));
    emit_big(0, 10);
    if (!eventually([&] { return read_log(path).size() == 10; })) return 2;
    break_log(path);
    emit_big(10, 100);
    stop();
    return 0;
  });
  REQUIRE(ended_with(status, 0));
  const auto lines = read_log(path);
  CHECK(gapless(lines));
  CHECK(lines.size() == 10);
  const BoxContents box = read_box(read_file(dir / "log.nndbox"));
  CHECK(box.problem.empty());
  REQUIRE(box.records.size() == 90);
  CHECK(Json::from_msgpack(box.records.back().payload)["polls"] == 99);
}

TEST_CASE("a full disk: the broken line is taken back, and nothing is lost once there is room") {
  const TempDir dir;
  const int status = in_child([&] {
    if (!own_tmpfs(dir.path(), "10m")) return kSkipped;
    const CapturedAdvice told;
    start(log_to(dir / "log.jsonl"));
    if (!eventually([&] { return has_box(dir / "log.nndbox"); })) return 1;
    // Fill what is left, but for a page or so.
    const int fd = ::open((dir / "ballast").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const std::string block(4096, 'b');
    while (::write(fd, block.data(), block.size()) > 0) {
    }
    ::close(fd);
    emit_big(0, 200);
    if (!eventually([&] { return log_place().find("log.jsonl") != std::string::npos; })) return 2;
    if (!eventually([&] { return told.lines().size() == 1; })) return 7;
    if (fs::file_size(dir / "log.jsonl") > 8192) return 3;
    fs::remove(dir / "ballast");
    emit_big(200, 210);
    stop();
    if (told.lines().size() != 1) return 8;
    const auto lines = read_log(dir / "log.jsonl");
    if (!gapless(lines)) return 4;
    if (only(lines, "conn.open").size() != 210) return 5;
    return exists(dir / "log.nndbox") ? 6 : 0;
  });
  if (ended_with(status, kSkipped)) NND_SKIP("no user namespaces here");
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a tmpfs too small for the black box: there is none, and the log goes on") {
  const TempDir dir;
  const int status = in_child([&] {
    if (!own_tmpfs(dir.path(), "600k")) return kSkipped;
    start(log_to(dir / "log.jsonl"));
    emit_big(0, 20);
    if (!eventually([&] { return read_log(dir / "log.jsonl").size() == 20; })) return 3;
    if (exists(dir / "log.nndbox")) return 1;
    stop();
    return read_log(dir / "log.jsonl").size() == 21 ? 0 : 2;
  });
  if (ended_with(status, kSkipped)) NND_SKIP("no user namespaces here");
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a file system that can't reserve room: a black box all the same, and one line says so") {
  const TempDir dir;
  const int status = in_child([&] {
    // A ramfs has no fallocate(), as NFSv3.
    if (!nnd::test::enter_own_mounts() ||
        ::mount("ramfs", dir.path().c_str(), "ramfs", 0, "mode=0700") != 0)
      return kSkipped;
    const CapturedAdvice told;
    start(log_to(dir / "log.jsonl"));
    emit_big(0, 10);
    if (!eventually([&] { return read_log(dir / "log.jsonl").size() == 10; })) return 1;
    if (!drained(dir / "log.nndbox")) return 2;
    break_log(dir / "log.jsonl");
    emit_big(10, 100);
    stop();
    const BoxContents box = read_box(read_file(dir / "log.nndbox"));
    if (!box.problem.empty() || box.damaged() != 0 || box.records.size() != 90) return 3;
    const auto lines = told.lines();
    return std::count_if(lines.begin(), lines.end(),
                         [](const std::string& line) {
                           return line.find("can't reserve room") != std::string::npos;
                         }) == 1
               ? 0
               : 4;
  });
  if (ended_with(status, kSkipped)) NND_SKIP("no user namespaces here");
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("no memory: nothing is recorded, and the job goes on") {
  if constexpr (kSanitized) {
    NND_SKIP("a sanitizer needs its address space");
  }
  const TempDir dir;
  const int status = in_child([&] {
    const CapturedAdvice told;
    const rlimit limit{1, 1};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) return 1;
    start(log_to(dir / "log.jsonl"));
    if (running()) return 2;
    emit_numbered(1, 1);
    stop();
    return 0;
  });
  CHECK(ended_with(status, 0));
}

TEST_CASE("a black box that somebody truncates: the log has all") {
  const TempDir dir;
  const int status = in_child([&] {
    start(log_to(dir / "log.jsonl"));
    emit_numbered(1, 0);
    if (!eventually([&] { return !read_log(dir / "log.jsonl").empty(); })) return 1;
    if (::truncate((dir / "log.nndbox").c_str(), 0) != 0) return 2;
    std::thread([] { emit_numbered(2, 0); }).join();
    for (unsigned i = 0; i < 1000; ++i) emit_numbered(1, 1 + i);
    stop();
    return 0;
  });
  REQUIRE(ended_with(status, 0));
  const auto lines = read_log(dir / "log.jsonl");
  CHECK(gapless(lines));
  CHECK(only(lines, "conn.open").size() == 1002);
}

TEST_CASE("errors before a log that hangs: NCCL's thread waits for them within one bound in all") {
  // The log is a pipe that nobody reads. The least of a few, since a busy machine adds to each.
  std::uint64_t least_ns = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {
    int ends[2], answer[2];
    REQUIRE(::pipe(ends) == 0);
    REQUIRE(::pipe(answer) == 0);
    REQUIRE(::fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    const std::string full(4096, 'x');
    while (::write(ends[1], full.data(), full.size()) > 0) {
    }
    REQUIRE(::fcntl(ends[1], F_SETFL, 0) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(ends[1], STDERR_FILENO);
      nnd::config::Settings settings = log_to("stderr");
      settings.on_stderr = nnd::config::Stderr::kOff;
      start(settings);
      const std::uint64_t began = nnd::context::mono_ns();
      for (int n = 0; n < 200; ++n) Event(EventId::kConnFail, Severity::kError).add("n", n).emit();
      const std::uint64_t took = nnd::context::mono_ns() - began;
      ::_exit(::write(answer[1], &took, sizeof took) == sizeof took ? 0 : 1);
    }
    std::uint64_t took = 0;
    REQUIRE(::read(answer[0], &took, sizeof took) == sizeof took);
    ::waitpid(child, nullptr, 0);
    for (const int fd : {ends[0], ends[1], answer[0], answer[1]}) ::close(fd);
    least_ns = std::min(least_ns, took);
  }
  CHECK(least_ns < 250'000'000);  // 16 waits of 20 ms would be 320
}

TEST_CASE("the signals of the job are left alone") {
  const TempDir dir;
  const auto handlers = [] {
    std::vector<sighandler_t> out;
    for (int signal = 1; signal < 32; ++signal) {
      struct sigaction action {};
      ::sigaction(signal, nullptr, &action);
      out.push_back(action.sa_handler);
    }
    return out;
  };
  const auto before = handlers();
  start(log_to(dir / "log.jsonl"));
  CHECK(eventually([&] { return has_box(dir / "log.nndbox"); }));
  CHECK(handlers() == before);
  stop();
  CHECK(handlers() == before);
}
