// What goes wrong with files while the job runs.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "fixture.h"
#include "record/box.h"
#include "record/sigbus.h"
#include "support/catch.h"
#include "support/own_mounts.h"
#include "support/skip.h"

using namespace nnd::record;
using namespace nnd::record::testing;

namespace {

std::uint64_t total_lost(const std::vector<Json>& lines) {
  std::uint64_t lost = 0;
  for (const Json& line : only(lines, "log.dropped")) lost += line["dropped"].get<std::uint64_t>();
  return lost;
}

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
    if (exists(dir / "log.nndbox")) return 1;  // no room for it: anonymous memory
    emit_big(0, 100);
    if (!eventually([&] { return fs::file_size(path) > 15000; })) return 2;
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
    limit_file_size(20000);
    emit_big(0, 100);
    if (!eventually([&] { return fs::file_size(path) > 15000; })) return 2;
    stop();
    return 0;
  });
  REQUIRE(ended_with(status, 0));
  const auto lines = read_log(path);
  CHECK(gapless(lines));
  CHECK(lines.size() > 10);
  CHECK(lines.size() < 20);
  CHECK(exists(dir / "log.nndbox"));
}

TEST_CASE("a full disk: the broken line is taken back, and nothing is lost once there is room") {
  const TempDir dir;
  const int status = in_child([&] {
    if (!own_tmpfs(dir.path(), "10m")) return kSkipped;
    const CapturedAdvice told;
    start(log_to(dir / "log.jsonl"));
    if (!exists(dir / "log.nndbox")) return 1;
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

TEST_CASE("a tmpfs too small for the black box: anonymous memory, and the log goes on") {
  const TempDir dir;
  const int status = in_child([&] {
    if (!own_tmpfs(dir.path(), "1m")) return kSkipped;
    start(log_to(dir / "log.jsonl"));
    if (exists(dir / "log.nndbox")) return 1;
    emit_big(0, 20);
    stop();
    return read_log(dir / "log.jsonl").size() == 21 ? 0 : 2;
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

TEST_CASE("a black box that is truncated while it is mapped") {
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
  const std::uint64_t written = only(lines, "conn.open").size();
  CHECK(written + total_lost(lines) == 1002);
  CHECK(written >= 1001);
}

namespace {

volatile sig_atomic_t g_handled = 0;
void* volatile g_address = nullptr;

}  // namespace

TEST_CASE("SIGBUS elsewhere goes to the handler that was there before") {
  const TempDir dir;
  const std::string other = dir / "other";
  // Touches a page behind the end of a file of ours.
  const auto fault = [&] {
    const int fd = ::open(other.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    auto* page = static_cast<volatile char*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    g_address = const_cast<char*>(page);
    page[0] = 1;
  };
  const auto with_handler = [&](struct sigaction action) {
    ::sigaction(SIGBUS, &action, nullptr);
    start(log_to(dir / "log.jsonl"));
  };
  const auto siginfo_handler = [](int, siginfo_t* info, void*) {
    ::_exit(info->si_addr == g_address ? 42 : 1);
  };
  CHECK(ended_with(in_child([&] {
                     struct sigaction action {};
                     action.sa_sigaction = siginfo_handler;
                     action.sa_flags = SA_SIGINFO;
                     with_handler(action);
                     fault();
                     return 0;
                   }),
                   42));
  CHECK(ended_with(in_child([&] {
                     struct sigaction action {};
                     action.sa_handler = [](int) { g_handled = g_handled + 1; };
                     with_handler(action);
                     ::raise(SIGBUS);
                     ::kill(::getpid(), SIGBUS);
                     return g_handled == 2 ? 42 : 1;
                   }),
                   42));
  CHECK(ended_with(in_child([&] {
                     struct sigaction action {};
                     action.sa_handler = SIG_IGN;
                     with_handler(action);
                     ::raise(SIGBUS);
                     return 42;
                   }),
                   42));
  const auto dies = [&](auto how) {
    return in_child([&] {
      const rlimit no_core{};
      ::setrlimit(RLIMIT_CORE, &no_core);
      struct sigaction action {};
      action.sa_handler = SIG_DFL;
      with_handler(action);
      how();
      return 0;
    });
  };
  const int faulted = dies(fault);
  CHECK((WIFSIGNALED(faulted) && WTERMSIG(faulted) == SIGBUS));
  const int raised = dies([] { ::raise(SIGBUS); });
  CHECK((WIFSIGNALED(raised) && WTERMSIG(raised) == SIGBUS));
}

TEST_CASE("the SIGBUS handler is there only while a black box is mapped") {
  const TempDir dir;
  const auto handler = [] {
    struct sigaction action {};
    ::sigaction(SIGBUS, nullptr, &action);
    return action.sa_sigaction;
  };
  const auto before = handler();
  start(log_to(dir / "log.jsonl"));
  CHECK(handler() != before);
  stop();
  CHECK(handler() == before);
  start(log_to("off"));
  CHECK(handler() == before);
  stop();
}
