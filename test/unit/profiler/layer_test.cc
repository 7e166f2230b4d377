// What the profiler layer makes of NCCL's calls, in every version of the API.
#include <string>
#include <vector>

#include "profiler/handle.h"
#include "profiler/nccl.h"
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

TEMPLATE_TEST_CASE("a connection is labelled at its first request", "", EVERY_VERSION) {
  Nccl<TestType> nccl;
  const int raised = nccl.own_mask;
  CHECK((raised & profile::kProxyStep) != 0);
  CHECK((raised & profile::kNetPlugin) == (Nccl<TestType>::kExact ? profile::kNetPlugin : 0));
  for (const bool sends : {true, false}) {
    Connected c(sends);
    void* const task = nccl.all_reduce(0, 1000);
    void* const op = nccl.op(task, 5, 7, sends);
    void* const step = nccl.step(op);
    CHECK(c.labels().how == state::LabelOrigin::kNot);
    nccl.posted(*c.at, op, step, sends);
    const state::Labels labels = c.labels();
    CHECK(labels.how ==
          (Nccl<TestType>::kExact ? state::LabelOrigin::kExact : state::LabelOrigin::kJoined));
    CHECK(labels.rank == kRank);
    CHECK(labels.peer_rank == 7);
    CHECK(labels.channel == 5);
    CHECK(labels.comm == kHash);
    CHECK(labels.purpose == state::Purpose::kCollective);
    CHECK_FALSE(c.at->unlabelled);
    // Nobody asks any more.
    CHECK((nccl.own_mask & (profile::kProxyStep | profile::kNetPlugin)) == 0);
    CHECK((nccl.own_mask & profile::kColl) != 0);
  }
  Connected another(true);
  state::want_label(*another.at);
  CHECK(nccl.own_mask == raised);
}

// A job may call all its collectives before the first request on a new connection.
TEST_CASE("the mask is raised for requests on a new connection, until the watch has looked twice") {
  Nccl<nccl_abi::ProfilerV3> nccl;
  const int raised = nccl.own_mask;
  state::set_mask();
  const int lowered = nccl.own_mask;
  CHECK(lowered != raised);
  state::expect_requests();
  CHECK(nccl.own_mask == raised);
  {
    Connected c(true);
    state::want_label(*c.at);
  }
  CHECK(nccl.own_mask == raised);
  state::look_at_expected();
  CHECK(nccl.own_mask == raised);
  state::look_at_expected();
  CHECK(nccl.own_mask == lowered);
  state::look_at_expected();
  CHECK(nccl.own_mask == lowered);
}

TEMPLATE_TEST_CASE("of a connection that is gone nobody waits for the label", "", EVERY_VERSION) {
  Nccl<TestType> nccl;
  const int raised = nccl.own_mask;
  {
    Connected c(true);
    state::want_label(*c.at);
    CHECK(nccl.own_mask == raised);
  }
  CHECK(nccl.own_mask != raised);
}

TEMPLATE_TEST_CASE("the wrong direction is no label", "", EVERY_VERSION) {
  Nccl<TestType> nccl;
  Connected c(true);
  void* const op = nccl.op(nccl.all_reduce(0, 1), 0, 1, false);
  nccl.posted(*c.at, op, nccl.step(op), false);
  CHECK(c.labels().how == state::LabelOrigin::kNot);
}

TEMPLATE_TEST_CASE("what another process's operation carries is left alone", "", EVERY_VERSION) {
  Nccl<TestType> nccl;
  Connected c(true);
  Nccl<TestType> stranger(&nccl.own_mask);
  void* const own_context = stranger.context;
  stranger.context = reinterpret_cast<void*>(0xdead0000beef);
  void* const op = stranger.op(reinterpret_cast<void*>(0xfeed0000beef), 2, 6, true, ::getpid() + 1);
  void* const step = stranger.step(op);
  stranger.posted(*c.at, op, step, true);
  CHECK(c.labels().channel == 2);
  CHECK(c.labels().peer_rank == 6);
  CHECK(c.labels().comm == 0);
  CHECK(c.labels().relayed);
  CHECK(c.labels().rank == (Nccl<TestType>::kExact ? kRank : -1));
  // Nor is it trusted where it names this process.
  nccl.stop(stranger.op(reinterpret_cast<void*>(0xfeed0000beef), 2, 6, true));
  nccl.stop(stranger.all_reduce(1, 1, reinterpret_cast<void*>(0xfeed0000beef)));
  stranger.context = own_context;
}

TEST_CASE("only the word on the very request joins") {
  Nccl<nccl_abi::ProfilerV2> nccl;
  Connected c(true);
  void* const op = nccl.op(nccl.all_reduce(0, 1), 0, 1, true);
  using nccl_abi::ProfilerState;
  state::want_label(*c.at);
  state::last_posted() = c.at;
  nccl.group();  // anything else
  nccl.table.recordEventState(op, ProfilerState::kProxyOpSendTransmitted, nullptr);
  CHECK(c.labels().how == state::LabelOrigin::kNot);
  state::last_posted() = c.at;
  nccl.table.recordEventState(op, ProfilerState::kProxyOpRecvPosted, nullptr);
  CHECK(c.labels().how == state::LabelOrigin::kNot);
  nccl.posted(*c.at, op, nullptr, true);
  CHECK(c.labels().how == state::LabelOrigin::kJoined);
}

TEST_CASE("a net plugin's own events are not ours") {
  Nccl<nccl_abi::ProfilerV5> nccl;
  Connected c(true);
  void* const step = nccl.step(nccl.op(nccl.all_reduce(0, 1), 0, 1, true));
  auto descr = nccl.described(profile::kNetPlugin, step);
  descr.netPlugin = {(1 << 16) | 1, reinterpret_cast<void*>(0x10)};
  nccl.start(descr);
  CHECK(c.labels().how == state::LabelOrigin::kNot);
}

TEMPLATE_TEST_CASE("the last tasks, and how far they are", "", EVERY_VERSION) {
  Nccl<TestType> nccl;
  state::Communicator* communicator = nullptr;
  state::for_each_communicator([&](state::Communicator& one) { communicator = &one; });
  REQUIRE(communicator != nullptr);
  state::TaskSeen seen;
  CHECK_FALSE(communicator->collectives.newest(seen));
  for (std::uint64_t seq = 0; seq < 100; ++seq) {
    void* const task = nccl.all_reduce(seq, 1000, nccl.call(1000));
    REQUIRE(communicator->collectives.newest(seen));
    CHECK(std::string_view(seen.func) == "AllReduce");
    CHECK(seen.seq == seq);
    CHECK(seen.bytes == 4000);
    CHECK(seen.progress == state::Progress::kScheduled);
    CHECK_FALSE(communicator->collectives.unfinished(seen));
    nccl.stop(task);
    void* const op = nccl.op(task, 0, 1, true);
    REQUIRE(communicator->collectives.unfinished(seen));
    CHECK(seen.seq == seq);
    CHECK(seen.progress == state::Progress::kLaunched);
    nccl.stop(op);
    CHECK_FALSE(communicator->collectives.unfinished(seen));
  }
  void* const first = nccl.op(nccl.all_reduce(100, 1), 0, 1, true);
  nccl.op(nccl.all_reduce(101, 1), 0, 1, true);
  REQUIRE(communicator->collectives.unfinished(seen));
  CHECK(seen.seq == 100);
  nccl.stop(first);
  REQUIRE(communicator->collectives.unfinished(seen));
  CHECK(seen.seq == 101);
  CHECK_FALSE(communicator->transfers.newest(seen));
  nccl.send(6, 10);
  REQUIRE(communicator->transfers.newest(seen));
  CHECK(std::string_view(seen.func) == "Send");
  CHECK_FALSE(seen.has_seq);
}

TEMPLATE_TEST_CASE("what was called is counted and told", "", EVERY_VERSION) {
  const auto log = nnd::test::recorded([] {
    Nccl<TestType> nccl;
    for (std::uint64_t seq = 0; seq < 3; ++seq) nccl.all_reduce(seq, 1000, nccl.call(1000));
    nccl.send(6, 64);
  });
  std::vector<std::string> told;
  for (const json& e : log)
    if (e.at("ev") != "summary") told.push_back(e.at("ev"));
  CHECK(told == std::vector<std::string>{"comm.init", "coll.count", "comm.finalize"});
  constexpr int kVersion = Nccl<TestType>::kVersion;
  for (const json& e : log) {
    if (e.at("ev") == "summary") continue;
    INFO(e.dump());
    CHECK(e.at("comm") == "0xc0ffee");
    CHECK(e.at("rank") == kRank);
    CHECK(e.value("nranks", -1) == (kVersion >= 4 ? 8 : -1));
    CHECK(e.value("name", "") == (kVersion >= 4 ? "world" : ""));
    if (e.at("ev") == "comm.init") CHECK(e.at("profiler_api") == kVersion);
    if (e.at("ev") != "coll.count") continue;
    CHECK(e.at("last") == true);
    CHECK(e.at("ran") == json::parse(R"([{"kind":"AllReduce","datatype":"ncclFloat32","algo":"RING",
            "proto":"SIMPLE","calls":3,"bytes":12000,"last_seq":2,"sizes":{"2048":3}},
            {"kind":"Send","datatype":"ncclInt8","calls":1,"bytes":64,"sizes":{"64":1}}])"));
    CHECK(e.contains("called") == (kVersion >= 5));
    if (kVersion >= 5)
      CHECK(e.at("called") == json::parse(R"([{"kind":"AllReduce","datatype":"ncclFloat32",
            "calls":3,"bytes":12000,"sizes":{"2048":3}}])"));
  }
}

TEST_CASE("a datatype that NCCL calls unknown has no size") {
  const auto log = nnd::test::recorded([] {
    Nccl<nccl_abi::ProfilerV5> nccl;
    auto descr = nccl.described(profile::kColl, nullptr);
    descr.coll = {};
    descr.coll.func = "AllReduce";
    descr.coll.datatype = "Unknown";
    descr.coll.count = 1000;
    nccl.start(descr);
    state::TaskSeen seen;
    state::for_each_communicator([&](state::Communicator& one) { one.collectives.newest(seen); });
    CHECK(seen.bytes == 0);
  });
  for (const json& e : log)
    if (e.at("ev") == "coll.count")
      CHECK(e.at("ran") == json::parse(R"([{"kind":"AllReduce","datatype":"Unknown","calls":1}])"));
}

TEST_CASE("what finds no place is counted") {
  Nccl<nccl_abi::ProfilerV5> nccl;
  state::Communicator* communicator = nullptr;
  state::for_each_communicator([&](state::Communicator& one) { communicator = &one; });
  std::vector<std::string> kinds;
  for (std::size_t n = 0; n < state::Communicator::kRan + 3; ++n)
    kinds.push_back("Kind" + std::to_string(n));
  for (const std::string& kind : kinds) {
    auto descr = nccl.described(profile::kColl, nullptr);
    descr.coll = {};
    descr.coll.func = kind.c_str();
    nccl.start(descr);
  }
  CHECK(communicator->not_counted == 3);

  std::vector<state::Communicator*> more;
  while (state::Communicator* const one = state::open_communicator()) more.push_back(one);
  CHECK(more.size() == state::kCommunicators - 1);
  const std::uint64_t before = state::communicators_not_kept();
  {
    Nccl<nccl_abi::ProfilerV5> unkept(&nccl.own_mask);
    CHECK(state::communicators_not_kept() == before + 1);
    unkept.stop(unkept.all_reduce(0, 1, unkept.call(1)));
    unkept.stop(unkept.op(nullptr, 0, 1, true));
  }
  for (state::Communicator* const one : more) state::release_communicator(*one);
}

TEST_CASE("a second NCCL in the process is counted, not labelled") {
  Nccl<nccl_abi::ProfilerV5> first;
  Nccl<nccl_abi::ProfilerV4> second;
  CHECK((second.own_mask & profile::kProxyStep) == 0);
  CHECK((first.own_mask & profile::kProxyStep) != 0);
  first.finalize();
  CHECK_FALSE(state::labelling());
  Nccl<nccl_abi::ProfilerV5> third;
  CHECK(state::labelling());
  CHECK((third.own_mask & profile::kProxyStep) != 0);
}

TEST_CASE("a handle keeps all that is put in") {
  const Handle task{.kind = HandleKind::kTask,
                    .purpose = state::Purpose::kTransfer,
                    .communicator = 511,
                    .task = (std::uint64_t{1} << kTaskBits) - 1};
  const Handle back = unpack(pack(task));
  CHECK(back.kind == task.kind);
  CHECK(back.purpose == task.purpose);
  CHECK(back.communicator == task.communicator);
  CHECK(back.task == task.task);
  const Handle op{.kind = HandleKind::kOp,
                  .purpose = state::Purpose::kCollective,
                  .communicator = 300,
                  .task = (1 << kOpTaskBits) - 1,
                  .sends = true,
                  .channel = 255,
                  .peer = 4194303};
  const Handle step = unpack(step_of(pack(op)));
  CHECK(step.kind == HandleKind::kStep);
  CHECK(step.purpose == op.purpose);
  CHECK(step.communicator == op.communicator);
  CHECK(step.task == op.task);
  CHECK(step.sends);
  CHECK(step.channel == op.channel);
  CHECK(step.peer == op.peer);
}
