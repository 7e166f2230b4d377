// What stays of ended processes.
#include "record/keep.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <set>
#include <string>

#include "fixture.h"
#include "nccl_net_diag/black_box.h"
#include "support/catch.h"

using namespace nnd::record;
using namespace nnd::record::testing;
using nnd::config::Keep;

namespace {

using Names = std::set<std::string>;

constexpr const char* kLog = "{\"v\":1,\"ts\":\"2026-01-01T00:00:00.000000000Z\"}\n";
const std::string kBox{nccl_net_diag::box::kMagic, sizeof nccl_net_diag::box::kMagic};

// A directory with files that are as many hours old as their place in the row.
class Directory {
 public:
  void file(const std::string& name, const std::string& start, std::uintmax_t size = 100) {
    std::ofstream(dir_ / name) << start;
    fs::resize_file(dir_ / name, size);
    fs::last_write_time(dir_ / name,
                        fs::file_time_type::clock::now() - std::chrono::hours(++oldest_));
  }
  void sweep(Keep keep) {
    const int fd = ::open(dir_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    nnd::record::sweep(fd, keep);
    ::close(fd);
  }
  Names names() const {
    Names out;
    for (const auto& entry : fs::directory_iterator(dir_.path()))
      out.insert(entry.path().filename());
    return out;
  }
  std::string operator/(const std::string& name) const { return dir_ / name; }

 private:
  TempDir dir_;
  int oldest_ = 0;
};

}  // namespace

TEST_CASE("the oldest logs and boxes go first, by number and by size") {
  Directory dir;
  for (const char* name : {"d", "c", "b.1", "a"})
    dir.file(name, name[0] == 'c' ? kBox : kLog, 1 << 20);
  dir.sweep({4, 4});
  CHECK(dir.names() == Names{"a", "b.1", "c", "d"});
  dir.sweep({3, 100});
  CHECK(dir.names() == Names{"b.1", "c", "d"});
  dir.sweep({100, 2});
  CHECK(dir.names() == Names{"c", "d"});
  dir.sweep({0, 0});
  CHECK(dir.names().empty());
}

TEST_CASE("what is no log of ours, a link, or in use stays") {
  Directory dir;
  dir.file("living", kLog);
  dir.file("notes.jsonl", "{\"mine\":1}\n");
  dir.file("empty.nndbox", "", 0);
  dir.file("linked", kLog);
  fs::create_hard_link(dir / "linked", dir / "again");
  dir.file("target", "somebody's");
  fs::create_symlink(dir / "target", dir / "link.jsonl");
  fs::create_directory(dir / "dir.jsonl");
  dir.file("ended", kLog);
  const int living = ::open((dir / "living").c_str(), O_RDONLY | O_CLOEXEC);
  mark_as_living(living);
  Names all = dir.names();
  dir.sweep({0, 0});
  all.erase("ended");
  CHECK(dir.names() == all);
  ::close(living);
  dir.sweep({0, 0});
  all.erase("living");
  CHECK(dir.names() == all);
}

TEST_CASE("a recorder sweeps beside its own log and box, which stay") {
  Directory dir;
  for (const char* name : {"b", "a"}) dir.file(name, kLog);
  nnd::config::Settings settings = log_to(dir / "own.jsonl");
  settings.keep.files = 1;
  start(settings);
  emit_numbered(1, 0);
  CHECK(eventually([&dir] { return dir.names() == Names{"b", "own.jsonl", "own.nndbox"}; }));
  // Another process's sweep sees that this one lives.
  const int status = in_child([&dir] {
    dir.sweep({0, 0});
    return 0;
  });
  CHECK(ended_with(status, 0));
  CHECK(dir.names() == Names{"own.jsonl", "own.nndbox"});
  stop();
  dir.sweep({0, 0});
  CHECK(dir.names().empty());
}
