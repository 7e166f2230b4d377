// Another user of the node, or another process of this one: the file in which siblings find each
// other.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "peers/siblings.h"
#include "record/safe_file.h"
#include "sibling.h"
#include "support/catch.h"
#include "support/skip.h"
#include "support/temp_dir.h"

namespace peers = nnd::peers;
using nnd::test::sibling;

namespace {

std::string file_of(const nnd::test::TempDir& dir) {
  return std::string(dir.path()) + "/peers." + nnd::record::path_fields().host;
}

// Two that are of one user, and find each other where the file can be had.
bool find_each_other(const std::string& dir) {
  peers::Siblings one, two;
  one.enter(sibling(77), dir);
  two.enter(sibling(78), dir);
  return one.others().size() == 1 && two.others().size() == 1;
}

void write_at(int fd, std::size_t line, const std::string& bytes) {
  REQUIRE(::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(line * 64)) ==
          static_cast<ssize_t>(bytes.size()));
}

// The lock of a line, as a living process holds it.
void hold(int fd, std::size_t line) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(line * 64);
  lock.l_len = 64;
  REQUIRE(::fcntl(fd, F_OFD_SETLK, &lock) == 0);
}

}  // namespace

TEST_CASE("a file that others can write, a link and a pipe are left alone") {
  {
    const nnd::test::TempDir dir;
    CHECK(find_each_other(dir.path()));
    REQUIRE(::chmod(file_of(dir).c_str(), 0666) == 0);
    CHECK_FALSE(find_each_other(dir.path()));
  }
  {
    const nnd::test::TempDir dir;
    const std::string elsewhere = std::string(dir.path()) + "/elsewhere";
    REQUIRE(::close(::open(elsewhere.c_str(), O_CREAT | O_RDWR, 0600)) == 0);
    REQUIRE(::symlink(elsewhere.c_str(), file_of(dir).c_str()) == 0);
    CHECK_FALSE(find_each_other(dir.path()));
    struct stat s {};
    REQUIRE(::stat(elsewhere.c_str(), &s) == 0);
    CHECK(s.st_size == 0);
  }
  {
    const nnd::test::TempDir dir;
    REQUIRE(::mkfifo(file_of(dir).c_str(), 0600) == 0);
    CHECK_FALSE(find_each_other(dir.path()));
  }
}

TEST_CASE("a file or directory of another user is left alone") {
  if (::geteuid() != 0) NND_SKIP("only root can make another user's file");
  constexpr uid_t kOther = 12345;
  const nnd::test::TempDir dir;
  const int fd = ::open(file_of(dir).c_str(), O_CREAT | O_RDWR, 0600);
  REQUIRE(::fchown(fd, kOther, kOther) == 0);
  ::close(fd);
  CHECK_FALSE(find_each_other(dir.path()));
  const nnd::test::TempDir theirs;
  REQUIRE(::chown(std::string(theirs.path()).c_str(), kOther, kOther) == 0);
  CHECK_FALSE(find_each_other(theirs.path()));
  REQUIRE(::chown(std::string(theirs.path()).c_str(), 0, 0) == 0);
  REQUIRE(::chmod(std::string(theirs.path()).c_str(), 0777) == 0);
  CHECK_FALSE(find_each_other(theirs.path()));
}

TEST_CASE("lines that are garbage, cut or nobody's name nobody") {
  const nnd::test::TempDir dir;
  const int other = ::open(file_of(dir).c_str(), O_CREAT | O_RDWR, 0600);
  REQUIRE(other >= 0);
  std::string line(64, '\0');
  line.replace(0, 8, "NNDPEER1");
  line[8] = 5;    // proc
  line[40] = 55;  // port
  write_at(other, 0, std::string(64, '\xff'));
  hold(other, 0);
  write_at(other, 1, line);  // nobody holds it
  std::string no_port = line;
  no_port[42] = 1;  // 65,591
  write_at(other, 2, no_port);
  hold(other, 2);
  for (const std::size_t twice : {3u, 4u}) {
    write_at(other, twice, line);
    hold(other, twice);
  }
  write_at(other, 5, line.substr(0, 30));
  peers::Siblings own;
  own.enter(sibling(77), dir.path());
  const auto others = own.others();
  // It takes the first line that is free; that of the same process twice is for the directory.
  REQUIRE(others.size() == 2);
  for (const auto& one : others) CHECK(one.proc == 5);
  peers::Directory directory;
  for (const auto& one : others) directory.add(one.proc, one.address, one.secret);
  std::size_t kept = 0;
  directory.for_each([&](std::uint64_t, const peers::Contact&) { ++kept; });
  CHECK(kept == 1);
  ::close(other);
}

TEST_CASE("a file that is full, cut or longer than it should be is read to its end") {
  const nnd::test::TempDir dir;
  const int other = ::open(file_of(dir).c_str(), O_CREAT | O_RDWR, 0600);
  REQUIRE(other >= 0);
  REQUIRE(::ftruncate(other, 1 << 30) == 0);
  for (std::size_t i = 0; i < peers::Siblings::kMost; ++i) hold(other, i);
  CHECK_FALSE(find_each_other(dir.path()));
  REQUIRE(::ftruncate(other, 0) == 0);
  ::close(other);
  CHECK(find_each_other(dir.path()));
}
