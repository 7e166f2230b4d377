// What `top` makes of two looks: rates, waits, and what is folded.
#include "cli/top/json.h"
#include "cli/top/words.h"
#include "support/catch.h"
#include "top_made.h"

using namespace nnd::cli;
using namespace nnd::test;
using nlohmann::json;

namespace {

View after_one(const Look& look) { return Tracker(0).see(look); }

View after_two(const Look& before, const Look& now) {
  Tracker tracker(0);
  tracker.see(before);
  return tracker.see(now);
}

View of_one(const SeenProcess& process) {
  return after_one(made_look(static_cast<double>(process.header.alive_mono_ns) / kSec, {process}));
}

}  // namespace

TEST_CASE("a rate is what has come since the look before, on the box's own clock", "[top]") {
  // The second look comes two seconds later, and finds a box that is 1.6 s older.
  const auto view = after_two(
      made_look(100, {made_process(7, 99.9,
                                   {{.conn = 1, .kind = "send", .bytes = 1'000'000'000},
                                    {.conn = 2, .kind = "recv", .bytes = 500'000'000}})}),
      made_look(102, {made_process(7, 101.5,
                                   {{.conn = 1, .kind = "send", .bytes = 3'000'000'000},
                                    {.conn = 2, .kind = "recv", .bytes = 700'000'000},
                                    {.conn = 3, .kind = "recv", .bytes = 200'000'000}})}));
  REQUIRE(view.processes.size() == 1);
  CHECK(view.seconds == Approx(2));
  const auto& process = view.processes[0];
  CHECK(process.rate.out.value() == Approx(10));  // 2 GB in 1.6 s
  CHECK(process.rate.in.value() == Approx(2));    // what is new has moved all of it since
  REQUIRE(process.rails.size() == 1);
  CHECK(process.rails[0].hca == "mlx5_0:1");
  CHECK(process.rails[0].rate.out.value() == Approx(10));
  CHECK(process.rails[0].sends == 1);
  CHECK(process.rails[0].receives == 2);
}

TEST_CASE("beside a rail's rate stands its share of the port's speed", "[top]") {
  const auto seen = [](std::uint64_t bytes, double alive) {
    auto out = made_process(7, alive,
                            {{.conn = 1, .kind = "send", .bytes = bytes},
                             {.conn = 2, .kind = "recv", .bytes = bytes / 2},
                             {.conn = 3, .device = "mlx5_1"}});
    out.port_mbps = {{"mlx5_0:1", 400000}};  // the log doesn't tell of the other
    return out;
  };
  const auto view =
      after_two(made_look(100, {seen(0, 100)}), made_look(101, {seen(10'000'000'000, 101)}));
  const auto& rails = view.processes[0].rails;
  REQUIRE(rails.size() == 2);
  CHECK(rails[0].of_port().value() == Approx(0.2));  // 80 of 400 Gbit/s
  CHECK_FALSE(rails[1].of_port());
  const json shown = top_json(view)["processes"][0]["rails"];
  CHECK(shown[0]["port_gbit_per_s"] == 400);
  CHECK(shown[0]["of_port"].get<double>() == Approx(0.2));
  CHECK_FALSE(shown[1].contains("of_port"));
  CHECK(part_text(rails[0].of_port()) == "20%");
  CHECK(part_text(0.0004) == "0.04%");
  CHECK(part_text({}) == "-");
}

TEST_CASE("no rate is told where there is none to tell", "[top]") {
  const auto process = made_process(7, 99.9, {{.bytes = 1000}});
  CHECK_FALSE(after_one(made_look(100, {process})).processes[0].rate.out);
  // A box that has not changed, and a process that was not there.
  CHECK_FALSE(
      after_two(made_look(100, {process}), made_look(101, {process})).processes[0].rate.out);
  CHECK_FALSE(after_two(made_look(100, {}), made_look(101, {process})).processes[0].rate.out);
  // Counters that went back, as a hostile box's may.
  const auto view =
      after_two(made_look(100, {process}), made_look(101, {made_process(7, 101, {{.bytes = 10}})}));
  CHECK(view.processes[0].rate.out.value() == 0);
}

TEST_CASE("only what is in flight waits, since something came last", "[top]") {
  const auto wait = [](const MadeConnection& one) {
    return of_one(made_process(7, 100, {one})).processes[0].connections[0].wait_sec;
  };
  CHECK_FALSE(wait({.started = 5, .completed = 5, .posted = 20, .done = 30}));
  CHECK_FALSE(wait({.started = 5, .completed = 4, .failed = 1, .posted = 20, .done = 30}));
  // Read while a request ended: more ended than began.
  CHECK_FALSE(wait({.started = 5, .completed = 6, .posted = 20, .done = 30}));
  CHECK(wait({.started = 5, .completed = 4, .posted = 20, .done = 30}).value() == Approx(70));
  CHECK(wait({.started = 1, .posted = 20}).value() == Approx(80));
  // After a pause it is what was posted then that waits.
  CHECK(wait({.started = 5, .completed = 4, .posted = 90, .done = 30}).value() == Approx(10));
  // The box's clock may be a little behind the counters.
  CHECK(wait({.started = 1, .posted = 100.05}).value() == 0);
}

TEST_CASE("who has looked before knows that a later post is not what waits", "[top]") {
  const auto look = [](double now, MadeConnection one) {
    return made_look(now, {made_process(7, now, {std::move(one)})});
  };
  const auto wait = [](const View& view) {
    return view.processes[0].connections[0].wait_sec.value();
  };
  Tracker tracker(0);
  tracker.see(look(100, {.started = 3, .completed = 2, .posted = 95, .done = 94}));
  CHECK(wait(tracker.see(look(101, {.started = 4, .completed = 2, .posted = 101, .done = 94}))) ==
        Approx(6));
  CHECK(wait(tracker.see(look(102, {.started = 4, .completed = 2, .posted = 101, .done = 94}))) ==
        Approx(7));
  // One has completed.
  CHECK(wait(tracker.see(look(
            103, {.started = 4, .completed = 3, .posted = 101, .done = 102.5}))) == Approx(0.5));
}

TEST_CASE("a connection that is being made waits since it was begun", "[top]") {
  for (const char* const stage : {"opening", "qp_made", "init", "rtr", "rts"}) {
    INFO(stage);
    const auto view =
        of_one(made_process(7, 100, {{.stage = stage, .rank = 3, .peer = 1, .opened = 94}}));
    const auto& one = view.processes[0].connections[0];
    CHECK(one.wait_sec.value() == Approx(6));
    CHECK(one.being_made());
    CHECK(one.waits_long());
    CHECK(view.processes[0].rails[0].being_made == 1);
    CHECK(view.processes[0].rails[0].sends == 0);
    CHECK(top_verdict(view) ==
          "1 process, 1 connection; rank 3's connection to rank 1 over "
          "mlx5_0:1 is not ready after 6.0 s (stage " +
              std::string(stage) + ", pid 7).");
  }
  CHECK_FALSE(of_one(made_process(7, 100, {{.stage = "rtr", .opened = 96}}))
                  .processes[0]
                  .connections[0]
                  .waits_long());
}

TEST_CASE("rails and processes in natural order", "[top]") {
  std::vector<MadeConnection> conns;
  for (const char* const device : {"mlx5_10", "mlx5_2", "mlx5_2"})
    conns.push_back({.conn = static_cast<std::uint32_t>(conns.size() + 1), .device = device});
  const auto view = after_one(
      made_look(100, {with_rank(made_process(7, 100, conns), 10, 16), made_process(6, 100, {}),
                      with_rank(made_process(9, 100, {}), 2, 16)}));
  std::vector<int> pids;
  for (const auto& process : view.processes) pids.push_back(process.pid);
  CHECK(pids == std::vector{9, 7, 6});  // by rank, and those without one last
  REQUIRE(view.processes[1].rails.size() == 2);
  CHECK(view.processes[1].rails[0].hca == "mlx5_2:1");
  CHECK(view.processes[1].rails[0].sends == 2);
  CHECK(view.processes[1].rails[1].hca == "mlx5_10:1");
}

TEST_CASE("a process's rank is its rank in the job", "[top]") {
  const auto rank = [](const SeenProcess& process) {
    const auto view = of_one(process);
    const auto& shown = view.processes[0];
    return std::pair(shown.rank.value_or(-1), shown.nranks.value_or(-1));
  };
  using Pair = std::pair<int, int>;
  const auto small = made_comm(0x1, 1, 2, {}), large = made_comm(0x2, 5, 8, {});
  CHECK(rank(made_process(7, 100, {}, {small, large})) == Pair{5, 8});
  CHECK(rank(with_rank(made_process(7, 100, {}, {small, large}), 4, 8)) == Pair{5, 8});
  CHECK(rank(with_rank(made_process(7, 100, {}, {small, large}), 13, 16)) == Pair{13, 16});
  CHECK(rank(with_rank(made_process(7, 100, {}), 3, 4)) == Pair{3, 4});
  CHECK(rank(made_process(7, 100, {}, {made_comm(0, -1, -1, {})})) == Pair{-1, -1});
}

TEST_CASE("the verdict names what has waited longest, and in what", "[top]") {
  const auto comm = made_comm(
      0x1f, 3, 8, {{.seq = 4712, .ops = 0}, {.seq = 4711, .ops = 4, .ops_done = 2, .changed = 80}});
  const auto first = made_process(
      70, 100,
      {{.conn = 1,
        .kind = "recv",
        .rank = 3,
        .peer = 7,
        .started = 9,
        .completed = 8,
        .posted = 87,
        .done = 88,
        .comm = 0x1f},
       {.conn = 2, .rank = 3, .peer = 4, .started = 9, .completed = 8, .posted = 88, .done = 89}},
      {comm});
  const auto second =
      with_rank(made_process(71, 100, {{.kind = "recv", .started = 1, .posted = 88.5}}), 4, 8);
  const auto view = after_one(made_look(100, {second, first}));
  CHECK(long_waits(view).size() == 3);
  CHECK(top_verdict(view) ==
        "2 processes, 3 connections; rank 3's receive from rank 7 over mlx5_0:1 has waited for "
        "12.0 s (AllReduce #4711, pid 70), and 2 more as well.");
}

TEST_CASE("who has heard whom all wait for says so, and that one is to be looked at", "[top]") {
  const auto waiting = with_rank(
      made_process(70, 100,
                   {{.kind = "recv", .peer = 7, .started = 9, .completed = 8, .posted = 87}}),
      0, 8);
  const auto seen_with = [&](const std::string& kind, const std::string& msg) {
    return after_one(made_look(100, {that_awaits(waiting, kind, 3, 812, msg)}));
  };
  const auto idle =
      seen_with("idle", "in the end for rank 3 of node1 (pid 812), which waits for nobody");
  CHECK(top_verdict(idle).ends_with(
      "; rank 0 (pid 70) waits in the end for rank 3 of node1 (pid 812), which waits for nobody."));
  CHECK(look_at(idle)->who == "rank 3 on node1");
  CHECK(look_at(idle)->command == "py-spy dump --pid 812");
  const auto stopped = seen_with("stopped", "...");
  CHECK(look_at(stopped)->command == "ps -o pid,stat,wchan:24,args -p 812");
  const auto ended = seen_with("ended", "...");
  CHECK(look_at(ended)->who == "rank 0");
  const auto shown = top_json(idle).at("processes").at(0).at("awaited");
  CHECK(shown.at("kind") == "idle");
  CHECK(shown.at("rank") == 3);
  CHECK(shown.at("host") == "node1");
  CHECK(shown.at("age_sec") == Approx(5));
  CHECK_FALSE(top_json(of_one(waiting)).at("processes").at(0).contains("awaited"));
}

TEST_CASE("a connection without a communicator is of the only one, where it is labelled", "[top]") {
  const auto verdict = [](int rank, const std::vector<box::CommSlot>& comms) {
    return top_verdict(of_one(made_process(
        7, 100, {{.kind = "recv", .rank = rank, .peer = 1, .started = 1, .posted = 80}}, comms)));
  };
  const auto comm = [](std::uint64_t hash) {
    return made_comm(hash, 0, 2, {{.seq = 4, .ops = 2, .ops_done = 1, .changed = 80}});
  };
  CHECK(verdict(0, {comm(0x1f)}).ends_with(" has waited for 20.0 s (AllReduce #4, pid 7)."));
  CHECK(verdict(0, {comm(0x1f), comm(0x2f)}).ends_with(" has waited for 20.0 s (pid 7)."));
  CHECK(verdict(-1, {comm(0x1f)}).ends_with(" has waited for 20.0 s (pid 7)."));
}

TEST_CASE("a healthy job's verdict names nobody", "[top]") {
  // Posted early, for less than the watch's age; and one that is idle for long.
  const auto process = [](double alive, std::uint64_t bytes) {
    return made_process(
        7, alive,
        {{.conn = 1,
          .kind = "recv",
          .started = 2,
          .completed = 1,
          .bytes = bytes,
          .posted = 92,
          .done = 91},
         {.conn = 2, .started = 2, .completed = 2, .bytes = bytes, .posted = 1, .done = 2}});
  };
  const auto view =
      after_two(made_look(100, {process(100, 0)}), made_look(101, {process(101, 250'000'000)}));
  CHECK(long_waits(view).empty());
  CHECK(top_verdict(view) ==
        "1 process, 2 connections: 2.0 Gbit/s out, 2.0 Gbit/s in; nothing has waited for 10 s.");
}

TEST_CASE("ranks of a communicator are not taken for the job's", "[top]") {
  const auto view = of_one(with_rank(
      made_process(
          7, 100,
          {{.kind = "recv", .rank = 0, .peer = 1, .started = 1, .posted = 80, .comm = 0x1f}},
          {made_comm(0x1f, 0, 2, {})}),
      12, 16));
  CHECK(top_verdict(view) ==
        "1 process, 1 connection; rank 0's receive from rank 1 over mlx5_0:1 has waited for 20.0 s "
        "(ranks of communicator 0x1f, rank 12 of the job, pid 7).");
}

TEST_CASE("a collective that stands still is told where no request does", "[top]") {
  const std::vector<MadeTask> tasks{{.seq = 3, .ops = 8, .ops_done = 5, .changed = 85}};
  const auto process = [&](double done) {
    return made_process(7, 100, {{.started = 2, .completed = 2, .done = done}},
                        {made_comm(0x1f, 1, 2, tasks)});
  };
  CHECK(top_verdict(of_one(process(85))) ==
        "1 process, 1 connection; AllReduce #3 of rank 1 (pid 7) has not moved for 15.0 s (5 of 8 "
        "operations done).");
  // A long one moves.
  CHECK(top_verdict(of_one(process(99))) ==
        "1 process, 1 connection; nothing has waited for 10 s.");
}

TEST_CASE("what failed, is silent and has ended is said first", "[top]") {
  const auto first = with_rank(
      made_process(7, 100, {{.stage = "failed", .rank = 0, .peer = 1, .started = 1, .posted = 1}}),
      0, 3);
  const auto second = with_rank(made_process(8, 92, {}), 1, 3);
  const auto third = with_rank(made_process(9, 100, {}), 2, 3);
  const auto view =
      after_two(made_look(99, {first, second, third}), made_look(100, {first, second}));
  CHECK(
      top_verdict(view) ==
      "2 processes, 1 connection; rank 0's connection to rank 1 over mlx5_0:1 has failed (pid 7); "
      "rank 1 (pid 8) has shown no sign of life for 8.0 s; rank 2 (pid 9) has ended; nothing has "
      "waited for 10 s.");
  // Whose box changes lives, whatever its clock shows.
  CHECK_FALSE(
      after_two(made_look(99, {made_process(8, 91, {})}), made_look(100, {made_process(8, 92, {})}))
          .processes[0]
          .silent_sec);
  CHECK(top_verdict(after_two(made_look(99, {third}), made_look(100, {}))) ==
        "No process is left; rank 2 (pid 9) has ended.");
}

TEST_CASE("the members for programs", "[top]") {
  const auto process = [](double alive, std::uint64_t bytes) {
    return with_rank(
        made_process(
            7, alive,
            {{.conn = 4,
              .kind = "recv",
              .rank = 1,
              .peer = 0,
              .channel = 2,
              .started = 9,
              .completed = 8,
              .bytes = bytes,
              .posted = 80,
              .done = 85,
              .comm = 0x1f}},
            {made_comm(0x1f, 1, 2,
                       {{.seq = 3, .bytes = 64, .ops = 2, .ops_done = 1, .changed = 85}})}),
        1, 2);
  };
  auto look = made_look(101, {process(101, 125'000'000)});
  look.unread.push_back({12, "its black box has layout version 9"});
  const json out = top_json(after_two(made_look(100, {process(100, 0)}), look));
  CHECK(out["seconds"] == Approx(1));
  REQUIRE(out["processes"].size() == 1);
  const json& one = out["processes"][0];
  CHECK(one["pid"] == 7);
  CHECK(one["host"] == "node0");
  CHECK(one["proc"] == "0xa007");
  CHECK(one["rank"] == 1);
  CHECK(one["nranks"] == 2);
  CHECK(one["gbit_per_s_in"] == Approx(1));
  CHECK_FALSE(one.contains("gbit_per_s_out"));  // no connection sends
  CHECK(one["rails"] == json{{{"hca", "mlx5_0:1"},
                              {"sends", 0},
                              {"receives", 1},
                              {"being_made", 0},
                              {"in_flight", 1},
                              {"failed", 0},
                              {"gbit_per_s_in", 1.0},
                              {"wait_sec", 16.0}}});
  const json& conn = one["connections"][0];
  CHECK(conn["conn"] == 4);
  CHECK(conn["kind"] == "recv");
  CHECK(conn["peer_rank"] == 0);
  CHECK(conn["channel"] == 2);
  CHECK(conn["in_flight"] == 1);
  CHECK(conn["wait_sec"] == Approx(16));
  CHECK(conn["qps"] == json{{{"num", 21}, {"remote_num", 34}}});
  CHECK(one["communicators"][0]["comm"] == "0x1f");
  CHECK(one["communicators"][0]["moved_sec"] == Approx(16));
  CHECK(out["waits"] == json{{{"pid", 7},
                              {"conn", 4},
                              {"sec", 16.0},
                              {"msg",
                               "rank 1's receive from rank 0 over mlx5_0:1 has waited for 16.0 s "
                               "(AllReduce #3, pid 7)"}}});
  CHECK(out["unread"] == json{{{"pid", 12}, {"why", "its black box has layout version 9"}}});
  CHECK(out["ended"].empty());
  CHECK(out["gone"].empty());
  CHECK(out["look_at"] == json{{"who", "rank 1"}, {"command", "py-spy dump --pid 7"}});
  look = made_look(102, {process(102, 125'000'000)});
  look.real_ns = 1'767'225'600'000'000'000;
  Tracker tracker(0);
  tracker.see(made_look(101, {process(101, 0), with_rank(made_process(9, 101, {}), 0, 2)}));
  const json gone = top_json(tracker.see(look));
  CHECK(gone["at"] == "2026-01-01 00:00:00 UTC");
  CHECK(gone["ended"] == json{9});
  REQUIRE(gone["gone"].size() == 1);
  CHECK(gone["gone"][0]["pid"] == 9);
  CHECK(gone["gone"][0]["rank"] == 0);
  CHECK(gone["gone"][0]["died"] == false);
}
