// Ports and processes that are unlike the others: slow, unbalanced, late, counting.
#include "report/report.h"
#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using nnd::report::test::box;
using nnd::report::test::lost;
using nnd::report::test::Made;
namespace t = nnd::report::test;

namespace {

// A hundred requests to its neighbour, in its box: of 33 to 67 ms, or of 0.5 to 1 ms.
void send(Made& made, int process, bool slow) {
  nccl_net_diag::box::ConnSlot slot{};
  slot.conn = static_cast<std::uint32_t>(10 + (process + 1) % 8);
  slot.kind = 2;
  slot.latency[slow ? 25 : 19] = 100;
  slot.bytes = 1 << 20;
  made.input.boxes[Made::proc(process)].conns.push_back(slot);
}

}  // namespace

TEST_CASE("a port that is far slower than its siblings", "[slow]") {
  Made made;
  made.ring(8);
  for (int i = 0; i < 8; ++i) {
    auto close = made.of(i, (i + 1) % 8, t::Direction::kSend, t::EventId::kConnClose, 5);
    close.in_flight = 0;
    close.bytes = 1 << 20;
    close.latency = {100, 100 * (i == 3 ? 40e6 : 0.5e6)};
    made.add(close);
  }
  const auto slow = slow_ports(picture_of(made.input));
  REQUIRE(slow.size() == 1);
  CHECK(slow[0].place.host == "host1");
  CHECK(slow[0].place.dev == "mlx5_1");
  CHECK(slow[0].us == 40'000);
  CHECK(slow[0].ports == 8);
}

TEST_CASE("a port that is far slower than three that differ among themselves", "[slow]") {
  Made made;
  made.ring(4);
  const std::vector<double> ms{0.13, 0.25, 1.0, GENERATE(48.0, 7.0)};
  for (int i = 0; i < 4; ++i) {
    auto close = made.of(i, (i + 1) % 4, t::Direction::kSend, t::EventId::kConnClose, 5);
    close.in_flight = 0;
    close.bytes = 1 << 20;
    close.latency = {100, 100e6 * ms.at(static_cast<std::size_t>(i))};
    made.add(close);
  }
  const auto slow = slow_ports(picture_of(made.input));
  REQUIRE(slow.size() == (ms.back() > 10 ? 1 : 0));
  if (!slow.empty()) CHECK(slow[0].us == 48'000);
}

TEST_CASE("and one of connections that were never closed, by the boxes", "[slow]") {
  Made made;
  made.ring(8);
  for (int i = 0; i < 8; ++i) {
    made.box(i, true, 9);
    send(made, i, i == 3);
  }
  const auto slow = slow_ports(picture_of(made.input));
  REQUIRE(slow.size() == 1);
  CHECK(slow[0].place.host == "host1");
  CHECK(slow[0].place.dev == "mlx5_1");
  CHECK(slow[0].us > 33'000);
  CHECK(slow[0].us < 67'200);
  CHECK(slow[0].requests == 100);
}

TEST_CASE("and one of processes that ended with all connections open, by their summaries",
          "[slow]") {
  Made made;
  made.ring(8);
  for (int i = 0; i < 8; ++i) {
    auto end = made.event(i, t::EventId::kSummary, 9);
    end.ports = {{Made::dev(i).name, 1, 100, 1 << 20, i == 3 ? 40'000. : 500.}};
    made.add(end);
  }
  const auto slow = slow_ports(picture_of(made.input));
  REQUIRE(slow.size() == 1);
  CHECK(slow[0].place.host == "host1");
  CHECK(slow[0].place.dev == "mlx5_1");
  CHECK(slow[0].us == 40'000);
}

TEST_CASE("a port that is twice as slow is not worth a word", "[slow]") {
  Made made;
  made.ring(8);
  for (int i = 0; i < 8; ++i) {
    auto close = made.of(i, (i + 1) % 8, t::Direction::kSend, t::EventId::kConnClose, 5);
    close.bytes = 1 << 20;
    close.latency = {100, 100 * (i == 3 ? 10e6 : 5e6)};
    made.add(close);
  }
  CHECK(slow_ports(picture_of(made.input)).empty());
}

TEST_CASE("who dies while a port is slow may have been ended by a watchdog", "[slow]") {
  const bool proven = GENERATE(false, true);
  Made made;
  made.ring(8);
  for (int i = 0; i < 8; ++i) {
    box(made, i, i == 2 ? 9 : 9.6, 8.9, 1);
    send(made, i, i == 5);
  }
  if (proven) made.fail(1, 2, "WC-12", 9.5);  // of what it did for others, it was dead by then
  const auto report = analyse(made.input);
  CHECK(lost(report) == std::vector{2});
  CHECK(report.kind == (proven ? Kind::kLost : Kind::kSlow));
  CHECK(report.blame == (proven ? Blame::kNotNetwork : Blame::kOpen));
}

TEST_CASE("an HCA that sends far less than those of its name", "[balance]") {
  Made made;
  made.ring(12);
  for (int i = 0; i < 12; ++i) {
    auto close = made.of(i, (i + 1) % 12, t::Direction::kSend, t::EventId::kConnClose, 5);
    close.bytes = i == 5 ? 1'000'000 : 900'000'000 + 1'000'000 * static_cast<unsigned>(i);
    made.add(close);
  }
  const auto found = unbalanced(picture_of(made.input));
  REQUIRE(found.size() == 1);
  CHECK(found[0].place.host == "host2");
  CHECK(found[0].place.dev == "mlx5_1");
  CHECK(found[0].effect < -5);
  CHECK(found[0].hosts == 6);
  CHECK(analyse(made.input).kind == Kind::kRunning);  // it may be meant so
}

TEST_CASE("who came last to collectives, by the word of who has compared most", "[late]") {
  Made made;
  made.ring(4);
  CHECK(analyse(made.input).latecomer == nullptr);
  for (int i = 0; i < 4; ++i) {
    auto end = made.event(i, t::EventId::kSummary, 9);
    end.latecomer = {i == 1 ? 0 : 2, "host1", 77, 10, i == 1 ? 10u : 12u, 150'000};
    made.add(end);
  }
  const auto report = analyse(made.input);
  REQUIRE(report.latecomer != nullptr);
  CHECK(report.latecomer->rank == 2);
  CHECK(report.latecomer->of == 12);
  CHECK(report.blame != Blame::kNetwork);
}

TEST_CASE("a process that all its senders wait for", "[late]") {
  for (const bool late : {true, false}) {
    Made made;
    made.ring(8);
    for (int i = 0; i < 8; ++i) {
      auto close = made.of(i, (i + 1) % 8, t::Direction::kSend, t::EventId::kConnClose, 5);
      close.peer_wait_us = late && i == 4 ? 4.3e6 : 100.0 * (1 << i);  // far apart, and nothing
      made.add(close);
    }
    const auto found = late_members(picture_of(made.input));
    REQUIRE(found.size() == (late ? 1 : 0));
    CHECK(analyse(made.input).blame != Blame::kNetwork);
    if (!late) continue;
    CHECK(found[0].member == 5);
    CHECK(found[0].sec == 4.3);
    CHECK(found[0].usual_sec < 0.01);  // as it was seen
    CHECK(found[0].members == 8);
  }
}

TEST_CASE("a port whose counter grew far more than elsewhere", "[counters]") {
  Made made;
  for (int i = 0; i < 8; ++i) {
    made.load(i);
    auto end = made.event(i, t::EventId::kSummary, 9);
    end.counters = {{"mlx5_" + std::to_string(i % 2), 1, {{"port_xmit_packets", 1000 << i}}}};
    if (i == 3) end.counters[0].grown["packet_seq_err"] = 120'000;
    if (i == 4) end.counters[0].grown["packet_seq_err"] = 7;
    made.add(end);
  }
  const auto found = grown_counters(picture_of(made.input));
  REQUIRE(found.size() == 1);
  CHECK(found[0].place.host == "host1");
  CHECK(found[0].place.dev == "mlx5_1");
  CHECK(found[0].counter == "packet_seq_err");
  CHECK(found[0].by == 120'000);
  CHECK(found[0].ports == 8);
}

TEST_CASE("a counter that grows everywhere is nobody's", "[counters]") {
  Made made;
  for (int i = 0; i < 8; ++i) {
    made.load(i);
    auto end = made.event(i, t::EventId::kSummary, 9);
    end.counters = {{"mlx5_0", 1, {{"np_cnp_sent", 50'000 + 9000 * static_cast<unsigned>(i)}}}};
    made.add(end);
  }
  CHECK(grown_counters(picture_of(made.input)).empty());
}
