// What the black box keeps of whom its process waits for.
#include "state/awaited.h"

#include <signal.h>

#include <string>

#include "fixture.h"
#include "support/catch.h"

using namespace nnd::record;
using namespace nnd::record::testing;
namespace state = nnd::state;
namespace box = nccl_net_diag::box;

namespace {

box::AwaitedSlot seen(const TempDir& dir) {
  return read_box(read_file(dir / "log.nndbox")).header.awaited;
}

void waits_for(nnd::diagnosis::RootKind kind) {
  state::Awaited awaited;
  awaited.kind = kind;
  awaited.who.proc = 0xbeef;
  awaited.who.rank = 3;
  awaited.who.pid = 812;
  awaited.who.host = "node1";
  awaited.since_ns = 77;
  state::awaited().set(awaited);
}

}  // namespace

TEST_CASE("the black box has whom its process waits for in the end, as long as it does") {
  const TempDir dir;
  const int status = in_child([&] {
    start(log_to(dir / "log.jsonl"));
    if (seen(dir).kind != 0) return 1;
    waits_for(nnd::diagnosis::RootKind::kStopped);
    if (!eventually([&] { return seen(dir).kind != 0; })) return 2;
    state::awaited().set({});
    if (!eventually([&] { return seen(dir).kind == 0; })) return 3;
    waits_for(nnd::diagnosis::RootKind::kEnded);
    if (!eventually([&] { return seen(dir).kind != 0; })) return 4;
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  CHECK(WTERMSIG(status) == SIGKILL);
  const box::AwaitedSlot left = seen(dir);
  CHECK(std::string(box::kAwaitedNames[left.kind]) == "ended");
  CHECK(left.proc == 0xbeef);
  CHECK(left.rank == 3);
  CHECK(left.pid == 812);
  CHECK(left.since_mono_ns == 77);
  CHECK(std::string(left.host) == "node1");
  CHECK(std::string(left.msg) == "in the end for rank 3 of node1 (pid 812), which has ended");
}

TEST_CASE("the black box has who comes last to collectives") {
  const TempDir dir;
  in_child([&] {
    start(log_to(dir / "log.jsonl"));
    state::Latecomer late;
    late.who.proc = 0xbeef;
    late.who.rank = 3;
    late.who.host = "node1";
    late.times = 14;
    late.of = 15;
    late.us = 120'000;
    state::latecomer().set(late);
    if (!eventually(
            [&] { return read_box(read_file(dir / "log.nndbox")).header.latecomer.of != 0; }))
      return 1;
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  std::string bytes = read_file(dir / "log.nndbox");
  const box::LatecomerSlot left = read_box(bytes).header.latecomer;
  CHECK(left.times == 14);
  CHECK(left.of == 15);
  CHECK(left.us == 120'000);
  CHECK(left.rank == 3);
  CHECK(left.pid == 0);
  CHECK(std::string(left.host) == "node1");
  bytes[offsetof(box::FileHeader, latecomer) + offsetof(box::LatecomerSlot, rank)] ^= 1;
  CHECK(read_box(bytes).header.latecomer.of == 0);
}

TEST_CASE("a box of before there was such a place, or with one that is damaged, has none") {
  const TempDir dir;
  in_child([&] {
    start(log_to(dir / "log.jsonl"));
    waits_for(nnd::diagnosis::RootKind::kEnded);
    if (!eventually([&] { return seen(dir).kind != 0; })) return 1;
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  const std::string bytes = read_file(dir / "log.nndbox");
  REQUIRE(read_box(bytes).header.awaited.kind != 0);
  std::string old = bytes;
  auto header = read_box(bytes).header;
  header.version = 4;
  header.checksum = box::Checksum().add(&header, offsetof(box::FileHeader, checksum)).value();
  old.replace(0, sizeof(header), reinterpret_cast<const char*>(&header), sizeof(header));
  CHECK(read_box(old).problem.empty());
  CHECK(read_box(old).header.awaited.kind == 0);
  std::string damaged = bytes;
  damaged[offsetof(box::FileHeader, awaited) + offsetof(box::AwaitedSlot, rank)] ^= 1;
  CHECK(read_box(damaged).problem.empty());
  CHECK(read_box(damaged).header.awaited.kind == 0);
}
