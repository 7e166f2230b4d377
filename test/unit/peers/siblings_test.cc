#include "peers/siblings.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "sibling.h"
#include "support/catch.h"
#include "support/temp_dir.h"

namespace peers = nnd::peers;
using nnd::test::sibling;

TEST_CASE("living processes of a node find each other, and no longer when they have ended") {
  const nnd::test::TempDir dir;
  std::array<int, 2> ready{}, end{};
  REQUIRE(::pipe(ready.data()) == 0);
  REQUIRE(::pipe(end.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(end[1]);
    peers::Siblings own;
    own.enter(sibling(77), dir.path());
    ::write(ready[1], "x", 1);
    char c = 0;
    ::read(end[0], &c, 1);
    ::_exit(own.others().size() == 1 ? 0 : 1);
  }
  char c = 0;
  REQUIRE(::read(ready[0], &c, 1) == 1);
  peers::Siblings own;
  own.enter(sibling(78), dir.path());
  const auto others = own.others();
  REQUIRE(others.size() == 1);
  CHECK(others[0].proc == 77);
  CHECK(others[0].address.port == 77);
  CHECK(others[0].secret == sibling(77).secret);
  ::close(end[1]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(own.others().empty());
  // Its line is another's.
  peers::Siblings next;
  next.enter(sibling(79), dir.path());
  REQUIRE(next.others().size() == 1);
  CHECK(next.others()[0].proc == 78);
  CHECK(own.others().size() == 1);
}

TEST_CASE("where the file can't be had nobody is found") {
  peers::Siblings own;
  own.enter(sibling(5), "/proc/no-such-place");
  CHECK(own.others().empty());
}
