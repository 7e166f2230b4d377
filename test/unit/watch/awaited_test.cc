// What is told of whom this process waits for in the end, beside job.stall itself.
#include "state/awaited.h"

#include "context/clock.h"
#include "record/event.h"
#include "scene.h"
#include "watch/summary.h"

using namespace nnd::watch::test;
namespace state = nnd::state;

namespace {

struct Known {
  Known() {
    state::Awaited awaited;
    awaited.kind = nnd::diagnosis::RootKind::kEnded;
    awaited.who = {.proc = 0xbeef, .rank = 3, .pid = 812, .host = {}};
    awaited.who.host = "node1";
    awaited.doing.func = "AllReduce";
    awaited.doing.ordinal = 12;
    awaited.doing.number = 11;
    awaited.hops = 2;
    awaited.since_ns = nnd::context::mono_ns();
    state::awaited().set(awaited);
  }
  ~Known() { state::awaited().set({}); }
};

json only_stall() {
  const Said out = said([] {
    Scene scene;
    Comm recv(ConnectionKind::kRecv);
    recv.ready();
    scene.pass(1);
    recv.post(RequestKind::kRecv);
    scene.pass(12);
  });
  REQUIRE(out.stalls.size() == 1);
  return out.stalls[0];
}

}  // namespace

TEST_CASE("a stall says whom its process waits for in the end, where that is known") {
  CHECK_FALSE(only_stall().contains("awaited"));
  const Known known;
  const json stall = only_stall();
  const json& awaited = stall.at("awaited");
  CHECK(awaited.at("kind") == "ended");
  CHECK(awaited.at("proc") == "0xbeef");
  CHECK(awaited.at("rank") == 3);
  CHECK(awaited.at("host") == "node1");
  CHECK(awaited.at("pid") == 812);
  CHECK(awaited.at("hops") == 2);
  CHECK(awaited.at("task") == json{{"kind", "AllReduce"}, {"ordinal", 12}, {"seq", 11}});
  CHECK(stall.at("msg").get<std::string>().find(
            "; this process waits in the end for rank 3 of node1 (pid 812), which has ended.") !=
        std::string::npos);
}

TEST_CASE("the summary says it too") {
  const auto summary = [] {
    const auto events = nnd::test::recorded([] {
      nnd::record::Event e(nnd::record::EventId::kSummary);
      e.with([](nnd::record::Pack& fields) { nnd::watch::add_summary(fields, {}, false); });
      e.emit();
    });
    return nnd::test::only(events, "summary").at(0);
  };
  CHECK_FALSE(summary().contains("awaited"));
  const Known known;
  const json said = summary();
  CHECK(said.at("awaited").at("proc") == "0xbeef");
  CHECK(said.at("network").at("msg").get<std::string>().ends_with(
      " It waited in the end for rank 3 of node1 (pid 812), which has ended."));
}
