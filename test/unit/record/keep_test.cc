// What stays of ended processes: all of it where the user chose the directory, and in the default
// place what is young, of this job, or within the limits.
#include "record/keep.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <set>
#include <string>

#include "fixture.h"
#include "nccl_net_diag/black_box.h"
#include "record/safe_file.h"
#include "support/catch.h"
#include "support/own_mounts.h"
#include "support/skip.h"

using namespace nnd::record;
using namespace nnd::record::testing;
using nnd::config::Keep;

namespace {

using Names = std::set<std::string>;

constexpr std::uint64_t kAny = Keep::kAny;
constexpr const char* kLog = "{\"v\":1,\"ts\":\"2026-01-01T00:00:00.000000000Z\"}\n";
const std::string kBox{nccl_net_diag::box::kMagic, sizeof nccl_net_diag::box::kMagic};

Names names_in(const fs::path& dir) {
  Names out;
  for (const auto& entry : fs::directory_iterator(dir)) out.insert(entry.path().filename());
  out.erase(".swept");
  return out;
}

void make_old(const fs::path& file, int hours) {
  fs::last_write_time(
      file, fs::file_time_type::clock::now() - std::chrono::hours(hours) - std::chrono::minutes(1));
}

// A directory of files whose age is given, swept as the default place is.
class Directory {
 public:
  void file(const std::string& name, const std::string& start, int hours, std::size_t size = 100) {
    std::ofstream(dir_ / name) << start << std::string(size, ' ');
    make_old(dir_ / name, hours);
  }
  // One whose turn it is: an hour has passed since the last.
  void sweep(Keep keep, const std::vector<std::string>& jobs = {}) {
    if (exists(dir_ / ".swept")) make_old(dir_ / ".swept", 1);
    sweep_again(keep, jobs);
  }
  void sweep_again(Keep keep, const std::vector<std::string>& jobs = {}) {
    const int fd = ::open(dir_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    nnd::record::sweep(fd, keep, jobs);
    ::close(fd);
  }
  Names names() const { return names_in(dir_.path()); }
  std::string operator/(const std::string& name) const { return dir_ / name; }

 private:
  TempDir dir_;
};

// The files that anybody opens in a directory from now on.
class Opened {
 public:
  explicit Opened(const fs::path& dir) : fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    ::inotify_add_watch(fd_, dir.c_str(), IN_OPEN | IN_ONLYDIR);
  }
  ~Opened() { ::close(fd_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  std::size_t count() {
    alignas(inotify_event) std::array<char, 65536> bytes{};
    for (ssize_t size = 0; (size = ::read(fd_, bytes.data(), bytes.size())) > 0;)
      for (ssize_t at = 0; at < size;) {
        inotify_event event{};
        std::memcpy(&event, bytes.data() + at, sizeof(event));
        if ((event.mask & IN_OPEN) != 0 && event.len != 0) ++count_;  // not the directory itself
        at += static_cast<ssize_t>(sizeof(event) + event.len);
      }
    return count_;
  }

 private:
  int fd_;
  std::size_t count_ = 0;
};

// Ranks that are killed with their boxes open.
void killed_ranks(const TempDir& dir, int count) {
  for (int i = 0; i < count; ++i) {
    const int status = in_child([&] {
      start(log_to(dir / "%p.jsonl"));
      emit_numbered(1, 1);
      const std::string box = dir / (std::to_string(::getpid()) + ".nndbox");
      if (!eventually([&] { return exists(box); })) return 1;
      ::raise(SIGKILL);
      return 2;
    });
    REQUIRE(WIFSIGNALED(status));
  }
}

}  // namespace

TEST_CASE("301 killed ranks and a restart into their directory: every file stays, few are opened") {
  constexpr int kRanks = 301;
  const TempDir dir;
  killed_ranks(dir, kRanks);
  const Names left = names_in(dir.path());
  REQUIRE(left.size() == 2 * kRanks);
  for (const std::string& name : left) make_old(dir / name, 24 * 365);
  std::set<std::pair<std::string, std::uintmax_t>> before;
  for (const std::string& name : left) before.emplace(name, fs::file_size(dir / name));
  Opened opened(dir.path());
  const int status = in_child([&] {
    nnd::config::Settings settings = log_to(dir / "%p.jsonl");
    settings.keep = {1, 1, 1};
    start(settings);
    emit_numbered(2, 2);
    // Until its drain was idle, and would have swept.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    stop();
    return 0;
  });
  CHECK(ended_with(status, 0));
  for (const auto& [name, size] : before) {
    INFO(name);
    CHECK(fs::exists(dir / name));
    CHECK(fs::file_size(dir / name) == size);
  }
  CHECK(names_in(dir.path()).size() == left.size() + 1);
  CHECK(opened.count() <= 20);
}

TEST_CASE("the default place: what is older goes first, by age, number and size") {
  Directory dir;
  for (const int i : {4, 3, 2, 1})
    dir.file("h." + std::to_string(i) + ".jsonl", kLog, i, std::size_t{1} << 20);
  dir.sweep({4, kAny >> 20, kAny});
  CHECK(dir.names().size() == 4);
  dir.sweep({3, kAny >> 20, kAny});
  CHECK(dir.names() == Names{"h.1.jsonl", "h.2.jsonl", "h.3.jsonl"});
  dir.sweep({kAny, 3, kAny});
  CHECK(dir.names() == Names{"h.1.jsonl", "h.2.jsonl"});
  dir.file("h.9.jsonl", kLog, 15 * 24);
  dir.file("h.8.jsonl", kLog, 13 * 24);
  dir.sweep({});
  CHECK(dir.names() == Names{"h.1.jsonl", "h.2.jsonl", "h.8.jsonl"});
  dir.sweep({0, 0, 0});
  CHECK(dir.names().empty());
}

TEST_CASE("a process's log and box stay or go together") {
  Directory dir;
  dir.file("h.1.jsonl", kLog, 30);
  dir.file("h.1.nndbox", kBox, 5);
  dir.file("h.2.jsonl", kLog, 20);
  dir.file("h.2.nndbox", kBox, 20);
  dir.sweep({2, kAny >> 20, kAny});
  CHECK(dir.names() == Names{"h.1.jsonl", "h.1.nndbox"});
}

TEST_CASE("what is young, of this job, in use, a link or not ours stays whatever the limits") {
  Directory dir;
  dir.file("h.1.jsonl", kLog, 0);  // a minute
  dir.file("h.2.jsonl", std::string(kLog) + R"({"ev":"plugin.load","launch":{"job":"77"}})", 90);
  dir.file("h.2.nndbox", kBox, 90);
  dir.file("h.3.jsonl", kLog, 90);
  dir.file("h.3.nndbox", kBox, 90);
  dir.file("h.4.jsonl", "{\"mine\":1}\n", 90);
  dir.file("h.5.nndbox", "", 90, 0);
  dir.file("h.6.jsonl", kLog, 90);
  fs::create_hard_link(dir / "h.6.jsonl", dir / "again");
  dir.file("target", "somebody's", 90);
  fs::create_symlink(dir / "target", dir / "h.7.jsonl");
  fs::create_directory(dir / "h.8.jsonl");
  dir.file("notes", kLog, 90);
  dir.file("h.9.jsonl", kLog, 90);
  const int living = ::open((dir / "h.3.nndbox").c_str(), O_RDONLY | O_CLOEXEC);
  mark_as_living(living);
  Names all = dir.names();
  dir.sweep({0, 0, 0}, {"7", "77"});
  all.erase("h.9.jsonl");
  CHECK(dir.names() == all);
  ::close(living);
  dir.sweep({0, 0, 0}, {"7"});
  for (const char* gone : {"h.2.jsonl", "h.2.nndbox", "h.3.jsonl", "h.3.nndbox"}) all.erase(gone);
  CHECK(dir.names() == all);
}

TEST_CASE("one process of a node sweeps within an hour, and opens what is to go alone") {
  Directory dir;
  for (int i = 0; i < 100; ++i) dir.file("h." + std::to_string(i) + ".jsonl", kLog, 1 + i);
  {
    Opened opened(fs::path(dir / "."));
    dir.sweep({95, kAny >> 20, kAny});
    CHECK(dir.names().size() == 95);
    CHECK(opened.count() == 5 + 1);  // and the marker
  }
  dir.sweep_again({1, kAny >> 20, kAny});
  CHECK(dir.names().size() == 95);
  dir.sweep({1, kAny >> 20, kAny});
  CHECK(dir.names() == Names{"h.0.jsonl"});
}

TEST_CASE("a shared file system is never swept") {
  // /proc is no disk of this node's, and no kernel removes anything there.
  const int proc = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  CHECK_FALSE(is_node_local(proc));
  ::close(proc);
  CHECK_FALSE(is_node_local(-1));
}

TEST_CASE("the default place is swept when a process is idle; its own and this job's files stay") {
  const bool had_mounts = nnd::test::in_own_mounts([] {
    if (!nnd::test::mount_tmpfs("/tmp", "64m")) throw std::runtime_error("no tmpfs");
    ::unsetenv("XDG_RUNTIME_DIR");
    ::setenv("SLURM_JOB_ID", "123", 1);
    const std::string dir = expand_pattern("/tmp/nccl-net-diag-%u", {});
    fs::create_directory(dir);
    ::chmod(dir.c_str(), 0700);
    for (const auto& [name, text] :
         {std::pair<const char*, std::string>{"h.1.jsonl", kLog},
          {"h.2.jsonl", std::string(kLog) + R"({"launch":{"job":"123"}})"}}) {
      std::ofstream(fs::path(dir) / name) << text;
      make_old(fs::path(dir) / name, 24 * 60);
    }
    start({});
    emit_numbered(1, 1);
    const bool swept = eventually([&] { return !exists(dir + "/h.1.jsonl"); });
    stop();
    if (!swept) throw std::runtime_error("h.1.jsonl is still there");
    if (names_in(dir).size() != 2 || !exists(dir + "/h.2.jsonl"))
      throw std::runtime_error("this job's log is gone");
  });
  (void)had_mounts;  // where there are none it says so
}
