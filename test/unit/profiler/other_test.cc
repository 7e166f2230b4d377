// Another profiler that ours calls as well, in every version of the API.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "profiler/handle.h"
#include "profiler/nccl.h"
#include "profiler/pairs.h"
#include "state/communicators.h"
#include "support/catch.h"
#include "support/recorded.h"

using namespace nnd;
using namespace nnd::profiler;
using namespace nnd::profiler::test;
using nlohmann::json;

#define EVERY_VERSION                                                                     \
  nccl_abi::ProfilerV1, nccl_abi::ProfilerV2, nccl_abi::ProfilerV3, nccl_abi::ProfilerV4, \
      nccl_abi::ProfilerV5, nccl_abi::ProfilerV6, nccl_abi::ProfilerV7

namespace {

using nccl_abi::Result;

// Plays the other one: gives out numbers as handles, and keeps what it is told.
template <class Table>
struct Other {
  using Descr = typename Table::Descr;
  struct Began {
    int type;
    void* context;
    void* parent;
    void* handle;
  };
  static inline std::vector<Began> began;
  static inline std::vector<void*> ended, told;
  static inline int wants = 0;
  static inline int* mask = nullptr;
  static inline int inits = 0, finalized = 0;
  static inline Result init_result = Result::kSuccess;
  static inline char context = 0;
  static inline void* given = &context;  // by its init

  static Result init(void** its, int* its_mask) {
    ++inits;
    mask = its_mask;
    *its_mask = wants;
    *its = given;
    return init_result;
  }
  static Result init(void** its, int* its_mask, const char* name, std::uint64_t hash, int nodes,
                     int ranks, int rank, nccl_abi::DebugLogger) {
    CHECK(std::string(name) == "world");
    CHECK(hash == kHash);
    CHECK(nodes == 2);
    CHECK(ranks == 8);
    CHECK(rank == kRank);
    return init(its, its_mask);
  }
  static Result init(void** its, std::uint64_t hash, int* its_mask, const char* name, int nodes,
                     int ranks, int rank, nccl_abi::DebugLogger log) {
    return init(its, its_mask, name, hash, nodes, ranks, rank, log);
  }
  static Result start(void* its, void** handle, Descr* descr) {
    *handle = reinterpret_cast<void*>(0x1000 + began.size());
    began.push_back({static_cast<int>(descr->type), its, descr->parentObj, *handle});
    return Result::kSuccess;
  }
  static Result stop(void* handle) {
    ended.push_back(handle);
    return Result::kSuccess;
  }
  static Result record(void* handle, nccl_abi::ProfilerState, typename Table::StateArgs*) {
    told.push_back(handle);
    return Result::kSuccess;
  }
  static Result finalize(void* its) {
    CHECK(its == given);
    ++finalized;
    return Result::kSuccess;
  }
  static inline const Table table{"other", init, start, stop, record, finalize};

  explicit Other(int wanted, Result result = Result::kSuccess) {
    began.clear();
    ended.clear();
    told.clear();
    wants = wanted;
    init_result = result;
    given = &context;
    inits = finalized = 0;
    Beside<Table>::wrap(&table, Table::kApi);
  }
  ~Other() {
    Beside<Table>::wrap(nullptr, 0);
    *other_mask_place() = 0;
    state::follow_other(0);
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

  std::vector<int> types() const {
    std::vector<int> out;
    for (const Began& one : began) out.push_back(one.type);
    return out;
  }
};

}  // namespace

TEMPLATE_TEST_CASE("both get each event, with their own handles", "", EVERY_VERSION) {
  Other<TestType> other(profile::kColl | profile::kProxyStep);
  {
    Nccl<TestType> nccl;
    CHECK((nccl.own_mask & profile::kProxyStep) != 0);
    Connected c(true);
    void* const task = nccl.all_reduce(0, 1000);
    void* const op = nccl.op(task, 5, 7, true);
    void* const step = nccl.step(op);
    nccl.posted(*c.at, op, step, true);
    CHECK(c.labels().channel == 5);
    CHECK(c.labels().peer_rank == 7);
    CHECK(c.labels().comm == kHash);
    // It still asks for steps, and the connection's label is none of its business.
    CHECK((nccl.own_mask & profile::kProxyStep) != 0);
    CHECK((nccl.own_mask & profile::kNetPlugin) == 0);
    nccl.stop(step);
    nccl.stop(op);
    nccl.stop(task);
    REQUIRE(other.types() ==
            std::vector<int>{profile::kColl, profile::kProxyOp, profile::kProxyStep});
    CHECK(other.began[0].context == &other.context);
    CHECK(other.began[0].parent == nullptr);
    CHECK(other.began[1].parent == other.began[0].handle);
    CHECK(other.began[2].parent == other.began[1].handle);
    CHECK(other.ended ==
          std::vector<void*>{other.began[2].handle, other.began[1].handle, other.began[0].handle});
    // A handle is a parent long after its end.
    nccl.op(task, 6, 1, true);
    CHECK(other.began.back().parent == other.began[0].handle);
  }
  CHECK(other.inits == 1);
  CHECK(other.finalized == 1);
}

TEMPLATE_TEST_CASE("it isn't told what it doesn't ask for", "", EVERY_VERSION) {
  Other<TestType> other(profile::kColl);
  Nccl<TestType> nccl;
  Connected c(true);
  void* const task = nccl.all_reduce(0, 1000);
  void* const op = nccl.op(task, 5, 7, true);
  void* const step = nccl.step(op);
  nccl.posted(*c.at, op, step, true);
  CHECK(c.labels().how != state::LabelOrigin::kNot);
  nccl.stop(step);
  nccl.stop(op);
  nccl.stop(task);
  CHECK(other.types() == std::vector<int>{profile::kColl});
  CHECK(other.ended.size() == 1);
  CHECK(other.told.empty());
  // Ours has counted it all the same.
  state::for_each_communicator([](const state::Communicator& one) {
    state::TaskSeen seen;
    REQUIRE(one.collectives.newest(seen));
    CHECK(seen.ops == 1);
    CHECK(seen.ops_done == 1);
  });
}

TEMPLATE_TEST_CASE("it changes its mask while the job runs", "", EVERY_VERSION) {
  Other<TestType> other(0);
  Nccl<TestType> nccl;
  void* const unseen = nccl.all_reduce(0, 1);
  CHECK(other.began.empty());
  *other.mask = profile::kColl | profile::kProxyCtrl;
  nccl.op(unseen, 0, 1, true);  // of one that it was not told of
  CHECK(other.began.empty());
  CHECK((nccl.own_mask & profile::kProxyCtrl) != 0);
  nccl.stop(nccl.all_reduce(1, 1));
  CHECK(other.types() == std::vector<int>{profile::kColl});
  *other.mask = 0;
  nccl.all_reduce(2, 1);
  CHECK(other.types() == std::vector<int>{profile::kColl});
  CHECK((nccl.own_mask & profile::kProxyCtrl) == 0);
}

TEMPLATE_TEST_CASE("another process's operation reaches it as NCCL tells it", "", EVERY_VERSION) {
  Other<TestType> other(profile::kProxyOp);
  Nccl<TestType> nccl;
  void* const own_context = nccl.context;
  void* const parent = reinterpret_cast<void*>(0xfeed0000beef);
  void* const context = reinterpret_cast<void*>(0xdead0000beef);
  nccl.context = context;
  nccl.stop(nccl.op(parent, 2, 6, true, ::getpid() + 1));
  REQUIRE(other.began.size() == 1);
  CHECK(other.began[0].context == context);
  CHECK(other.began[0].parent == parent);
  CHECK(other.ended.size() == 1);
  nccl.context = own_context;
}

TEMPLATE_TEST_CASE("one whose init fails isn't called, and ours goes on", "", EVERY_VERSION) {
  Other<TestType> other(profile::kColl, Result::kSystemError);
  int failed = 0;
  static int* count = nullptr;
  count = &failed;
  dependencies().other_failed = [](Result rc) {
    CHECK(rc == Result::kSystemError);
    ++*count;
  };
  {
    Nccl<TestType> nccl;
    nccl.stop(nccl.all_reduce(0, 1));
    state::for_each_communicator(
        [](const state::Communicator& one) { CHECK(one.collectives.made == 1); });
  }
  CHECK(failed == 1);
  CHECK(other.began.empty());
  CHECK(other.finalized == 0);
  dependencies() = {};
}

// As Inspector's, where it is not switched on; its finalize crashes on such a context.
TEMPLATE_TEST_CASE("one that gives no context is ended where NCCL would end it", "",
                   EVERY_VERSION) {
  Other<TestType> other(0);
  other.given = nullptr;
  { const Nccl<TestType> nccl; }
  CHECK(other.finalized == (TestType::kApi < 5 ? 1 : 0));
}

TEST_CASE("a place that has gone to another event leads nowhere, and one in use is not taken") {
  REQUIRE(prepare_pairs());
  void* const kept = new_pair({nullptr, reinterpret_cast<void*>(1), 3}, 1, false);
  void* const ended = new_pair({nullptr, reinterpret_cast<void*>(2), 3}, 1, false);
  void* const for_good = new_pair({nullptr, reinterpret_cast<void*>(3), 3}, 1, true);
  REQUIRE(kept != nullptr);
  end_pair(ended);
  end_pair(for_good);
  ChainedHandle pair;
  CHECK(read_pair(ended, pair));
  std::set<void*> handles;
  constexpr int kMoreThanPlaces = 300000;
  for (int n = 0; n < kMoreThanPlaces; ++n) {
    void* const handle = new_pair({nullptr, nullptr, 0}, 2, false);
    if (handle == nullptr || !handles.insert(handle).second) FAIL("not a handle of its own: " << n);
    end_pair(handle);
  }
  CHECK_FALSE(read_pair(ended, pair));
  REQUIRE(read_pair(kept, pair));
  CHECK(pair.theirs == reinterpret_cast<void*>(1));
  REQUIRE(read_pair(for_good, pair));
  CHECK(pair.theirs == reinterpret_cast<void*>(3));
  end_pairs_of(1);
  for (int n = 0; n < kMoreThanPlaces; ++n) end_pair(new_pair({}, 2, false));
  CHECK_FALSE(read_pair(kept, pair));
  CHECK(read_pair(for_good, pair));
  CHECK_FALSE(read_pair(nullptr, pair));
  CHECK_FALSE(read_pair(reinterpret_cast<void*>(0xfffffffffffffffd), pair));
}
