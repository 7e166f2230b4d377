// Who has not come to what others are in, by the collectives of each communicator.
#include "report/collectives.h"

#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using nnd::log::Task;
using nnd::report::test::Made;
using nnd::report::test::ranks;
namespace t = nnd::report::test;

namespace {

constexpr const char* kComm = "0x1f";

Task task(const std::string& kind, std::uint64_t ordinal, std::uint64_t bytes = 4096) {
  Task out;
  out.kind = kind;
  out.ordinal = ordinal;
  out.seq = ordinal - 1;
  out.bytes = bytes;
  out.ops = 2;
  return out;
}

struct Job : Made {
  explicit Job(int processes) {
    ring(processes);
    for (int i = 0; i < processes; ++i) {
      auto out = event(i, t::EventId::kCommInit, 0.5);
      out.comm = kComm;
      out.rank = i;
      out.nranks = processes;
      out.seq = 1;
      add(out);
    }
  }
  // It waits for its neighbour, inside this.
  void wait(int process, const Task& in, const std::string& comm = kComm) {
    const int peer = (process + 3) % 4;
    auto out = of(peer, process, t::Direction::kRecv, t::EventId::kConnStall, 30);
    out.kind = "nothing-came";
    out.age_us = 20e6;
    out.comm = comm;
    out.rank = process;
    out.task = in;
    add(out);
  }
  void idle(int process, const Task& last) {
    auto out = event(process, t::EventId::kConnStall, 90);
    out.kind = "idle";
    out.age_us = 80e6;
    out.communicators.push_back({kComm, process, last});
    add(out);
  }
};

}  // namespace

TEST_CASE("who was not given what others wait in is behind", "[collectives]") {
  Job job(4);
  for (const int i : {0, 1, 3}) job.wait(i, task("AllReduce", 5));
  job.idle(2, task("AllReduce", 4));
  const auto report = analyse(job.input);
  CHECK(report.kind == Kind::kHang);
  CHECK(report.blame == Blame::kNotNetwork);
  REQUIRE(report.waits.apart.size() == 1);
  const auto& apart = report.waits.apart[0];
  CHECK(apart.kind == Apart::Kind::kBehind);
  CHECK(apart.comm == kComm);
  CHECK(apart.inside == 3);
  CHECK(apart.most.task.ordinal == 5);
  CHECK(ranks(report.picture, apart.others.members) == std::vector{2});
  CHECK(apart.others.task.ordinal == 4);
  REQUIRE_FALSE(report.waits.sinks.empty());
  CHECK(report.waits.sinks[0].kind == Sink::Kind::kIdle);
  CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{2});
  CHECK(report.waits.sinks[0].apart == 0);
}

TEST_CASE("inside a node no connection shows for whom one waits: the collectives do",
          "[collectives]") {
  Job job(6);  // 4 and 5 have no stall of their own
  for (const int i : {0, 1, 2, 3}) job.wait(i, task("AllReduce", 5));
  nnd::log::Communicator late;
  late.rank = 4;
  late.tasks = {task("AllReduce", 4)};
  job.input.job.set_communicator(Made::proc(4), kComm, late);
  const auto report = analyse(job.input);
  REQUIRE_FALSE(report.waits.sinks.empty());
  CHECK(report.waits.sinks[0].kind == Sink::Kind::kBehind);
  CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{4});
  CHECK(report.waits.sinks[0].waiting == 4);
  CHECK(report.blame == Blame::kNotNetwork);
  job.input.job.cut_off(Made::proc(5));  // what it may have told of
  CHECK(analyse(job.input).blame == Blame::kOpen);
}

TEST_CASE("of those that are behind, who has called fewest keeps the others", "[collectives]") {
  Job job(6);  // two to a node
  for (const int i : {0, 1, 2, 3}) job.wait(i, task("AllReduce", 5));
  const auto given = [&](int process, std::uint64_t ordinal, std::uint64_t calls) {
    nnd::log::Communicator late;
    late.rank = process;
    late.tasks = {task("AllReduce", ordinal)};
    late.given = calls;
    job.input.job.set_communicator(Made::proc(process), kComm, late);
  };
  std::vector<int> behind{5};
  SECTION("where all calls are counted") {
    given(4, 4, 4);
    given(5, 3, 3);
  }
  SECTION("both, where they are not") {
    given(4, 4, 0);
    given(5, 3, 3);
    behind = {4, 5};
  }
  const auto report = analyse(job.input);
  REQUIRE_FALSE(report.waits.sinks.empty());
  CHECK(report.waits.sinks[0].kind == Sink::Kind::kBehind);
  CHECK(ranks(report.picture, report.waits.sinks[0].members) == behind);
}

TEST_CASE("who waits is not late where another of those that are behind does not",
          "[collectives]") {
  Job job(4);
  job.wait(0, task("ReduceScatter", 9));
  for (const int i : {1, 3}) job.stall(i, "no-receive", 30, 20, (i + 1) % 4, t::Direction::kSend);
  for (const int i : {1, 2, 3}) {
    nnd::log::Communicator behind;
    behind.rank = i;
    behind.tasks = {task("Broadcast", i == 2 ? 3 : 8)};
    job.input.job.set_communicator(Made::proc(i), kComm, behind);
  }
  const auto report = analyse(job.input);
  REQUIRE(report.waits.apart.size() == 1);
  CHECK(report.waits.apart[0].kind == Apart::Kind::kBehind);
  CHECK(ranks(report.picture, report.waits.apart[0].others.members) == std::vector{2});
  CHECK(report.waits.apart[0].others.task.ordinal == 3);
}

// Of one that sends for a neighbour of its node NCCL may not tell whose it is.
TEST_CASE("who is done with its last collective is late, though something is left to send there",
          "[collectives]") {
  Job job(4);
  const std::uint64_t done = GENERATE(1, 2);  // of its two operations
  for (const int i : {2, 3}) job.wait(i, task("Broadcast", 9));
  job.connect(1, 3);
  job.stall(1, "no-receive", 30, 20, 3, t::Direction::kSend);
  nnd::log::Communicator late;
  late.rank = 1;
  late.tasks = {task("ReduceScatter", 8)};
  late.tasks[0].ops_done = done;
  late.given = 8;
  job.input.job.set_communicator(Made::proc(1), kComm, late);
  const auto apart = analyse(job.input).waits.apart;
  REQUIRE(apart.size() == (done == 2 ? 1 : 0));
  if (done == 2) CHECK(ranks(picture_of(job.input), apart[0].others.members) == std::vector{1});
}

TEST_CASE("where all that are behind wait, none of them is late", "[collectives]") {
  Job job(2);
  job.wait(0, task("ReduceScatter", 9));
  job.stall(1, "nothing-came", 30, 20, 0);
  nnd::log::Communicator behind;
  behind.rank = 1;
  behind.tasks = {task("Broadcast", 8)};
  job.input.job.set_communicator(Made::proc(1), kComm, behind);
  CHECK(analyse(job.input).waits.apart.empty());
}

TEST_CASE("who was given it, or waits inside another communicator, is not behind",
          "[collectives]") {
  Job job(4);
  for (const int i : {0, 1}) job.wait(i, task("AllReduce", 5));
  job.idle(2, task("AllReduce", 5));
  job.wait(3, task("AllGather", 9), "0x2e");
  nnd::log::Communicator late;
  late.rank = 3;
  late.tasks = {task("AllReduce", 4)};
  job.input.job.set_communicator(Made::proc(3), kComm, late);
  CHECK(apart_in_collectives(picture_of(job.input)).empty());
}

namespace {

// As boxes tell it: what its program has called, none of it seen on the network.
void called(Job& job, int process, std::uint64_t ordinal, std::uint64_t ops_done = 0) {
  nnd::log::Communicator one;
  one.rank = process;
  one.tasks = {task("AllReduce", ordinal)};
  one.tasks[0].ops_done = ops_done;
  one.given = ordinal;
  job.input.job.set_communicator(Made::proc(process), kComm, one);
}

}  // namespace

TEST_CASE("whose program has called fewer collectives than all the others' is behind",
          "[collectives]") {
  Job job(4);
  for (const int i : {0, 1, 3}) called(job, i, 14);
  called(job, 2, 13);
  SECTION("where somebody waits") {
    job.stall(3, "nothing-came", 30, 20, 2);
    const auto report = analyse(job.input);
    CHECK(report.kind == Kind::kHang);
    CHECK(report.blame == Blame::kNotNetwork);
    REQUIRE(report.waits.apart.size() == 1);
    CHECK(report.waits.apart[0].most.task.ordinal == 14);
    CHECK(report.waits.apart[0].inside == 1);
    CHECK_FALSE(report.waits.apart[0].most.task.seq);
    REQUIRE_FALSE(report.waits.sinks.empty());
    CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{2});
  }
  SECTION("where nobody waits it is what a moment shows") {
    CHECK(analyse(job.input).waits.apart.empty());
  }
  SECTION("unless that one waits") {
    job.stall(2, "nothing-came", 30, 20, 1);
    CHECK(analyse(job.input).waits.apart.empty());
  }
  SECTION("though it has something left to send of what it is done with") {
    job.stall(3, "nothing-came", 30, 20, 2);
    job.connect(2, 1);
    job.stall(2, "no-receive", 30, 20, 1, t::Direction::kSend);
    called(job, 2, 13, 2);
    const auto report = analyse(job.input);
    REQUIRE(report.waits.apart.size() == 1);
    CHECK(report.waits.apart[0].inside == 1);
    REQUIRE_FALSE(report.waits.sinks.empty());
    CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{2});
  }
  SECTION("unless it is the network that keeps others from calling the next") {
    for (int i = 0; i < 4; ++i) job.box(i, false, 40);
    job.stuck_send(0, 1, 30, 20);
    CHECK(analyse(job.input).blame == Blame::kNetwork);
  }
}

TEST_CASE("counts tell nothing where not all of them are known", "[collectives]") {
  Job job(4);
  for (const int i : {0, 3}) called(job, i, 14);
  called(job, 2, 13);
  job.stall(3, "nothing-came", 30, 20, 2);
  SECTION("of one rank") { CHECK(analyse(job.input).waits.apart.empty()); }
  SECTION("up to NCCL 2.27, which doesn't tell of each call") {
    called(job, 1, 14);
    for (int i = 0; i < 4; ++i) {
      auto load = job.event(i, t::EventId::kPluginLoad, 0);
      load.nccl_version = "2.27.7";
      job.add(load);
    }
    CHECK(analyse(job.input).waits.apart.empty());
  }
}

TEST_CASE("one step of a communicator that is another collective for some is a mismatch",
          "[collectives]") {
  Job job(4);
  for (const int i : {0, 1, 3}) job.wait(i, task("AllReduce", 5));
  job.wait(2, task("Broadcast", 5));
  const auto report = analyse(job.input);
  CHECK(report.kind == Kind::kHang);
  CHECK(report.blame == Blame::kNotNetwork);
  REQUIRE(report.waits.apart.size() == 1);
  const auto& apart = report.waits.apart[0];
  CHECK(apart.kind == Apart::Kind::kMismatched);
  CHECK(apart.most.task.kind == "AllReduce");
  CHECK(ranks(report.picture, apart.most.members) == std::vector{0, 1, 3});
  CHECK(apart.others.task.kind == "Broadcast");
  CHECK(ranks(report.picture, apart.others.members) == std::vector{2});
  CHECK(report.waits.sinks[0].kind == Sink::Kind::kMismatched);
}

TEST_CASE(
    "communicators with one hash, as NCCL makes them by shrinking twice, are compared with none",
    "[collectives]") {
  Job job(4);
  for (const int i : {0, 1, 3}) job.wait(i, task("AllReduce", 5));
  job.wait(2, task("Broadcast", 5));
  SECTION("told by the log") {
    auto again = job.event(3, t::EventId::kCommInit, 0.7);
    again.comm = kComm;
    again.rank = 2;
    again.nranks = 3;
    again.seq = 2;
    job.add(again);
  }
  SECTION("told by the black box") {
    nnd::log::Communicator both;
    both.several = true;
    job.input.job.set_communicator(Made::proc(3), kComm, both);
  }
  const Picture picture = picture_of(job.input);
  CHECK(picture.several == std::set<std::string>{kComm});
  CHECK(apart_in_collectives(picture).empty());
  CHECK(incomplete_communicators(picture).empty());
  CHECK(picture.by_comm_rank.empty());
}

TEST_CASE("the net's word of a communicator beside the profiler's is no second one",
          "[collectives]") {
  Job job(4);
  for (int i = 0; i < 4; ++i) {
    auto net = job.event(i, t::EventId::kCommInit, 0.4);
    net.comm = kComm;
    net.net_api = 11;
    net.seq = 2;
    job.add(net);
  }
  CHECK(picture_of(job.input).several.empty());
}

TEST_CASE("other sizes are a mismatch, another step is none", "[collectives]") {
  Job sizes(2);
  sizes.wait(0, task("AllReduce", 5, 4096));
  sizes.wait(1, task("AllReduce", 5, 8192));
  const auto apart = apart_in_collectives(picture_of(sizes.input));
  REQUIRE(apart.size() == 1);
  CHECK(apart[0].kind == Apart::Kind::kMismatched);
  Job steps(2);  // the second one has done its part of the fifth, and gone on
  steps.wait(0, task("AllReduce", 5));
  steps.wait(1, task("Broadcast", 6));
  CHECK(apart_in_collectives(picture_of(steps.input)).empty());
}

TEST_CASE("without the ordinal nothing is said", "[collectives]") {
  Job job(2);
  auto unknown = task("AllReduce", 5);
  unknown.ordinal = 0;
  job.wait(0, unknown);
  job.idle(1, task("AllReduce", 4));
  CHECK(apart_in_collectives(picture_of(job.input)).empty());
}

TEST_CASE("what stalls for the network stays the network's", "[collectives]") {
  Job job(4);
  for (const int i : {0, 1, 3}) job.wait(i, task("AllReduce", 5));
  job.idle(2, task("AllReduce", 4));
  job.stall(1, "stuck-send", 30, 20, 2, t::Direction::kSend);
  CHECK(analyse(job.input).blame == Blame::kNetwork);
}

TEST_CASE("NCCL's own number of ranks says who has no log", "[collectives]") {
  Job job(4);
  Made other;
  for (const int i : {0, 1, 3}) {
    auto out = other.event(i, t::EventId::kCommInit, 0.5);
    out.comm = kComm;
    out.rank = i;
    out.nranks = 4;
    other.add(out);
  }
  const auto picture = picture_of(other.input);
  CHECK(picture.world_size == 4);
  const auto missing = missing_of(picture, {});
  CHECK(missing.ranks == std::set{2});
  REQUIRE(missing.incomplete.size() == 1);
  CHECK(missing.incomplete[0].ranks == std::set{2});
  CHECK(missing.incomplete[0].missing == 1);
  CHECK(missing_of(picture_of(job.input), {}).incomplete.empty());
}

TEST_CASE("a peer whose address is nobody's is known by its rank", "[collectives]") {
  Job job(4);
  auto out = job.event(0, t::EventId::kConnStall, 30);
  out.kind = "nothing-came";
  out.age_us = 20e6;
  out.comm = kComm;
  out.rank = 0;
  out.peer.rank = 3;
  job.add(out);
  const auto waits = waits_of(picture_of(job.input));
  REQUIRE(waits.waits.size() == 1);
  REQUIRE(waits.waits[0].peer.has_value());
}

namespace {

using nnd::report::test::Calls;

void close(Made& made, int process, double sec, const Calls& called, std::uint64_t finished) {
  t::close(made, process, sec, kComm, called, finished);
}

void leave(Made& made, int process, double sec, std::optional<int> status) {
  auto out = made.event(process, t::EventId::kSummary, sec);
  out.exit_status = status;
  made.add(out);
}

}  // namespace

TEST_CASE("counts by kind show that ranks were not given the same collectives", "[collectives]") {
  Job job(4);
  for (const int i : {0, 1, 3}) close(job, i, 20, {{"AllReduce", 6}}, 5);
  close(job, 2, 21, {{"AllGather", 1}, {"AllReduce", 5}}, 5);
  const auto apart = apart_in_collectives(picture_of(job.input));
  REQUIRE(apart.size() == 1);
  CHECK(apart[0].kind == Apart::Kind::kMismatched);
  CHECK(apart[0].most.members.size() == 3);
  CHECK(apart[0].others.members.size() == 1);
  CHECK(apart[0].by_calls);
  CHECK(apart[0].others.calls == nnd::log::Calls{{{"AllGather", "", 0}, 1}});
  CHECK(apart[0].most.calls == nnd::log::Calls{{{"AllReduce", "", 0}, 1}});
}

TEST_CASE("unlike collectives that nobody waited in are told of", "[collectives]") {
  const Calls most{{"AllReduce", 6}}, other{{"AllGather", 1}, {"AllReduce", 5}};
  Job job(4);
  for (int i = 0; i < 4; ++i) {
    close(job, i, 20, i == 2 ? other : most, 6);
    leave(job, i, 21, std::optional(0));
  }
  const auto picture = picture_of(job.input);
  CHECK(apart_in_collectives(picture).empty());
  const auto unlike = quiet_mismatches(picture);
  REQUIRE(unlike.size() == 1);
  CHECK(unlike[0].comm == kComm);
  CHECK(unlike[0].others.members.size() == 1);
  CHECK(unlike[0].others.calls == nnd::log::Calls{{{"AllGather", "", 0}, 1}});
  CHECK(unlike[0].most.calls == nnd::log::Calls{{{"AllReduce", "", 0}, 1}});

  // As all were given the same, or one was given fewer and left earlier.
  for (const Calls& last : {most, Calls{{"AllReduce", 5}}, Calls{{"AllGather", 1}}}) {
    Job others(4);
    for (int i = 0; i < 4; ++i) {
      const Calls& given = i == 2 ? last : most;
      close(others, i, 20, given, given.front().second);
      leave(others, i, 21, std::optional(0));
    }
    CHECK(quiet_mismatches(picture_of(others.input)).empty());
  }
}

TEST_CASE("counts of communicators that were given up outweigh what a stall told",
          "[collectives]") {
  Job job(2);
  job.wait(1, task("AllGather", 6));
  close(job, 0, 40, {{"AllReduce", 6}}, 5);
  close(job, 1, 41, {{"AllGather", 1}, {"AllReduce", 5}}, 5);
  const auto apart = apart_in_collectives(picture_of(job.input));
  REQUIRE(apart.size() == 1);
  CHECK(apart[0].kind == Apart::Kind::kMismatched);
  CHECK(apart[0].others.calls.size() + apart[0].most.calls.size() == 2);
}

TEST_CASE("other sizes and types of one kind are a mismatch, and told", "[collectives]") {
  const auto apart_of = [](const char* datatype, std::uint64_t bytes, std::uint64_t size) {
    Job job(2);
    for (const int i : {0, 1}) {
      auto counts = job.event(i, t::EventId::kCollCount, 20);
      counts.comm = kComm;
      nnd::log::CallCount usual;
      usual.kind = "AllReduce";
      usual.datatype = "ncclFloat32";
      usual.calls = 5;
      usual.bytes = 5 * 262144;
      usual.sizes = {{262144, 5}};
      nnd::log::CallCount last = usual;
      last.calls = 1;
      last.bytes = i == 0 ? 262144 : bytes;
      last.sizes = {{i == 0 ? 262144 : size, 1}};
      if (i == 1) last.datatype = datatype;
      counts.called = {usual, last};
      counts.ran = {usual};
      counts.ran.front().finished = 5;
      job.add(counts);
      auto closed = job.event(i, t::EventId::kCommFinalize, 20);
      closed.comm = kComm;
      job.add(closed);
    }
    const auto apart = apart_in_collectives(picture_of(job.input));
    if (apart.empty()) return Stand();
    const auto picture = picture_of(job.input);
    return ranks(picture, apart[0].others.members) == std::vector{1} ? apart[0].others
                                                                     : apart[0].most;
  };
  const auto size = apart_of("ncclFloat32", 16777216, 16777216);
  CHECK(size.calls == nnd::log::Calls{{{"AllReduce", "ncclFloat32", 16777216}, 1}});
  CHECK(size.exact);
  CHECK_FALSE(apart_of("ncclFloat32", 16777220, 16777216).exact);
  const auto type = apart_of("ncclFloat16", 262144, 262144);
  CHECK(type.calls == nnd::log::Calls{{{"AllReduce", "ncclFloat16", 262144}, 1}});
  CHECK(apart_of("ncclFloat32", 262144, 262144).members.empty());  // all alike
}

TEST_CASE("who was given fewer is known where one told of its wait and all gave up",
          "[collectives]") {
  Job job(4);
  job.wait(1, task("AllReduce", 156));
  for (const int i : {0, 1, 2}) close(job, i, 40, {{"AllReduce", 205}}, 155);
  close(job, 3, 41, {{"AllReduce", 155}}, 155);
  const auto report = analyse(job.input);
  REQUIRE(report.waits.apart.size() == 1);
  CHECK(report.waits.apart[0].kind == Apart::Kind::kBehind);
  CHECK(ranks(report.picture, report.waits.apart[0].others.members) == std::vector{3});
  CHECK(report.blame == Blame::kNotNetwork);
}

TEST_CASE("who waits for one that gave up is not behind it", "[collectives]") {
  Job job(4);
  close(job, 0, 40, {{"AllReduce", 12}}, 11);
  for (const int i : {1, 2, 3}) close(job, i, 41, {{"AllReduce", 11}}, 11);
  CHECK(apart_in_collectives(picture_of(job.input)).size() == 1);
  CHECK(apart_in_collectives(picture_of(job.input), {{1, 2, 3}, {}}).empty());
}

TEST_CASE("who gives up what it had hardly waited for does so for no one's being late",
          "[collectives]") {
  const auto found = [](double oldest_us) {
    Job job(4);
    auto out = job.of(0, 1, t::Direction::kSend, t::EventId::kConnClose, 39.9);
    out.in_flight = 1;
    out.oldest_us = oldest_us;
    job.add(out);
    close(job, 0, 40, {{"AllReduce", 12}}, 11);
    for (const int i : {1, 2, 3}) close(job, i, 41, {{"AllReduce", 11}}, 11);
    return !apart_in_collectives(picture_of(job.input)).empty();
  };
  CHECK(found(13e6));
  CHECK_FALSE(found(0.5e6));
}

TEST_CASE("who gives up with nothing under way waited for a neighbour of its node, or nobody",
          "[collectives]") {
  const auto found = [](int who) {
    Job job(3);  // the last is alone on its host
    auto out = job.of(who, 1, t::Direction::kSend, t::EventId::kConnClose, 39.9);
    out.in_flight = 0;
    job.add(out);
    for (const int i : {0, 1, 2})
      close(job, i, i == who ? 40 : 41, {{"AllReduce", i == who ? 12u : 11u}}, 11);
    return !apart_in_collectives(picture_of(job.input)).empty();
  };
  CHECK(found(0));
  CHECK_FALSE(found(2));
}

TEST_CASE("who was done with fewer is not late, the programs differ", "[collectives]") {
  const auto kind_of = [](std::optional<int> status) {
    Job job(2);
    close(job, 0, 20, {{"AllReduce", 6}}, 6);
    leave(job, 0, 20.1, status);
    close(job, 1, 30, {{"AllReduce", 7}}, 6);
    const auto apart = apart_in_collectives(picture_of(job.input));
    REQUIRE(apart.size() == 1);
    return apart[0].kind;
  };
  CHECK(kind_of(0) == Apart::Kind::kMismatched);
  CHECK(kind_of(1) == Apart::Kind::kBehind);  // it ended of something else
  CHECK(kind_of({}) == Apart::Kind::kBehind);
}

TEST_CASE("who sends for a neighbour of its node does not wait itself", "[collectives]") {
  Job job(4);
  const bool own = GENERATE(false, true);
  for (const int process : {2, 3}) job.wait(process, task("Broadcast", 8));
  auto out = job.of(1, 3, t::Direction::kSend, t::EventId::kConnStall, 30);
  out.kind = "no-receive";
  out.age_us = 20e6;
  out.comm = kComm;
  out.rank = own ? 1 : 0;
  job.add(out);
  auto last = job.event(1, t::EventId::kSummary, 31);
  last.communicators.push_back({kComm, 1, task("AllReduce", 7), 7});
  last.started = last.completed = 3;
  job.add(last);
  const auto report = analyse(job.input);
  if (own) {
    CHECK(report.waits.apart.empty());
    return;
  }
  REQUIRE(report.waits.apart.size() == 1);
  CHECK(ranks(report.picture, report.waits.apart[0].others.members) == std::vector{1});
}

TEST_CASE("who sends for one whose log is not here does not wait itself", "[collectives]") {
  Job job(4);
  job.wait(2, task("Broadcast", 8));  // for 1
  auto out = job.of(1, 3, t::Direction::kSend, t::EventId::kConnStall, 30);
  out.kind = "no-receive";
  out.age_us = 20e6;
  out.comm = kComm;
  const bool own = GENERATE(false, true);
  out.rank = own ? 1 : 9;
  job.add(out);
  const auto report = analyse(job.input);
  REQUIRE(report.waits.sinks.size() == 1);
  CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{own ? 3 : 1});
}
