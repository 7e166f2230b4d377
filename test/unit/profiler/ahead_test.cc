// A program runs ahead of what it asks for: the oldest task that is open is named, or none.
#include <stdlib.h>

#include <array>
#include <string>
#include <vector>

#include "profiler/nccl.h"
#include "state/communicators.h"
#include "support/catch.h"

using namespace nnd;
using namespace nnd::profiler;
using namespace nnd::profiler::test;

namespace {

#define EVERY_VERSION                                                                     \
  nccl_abi::ProfilerV1, nccl_abi::ProfilerV2, nccl_abi::ProfilerV3, nccl_abi::ProfilerV4, \
      nccl_abi::ProfilerV5, nccl_abi::ProfilerV6, nccl_abi::ProfilerV7

constexpr std::size_t kKept = state::LastTasks::kKept;

state::Communicator& the_one() {
  state::Communicator* out = nullptr;
  state::for_each_communicator([&](state::Communicator& one) { out = &one; });
  REQUIRE(out != nullptr);
  return *out;
}

// NCCL up to 2.26 tells the begin of an operation when it is its turn, from 2.27 on when it is
// queued. An operation's end is told when it is over, a task's once it is launched.
template <class Table>
class Ahead {
 public:
  void give(std::uint64_t count) {
    for (std::uint64_t n = 0; n < count; ++n) {
      void* const task = nccl.all_reduce(tasks_.size(), 1000, nccl.call(1000));
      nccl.stop(task);
      tasks_.push_back(task);
      ops_.push_back({nullptr, nullptr});
      if (kQueued) begin(tasks_.size() - 1);
    }
  }
  void begin(std::size_t n) {
    if (ops_[n][0] == nullptr)
      ops_[n] = {nccl.op(tasks_[n], 0, 1, true), nccl.op(tasks_[n], 0, 7, false)};
  }
  void end(std::size_t n) {
    begin(n);
    for (void* const op : ops_[n]) nccl.stop(op);
  }

  Nccl<Table> nccl;

 private:
  static constexpr bool kQueued = Nccl<Table>::kVersion >= 4;
  std::vector<void*> tasks_;
  std::vector<std::array<void*, 2>> ops_;
};

// -1: none, or not known.
std::int64_t oldest_open(const state::Work& work = {}) {
  state::TaskSeen seen;
  if (!the_one().collectives.unfinished(seen, work)) return -1;
  CHECK(seen.has_seq);
  return static_cast<std::int64_t>(seen.seq);
}

}  // namespace

TEMPLATE_TEST_CASE("the oldest open collective, however far the program ran ahead", "",
                   EVERY_VERSION) {
  const auto ahead = static_cast<std::uint64_t>(GENERATE(17, 100, 500));
  Ahead<TestType> job;
  job.give(6);
  for (std::size_t n = 0; n < 5; ++n) job.end(n);
  job.begin(5);
  job.give(ahead);
  CHECK(oldest_open() == 5);
  state::TaskSeen newest;
  REQUIRE(the_one().collectives.newest(newest));
  CHECK(newest.seq == ahead + 5);
  CHECK(newest.ordinal == ahead + 6);
  // It goes on, one after the other.
  for (std::size_t n = 5; n + 1 < ahead + 6; ++n) {
    job.end(n);
    job.begin(n + 1);
    REQUIRE(oldest_open() == static_cast<std::int64_t>(n + 1));
  }
  job.end(ahead + 5);
  CHECK(oldest_open() == -1);
}

TEMPLATE_TEST_CASE("what is open keeps its place, and nothing is named in place of what has none",
                   "", EVERY_VERSION) {
  Ahead<TestType> job;
  const std::size_t all = 3 * kKept;
  job.give(6);
  for (std::size_t n = 0; n < 5; ++n) job.end(n);
  job.begin(5);
  job.give(all - 6);
  CHECK(oldest_open() == 5);
  for (std::size_t n = 5; n + 1 < all; ++n) {
    job.end(n);
    job.begin(n + 1);
    const auto named = oldest_open();
    if (named != -1) REQUIRE(named == static_cast<std::int64_t>(n + 1));
  }
  job.end(all - 1);
  CHECK(oldest_open() == -1);
  // All of it is over, and what comes next is known again.
  job.give(1);
  job.begin(all);
  CHECK(oldest_open() == static_cast<std::int64_t>(all));
}

TEMPLATE_TEST_CASE("an all-to-all of 64 peers: each connection's own send or receive", "",
                   EVERY_VERSION) {
  constexpr int kPeers = 64;
  Nccl<TestType> nccl;
  std::vector<void*> ops;
  for (int round = 0; round < 3; ++round)
    for (int peer = 0; peer < kPeers; ++peer)
      for (const bool sends : {true, false}) {
        const auto count = static_cast<std::uint64_t>(1000 * (round + 1) + 2 * peer + sends);
        void* const task = sends ? nccl.send(peer, count) : nccl.receive(peer, count);
        ops.push_back(nccl.op(task, peer % 8, peer, sends));
        nccl.stop(task);
      }
  const auto bytes = [](int peer, bool sends) -> std::uint64_t {
    state::TaskSeen seen;
    if (!the_one().transfers.unfinished(seen, {.channel = peer % 8, .peer = peer, .sends = sends}))
      return 0;
    CHECK(seen.peer == peer);
    CHECK_FALSE(seen.has_seq);
    CHECK(std::string_view(seen.func) == (sends ? "Send" : "Recv"));
    return seen.bytes;
  };
  for (int peer = 0; peer < kPeers; ++peer) {
    CHECK(bytes(peer, true) == 1001 + 2 * static_cast<std::uint64_t>(peer));
    CHECK(bytes(peer, false) == 1000 + 2 * static_cast<std::uint64_t>(peer));
  }
  nccl.stop(ops[2 * 40]);  // the first send to rank 40
  CHECK(bytes(40, true) == 2081);
  CHECK(bytes(40, false) == 1080);
  CHECK(bytes(41, true) == 1083);
  for (void* const op : ops) nccl.stop(op);
  CHECK(bytes(40, true) == 0);
}

TEST_CASE("of collectives that run beside each other the one on the connection's channel") {
  Nccl<nccl_abi::ProfilerV5> nccl;
  void* const first = nccl.op(nccl.all_reduce(0, 1), 2, 1, true);
  nccl.op(nccl.all_reduce(1, 1), 3, 1, true);
  CHECK(oldest_open() == 0);
  CHECK(oldest_open({.channel = 2}) == 0);
  CHECK(oldest_open({.channel = 3}) == 1);
  CHECK(oldest_open({.channel = 4}) == -1);
  nccl.stop(first);
  CHECK(oldest_open() == 1);
  CHECK(oldest_open({.channel = 2}) == -1);
}

// NCCL from 2.27 on tells the begin of CollNet's operations, and no release their end.
TEST_CASE("a collective whose end is not told is not taken to be open") {
  Nccl<nccl_abi::ProfilerV5> nccl;
  const char* const algo = GENERATE("COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "RING");
  auto descr = nccl.described(profile::kColl, nullptr);
  descr.coll = {};
  descr.coll.func = "AllReduce";
  descr.coll.datatype = "ncclFloat32";
  descr.coll.algo = algo;
  descr.coll.proto = "SIMPLE";
  descr.coll.count = 1;
  nccl.op(nccl.start(descr), 0, 1, true);
  CHECK(oldest_open() == (algo == std::string("RING") ? 0 : -1));
}

TEST_CASE("where copies inside a node have operations whose end is not told, nothing is open") {
  ::setenv("NCCL_SHM_USE_CUDA_MEMCPY", "1", 1);
  const auto named = [](auto&& nccl) {
    nccl.op(nccl.all_reduce(0, 1), 0, 1, true);
    return oldest_open();
  };
  CHECK(named(Nccl<nccl_abi::ProfilerV3>()) == 0);
  CHECK(named(Nccl<nccl_abi::ProfilerV4>()) == -1);
  ::unsetenv("NCCL_SHM_USE_CUDA_MEMCPY");
  CHECK(named(Nccl<nccl_abi::ProfilerV4>()) == 0);
}

TEST_CASE("a call that has no place has its number all the same") {
  Ahead<nccl_abi::ProfilerV5> job;
  job.give(kKept);
  CHECK(the_one().collectives.made.load() == kKept);
  void* const call = job.nccl.call(1);
  CHECK(the_one().collectives.made.load() == kKept + 1);
  job.nccl.all_reduce(kKept, 1, call);
  CHECK(the_one().collectives.made.load() == kKept + 1);
}
