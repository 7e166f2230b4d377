// How fast collectives went, by what the plugin counts and by what NCCL's Inspector writes.
#include "report/bandwidth.h"

#include "foreign/inspector.h"
#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using Catch::Matchers::WithinRel;
using nnd::report::test::Made;
namespace t = nnd::report::test;

namespace {

// Four calls of 1 MiB in so long.
void count(Made& made, int process, const char* kind, double sec, std::optional<int> nranks) {
  auto out = made.event(process, t::EventId::kCollCount, 9);
  out.comm = "0x1f";
  out.rank = process;
  out.nranks = nranks;
  out.comm_name = "default_pg";
  auto& ran = out.ran.emplace_back();
  ran.kind = kind;
  ran.calls = 4;
  ran.bytes = 4 << 20;
  ran.busy[1 << 20] = {4, 4 << 20, static_cast<std::uint64_t>(sec * 1e9)};
  made.add(out);
}

std::string line(const std::string& collective, int sn, std::uint64_t bytes, std::uint64_t us,
                 const std::string& name = "default_pg") {
  return R"({"header":{"id":"0x1f","comm_name":")" + name +
         R"(","rank":2,"n_ranks":4,"nnodes":2},"metadata":{"inspector_output_format_version":"v4.0",)"
         R"("hostname":"node1","pid":71},"coll_perf":{"coll":")" +
         collective + R"(","coll_sn":)" + std::to_string(sn) + R"(,"coll_msg_size_bytes":)" +
         std::to_string(bytes) + R"(,"coll_exec_time_us":)" + std::to_string(us) +
         R"(,"coll_timing_source":"kernel_gpu","coll_algobw_gbs":0,"coll_busbw_gbs":0}})";
}

}  // namespace

TEST_CASE("bandwidth of what the plugin counted: the median of the ranks", "[bandwidth]") {
  Made made;
  made.ring(4);
  struct Expected {
    const char* kind;
    double data, bus;  // by the bytes of the count
  };
  const auto expected = GENERATE(Expected{"AllReduce", 1, 1.5}, Expected{"AllGather", 4, 3},
                                 Expected{"ReduceScatter", 4, 3}, Expected{"Broadcast", 1, 1});
  for (int i = 0; i < 4; ++i) count(made, i, expected.kind, i == 0 ? 1 : 0.004, 4);
  const auto found = analyse(made.input).bandwidths;
  REQUIRE(found.size() == 1);
  CHECK(found[0].collective == expected.kind);
  CHECK(found[0].name == "default_pg");
  CHECK(found[0].ranks == 4);
  CHECK(found[0].calls == 4);
  CHECK(found[0].least_bytes == 1 << 20);
  const double of_count = 4 * 1.048576e6 / 4e6;  // GB/s
  CHECK_THAT(found[0].algorithm, WithinRel(of_count * expected.data, 1e-6));
  REQUIRE(found[0].bus);
  CHECK_THAT(*found[0].bus, WithinRel(of_count * expected.bus, 1e-6));
}

TEST_CASE("what the ports carry goes beside it, of the node that has least", "[bandwidth]") {
  Made made;
  made.ring(4);
  for (int i = 0; i < 4; ++i) {
    count(made, i, "AllReduce", 1, 4);
    auto closed = made.of(i, (i + 1) % 4, t::Direction::kSend, t::EventId::kConnClose, 10);
    closed.dev.speed_mbps = i == 3 ? 100'000 : 400'000;
    closed.bytes = 1;
    made.add(closed);
  }
  auto gdr = made.event(2, t::EventId::kGdrState, 1);
  gdr.dev = Made::dev(2);
  gdr.facts["way"] = "none";
  made.add(gdr);
  const auto found = analyse(made.input).bandwidths;
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].ports);
  CHECK_THAT(*found[0].ports, WithinRel(62.5, 1e-6));
  CHECK(found[0].through_host == std::set<std::string>{"host1"});
}

TEST_CASE("on one node, or where a speed isn't known, nothing is said of ports", "[bandwidth]") {
  Made made;
  const int processes = GENERATE(2, 4);
  made.ring(processes);
  for (int i = 0; i < processes; ++i) {
    count(made, i, "AllReduce", 1, processes);
    auto closed = made.of(i, (i + 1) % processes, t::Direction::kSend, t::EventId::kConnClose, 10);
    if (processes == 2) closed.dev.speed_mbps = 400'000;
    closed.bytes = 1;
    made.add(closed);
  }
  CHECK_FALSE(analyse(made.input).bandwidths.at(0).ports);
}

TEST_CASE("without the number of ranks what the bus carries isn't known", "[bandwidth]") {
  Made made;
  made.ring(2);
  count(made, 0, "AllReduce", 1, {});
  const auto found = analyse(made.input).bandwidths;
  REQUIRE(found.size() == 1);
  CHECK_FALSE(found[0].bus);
}

TEST_CASE("Inspector's lines are summed up by communicator, rank, function and size",
          "[bandwidth]") {
  nnd::foreign::Inspector inspector;
  CHECK(nnd::foreign::may_be_inspector(line("AllReduce", 1, 4096, 10) + "\n"));
  CHECK(inspector.take(line("AllReduce", 1, 4096, 10)));
  CHECK(inspector.take(line("AllReduce", 2, 5000, 30)));
  CHECK(inspector.take(line("AllReduce", 3, 8192, 30, "unknown")));
  CHECK_FALSE(inspector.take(line("AllReduce", 4, 8192, 0)));
  CHECK_FALSE(inspector.take(line("AllReduce", 4, 8192, 30).substr(0, 200)));
  CHECK_FALSE(inspector.take(R"({"header":{"id":"0x1f","rank":2,"n_ranks":4},"p2p_perf":{}})"));
  const auto all = inspector.take_all();
  REQUIRE(all.size() == 2);
  CHECK(all[0].least_bytes == 4096);
  CHECK(all[0].busy.calls == 2);
  CHECK(all[0].busy.bytes == 9096);
  CHECK(all[0].busy.ns == 40'000);
  CHECK(all[1].name.empty());
  const auto found = bandwidths_of(all);
  REQUIRE(found.size() == 2);
  CHECK(found[0].nranks == 4);
  CHECK_THAT(found[0].algorithm, WithinRel(9096 / 40'000.0, 1e-6));
}

TEST_CASE("of a line without a header the last one counts", "[bandwidth]") {
  nnd::foreign::Inspector inspector;
  const auto perf = line("AllGather", 1, 4096, 10);
  const auto bare = "{" + perf.substr(perf.find("\"coll_perf\""));
  CHECK_FALSE(inspector.take(bare));
  CHECK_FALSE(inspector.take(R"({"header":{"id":"0x2f","rank":1,"n_ranks":2},"metadata":{}})"));
  CHECK(inspector.take(bare));
  CHECK(inspector.take_all().at(0).comm == "0x2f");
}
