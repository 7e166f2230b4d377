#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <string>

#include "fixture.h"
#include "record/safe_file.h"
#include "support/catch.h"
#include "support/skip.h"

using namespace nnd::record;
using namespace nnd::record::testing;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

}  // namespace

TEST_CASE("path patterns") {
  const PathFields fields{"no/de", "17;x", "20261121T120000Z"};
  CHECK(expand_pattern("/a/%h.%p.%j.%t.%u.%%.%q%", fields) ==
        "/a/no_de." + std::to_string(::getpid()) + ".17;x.20261121T120000Z." +
            std::to_string(::geteuid()) + ".%.%q%");
  CHECK(expand_pattern("%j", {"h", "", "t"}) == "nojob");
  CHECK(expand_pattern("/a/%j/%h", {"..", "..", "t"}) == "/a/__/__");
}

TEST_CASE("files are created anew, in directories that are made when missing") {
  const TempDir dir;
  const std::string path = dir / "a/b/log.jsonl";
  SafeFile first = create_file(path, false, Place::kDefault);
  REQUIRE(first.fd >= 0);
  CHECK(first.path == path);
  struct stat s {};
  REQUIRE(::stat((dir / "a/b").c_str(), &s) == 0);
  CHECK((s.st_mode & 0777) == 0700);
  SafeFile second = create_file(path, false, Place::kDefault);
  CHECK(second.path == path + ".1");
  SafeFile third = create_file(path, false, Place::kDefault);
  CHECK(third.path == path + ".2");
  second.remove();
  CHECK_FALSE(exists(path + ".1"));
  // A name that now is another file is left alone.
  fs::rename(path + ".2", path + ".x");
  std::ofstream(path + ".2") << "somebody else's";
  third.remove();
  CHECK(exists(path + ".2"));
  for (SafeFile* file : {&first, &second, &third}) file->close();
}

TEST_CASE("a name that hundreds of processes share: each has its file, after a few tries") {
  const TempDir dir;
  std::set<std::string> paths;
  for (int i = 0; i < 300; ++i) {
    SafeFile file = create_file(dir / "log.jsonl", false, Place::kChosen);
    REQUIRE(file.fd >= 0);
    paths.insert(file.path);
    file.close();
  }
  CHECK(paths.size() == 300);
  CHECK(paths.contains(dir / "log.jsonl.8"));
  CHECK_FALSE(paths.contains(dir / "log.jsonl.9"));
}

TEST_CASE("a pattern that names a directory: files of the usual names in it, and none beside it") {
  const TempDir dir;
  fs::create_directory(dir / "logs");
  for (const std::string& named : {dir / "logs", dir / "made/"}) {
    const int status = in_child([&] {
      nnd::config::Settings settings = log_to(named);
      settings.blackbox = named;
      start(settings);
      emit_numbered(1, 1);
      const std::string place = log_place();
      const std::string stem = file_in(named, expand_pattern("%h.%p", path_fields()));
      const bool boxed = eventually([&] { return exists(stem + ".nndbox"); });
      stop();
      return boxed && contains(place, stem + ".jsonl") && read_log(stem + ".jsonl").size() == 2 ? 0
                                                                                                : 1;
    });
    CHECK(ended_with(status, 0));
  }
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 2);
}

TEST_CASE("where standard files are closed, none of ours takes their place") {
  const TempDir dir;
  const int status = in_child([&] {
    for (const int fd : {0, 1, 2}) ::close(fd);
    const SafeFile file = create_file(dir / "log.jsonl", false, Place::kDefault);
    return file.fd > 2 && ::fcntl(file.fd, F_GETFD) == FD_CLOEXEC ? 0 : 1;
  });
  CHECK(ended_with(status, 0));
}

TEST_CASE("the default place, when somebody else has taken it first") {
  const TempDir dir;
  const auto taken = dir / "nccl-net-diag-7";
  fs::create_directory(taken);
  REQUIRE(::chmod(taken.c_str(), 0777) == 0);
  SafeFile anew = create_default_file(taken + "/h.1.jsonl", false, "");
  REQUIRE(anew.fd >= 0);
  CHECK(anew.path.starts_with(taken + "-"));
  CHECK(anew.path.ends_with("/h.1.jsonl"));
  SafeFile runtime = create_default_file(taken + "/h.1.jsonl", false, dir / "run");
  CHECK(runtime.path == (dir / "run/nccl-net-diag/h.1.jsonl"));
  REQUIRE(::chmod(taken.c_str(), 0700) == 0);
  SafeFile usual = create_default_file(taken + "/h.1.jsonl", false, dir / "run");
  CHECK(usual.path == taken + "/h.1.jsonl");
  for (SafeFile* file : {&anew, &runtime, &usual}) file->close();
}

TEST_CASE("a symbolic link is not followed") {
  const TempDir dir;
  fs::create_directory(dir / "real");
  fs::create_directory_symlink(dir / "real", dir / "link");
  const SafeFile in_link = create_file(dir / "link/log.jsonl", false, Place::kDefault);
  CHECK(in_link.fd < 0);
  CHECK(contains(in_link.error, "symbolic link"));
  CHECK(fs::is_empty(dir / "real"));
  std::ofstream(dir / "victim") << "precious";
  fs::create_symlink(dir / "victim", dir / "log.jsonl");
  fs::create_symlink(dir / "nowhere", dir / "log.jsonl.1");
  SafeFile file = create_file(dir / "log.jsonl", false, Place::kDefault);
  CHECK(file.path == (dir / "log.jsonl.2"));
  CHECK(read_file(dir / "victim") == "precious");
  CHECK_FALSE(exists(dir / "nowhere"));
  file.close();
}

TEST_CASE("a directory that others can write to is refused, unless it is sticky") {
  const TempDir dir;
  for (const mode_t mode : {0770U, 0707U, 0777U}) {
    REQUIRE(::chmod(dir.path().c_str(), mode) == 0);
    const SafeFile file = create_file(dir / "log.jsonl", false, Place::kDefault);
    CHECK(file.fd < 0);
    CHECK(contains(file.error, "can be written by others"));
  }
  // Unless the user says that it is meant: an emptyDir, a group's.
  SafeFile chosen = create_file(dir / "log.jsonl", false, Place::kChosen);
  CHECK(chosen.fd >= 0);
  CHECK(chosen.others_can_remove);
  chosen.remove();
  chosen.close();
  REQUIRE(::chmod(dir.path().c_str(), 01777) == 0);
  SafeFile file = create_file(dir / "log.jsonl", false, Place::kDefault);
  CHECK(file.fd >= 0);
  file.close();
}

TEST_CASE("another user's directory is refused") {
  const TempDir dir;
  if (::chown(dir.path().c_str(), 12345, 12345) != 0) {
    NND_SKIP("only root can give a directory away");
  }
  const SafeFile file = create_file(dir / "log.jsonl", false, Place::kDefault);
  CHECK(file.fd < 0);
  CHECK(contains(file.error, "belongs to another user (uid 12345)"));
}

TEST_CASE("a log that can't be created is one clear line, and the job goes on") {
  const TempDir dir;
  std::ofstream(dir / "file") << "x";
  const CapturedAdvice told;
  start(log_to(dir / "file/log.jsonl"));
  CHECK(running());
  emit_numbered(1, 1);
  CHECK(eventually([] { return contains(log_place(), "no event log: "); }));
  const std::string place = log_place();
  stop();
  CHECK(contains(place, dir / "file"));
  REQUIRE(told.lines().size() == 1);
  CHECK(contains(told.lines()[0], "3/17 NET/DIAG no event log: "));
  CHECK(contains(told.lines()[0], "Not a directory"));
}

TEST_CASE("an unwritable directory is told with its path and errno") {
  const TempDir dir;
  REQUIRE(::chmod(dir.path().c_str(), 0500) == 0);
  // Root may write anywhere: the child becomes somebody else who owns the directory.
  const int status = in_child([&] {
    if (::geteuid() == 0 &&
        (::chown(dir.path().c_str(), 12345, 12345) != 0 || ::setresgid(12345, 12345, 12345) != 0 ||
         ::setresuid(12345, 12345, 12345) != 0))
      return 2;
    start(log_to(dir / "log.jsonl"));
    eventually([] { return contains(log_place(), "event log:"); });
    const std::string place = log_place();
    stop();
    return contains(place, dir / "log.jsonl") && contains(place, "Permission denied") ? 0 : 1;
  });
  if (ended_with(status, 2)) NND_SKIP("can't become another user");
  CHECK(ended_with(status, 0));
}

TEST_CASE("stderr and off") {
  const TempDir dir;
  const int saved = ::dup(2);
  const int fd = ::open((dir / "err").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ::dup2(fd, 2);
  start(log_to("stderr"));
  emit_numbered(1, 1);
  stop();
  start(log_to("off"));
  emit_numbered(2, 2);
  CHECK(eventually([] { return log_place() == "no event log (NCCL_NET_DIAG_FILE=off)"; }));
  stop();
  ::dup2(saved, 2);
  ::close(saved);
  ::close(fd);
  const auto lines = read_log(dir / "err");
  CHECK(lines.size() == 2);
  CHECK(gapless(lines));
}
