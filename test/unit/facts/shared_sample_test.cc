#include "facts/shared_sample.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "context/clock.h"
#include "facts/counters.h"
#include "support/catch.h"
#include "support/forked.h"
#include "tree.h"

using namespace nnd::facts;
using namespace nnd::facts::test;
using nnd::test::TempDir;

namespace {

constexpr std::uint64_t kAnyTime = 0;

// A port that says how often it was read.
struct Read {
  int reads = 0;
  ReadValues read = [this] {
    ++reads;
    return std::map<std::string, long, std::less<>>{{"rcvd_pkts", reads}};
  };
};

}  // namespace

TEST_CASE("of all processes of a node one reads a port, and the others take what it found") {
  const TempDir dir;
  const auto shared = dir / "of-this-user";
  Read port;
  for (int rank = 0; rank < 64; ++rank) {
    const auto sample = shared_sample(shared, "counters.mlx5_0.1", kAnyTime, port.read);
    REQUIRE(sample);
    CHECK(sample->values.at("rcvd_pkts") == 1);
  }
  CHECK(port.reads == 1);
  CHECK(nnd::test::holds_in_child([&] {
    return shared_sample(shared, "counters.mlx5_0.1", kAnyTime, port.read)
               ->values.at("rcvd_pkts") == 1;
  }));
  CHECK(shared_sample(shared, "counters.mlx5_0.1", nnd::context::mono_ns(), port.read)
            ->values.at("rcvd_pkts") == 2);
  CHECK(shared_sample(shared, "counters.mlx5_1.1", kAnyTime, port.read)->values.at("rcvd_pkts") ==
        3);
}

TEST_CASE("who waits for a driver that hangs holds up no other process") {
  const TempDir dir;
  Read port;
  shared_sample(dir.path(), "counters.a.1", kAnyTime, port.read);
  const int fd = ::open((dir / "counters.a.1").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(fd, LOCK_EX | LOCK_NB) == 0);
  CHECK_FALSE(shared_sample(dir.path(), "counters.a.1", nnd::context::mono_ns(), port.read));
  CHECK(port.reads == 1);
  ::close(fd);
  CHECK(shared_sample(dir.path(), "counters.a.1", nnd::context::mono_ns(), port.read));
}

TEST_CASE("what others could have written is not believed: each process reads for itself") {
  const TempDir dir;
  Read port;
  const auto reads_itself = [&](const std::string& in, const char* name) {
    const int before = port.reads;
    return shared_sample(in, name, kAnyTime, port.read) &&
           shared_sample(in, name, kAnyTime, port.read) && port.reads == before + 2;
  };
  CHECK(reads_itself("", "counters.a.1"));
  CHECK(reads_itself(dir.path(), "../counters"));
  const auto open_to_all = dir / "all";
  REQUIRE(::mkdir(open_to_all.c_str(), 0700) == 0);
  REQUIRE(::chmod(open_to_all.c_str(), 0777) == 0);
  CHECK(reads_itself(open_to_all, "counters.a.1"));
  REQUIRE(::symlink(dir.path().c_str(), (dir / "link").c_str()) == 0);
  CHECK(reads_itself(dir / "link", "counters.a.1"));
  std::ofstream(dir / "else") << "something else";
  REQUIRE(::symlink((dir / "else").c_str(), (dir / "counters.b.1").c_str()) == 0);
  CHECK(reads_itself(dir.path(), "counters.b.1"));
  REQUIRE(::mkfifo((dir / "counters.c.1").c_str(), 0600) == 0);
  CHECK(reads_itself(dir.path(), "counters.c.1"));
}

TEST_CASE("what is no sample, or of before the node's start, is read anew") {
  const TempDir dir;
  Read port;
  for (const char* text : {"", "nonsense", "other-boot-id 5\nrcvd_pkts 9\n"}) {
    std::ofstream(dir / "counters.a.1") << text;
    REQUIRE(::chmod((dir / "counters.a.1").c_str(), 0600) == 0);
    const int before = port.reads;
    CHECK(shared_sample(dir.path(), "counters.a.1", kAnyTime, port.read));
    CHECK(port.reads == before + 1);
  }
}

TEST_CASE("a counter that the firmware refuses is asked for once") {
  CHECK(nnd::test::holds_in_child([] {
    Tree tree;
    const std::string port = "class/infiniband/mlx5_9/ports/1/hw_counters/";
    tree.write(port + "refused", "\n").write(port + "counted", "5\n");
    const int watch = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    // Closing is told in between: the same event twice in turn would be one.
    ::inotify_add_watch(watch, (tree.root() + "/" + port + "refused").c_str(),
                        IN_OPEN | IN_CLOSE_NOWRITE);
    watch_counters(tree.root());
    count_port("mlx5_9", 1);
    for (int i = 0; i < 5; ++i) sample_counters();
    alignas(inotify_event) char events[4096];
    return ::read(watch, events, sizeof(events)) == 2 * static_cast<ssize_t>(sizeof(inotify_event));
  }));
}
