// Connections over which nothing moves: one verdict each, one line for all that are alike, and a
// warning only for what a healthy job never shows.
#include <atomic>
#include <thread>

#include "scene.h"
#include "state/ports.h"

using namespace nnd::watch::test;
using nnd::watch::Watch;
namespace state = nnd::state;

TEST_CASE("a receive to which nothing comes is told and is no warning; it resumes") {
  const Said out = said([] {
    Scene scene;
    Comm recv(ConnectionKind::kRecv);
    recv.ready();
    scene.pass(1);
    recv.post(RequestKind::kRecv).post(RequestKind::kRecv);
    scene.pass(35);
    recv.done();
    scene.pass(5);
  });
  CHECK(ages(out.stalls) == std::vector{10, 30});
  CHECK(out.warnings.empty());
  const json& first = out.stalls.at(0);
  CHECK(first["kind"] == "nothing-came");
  CHECK(first["cause"] == "HANG-DATA");
  CHECK(first["dir"] == "recv");
  CHECK(first["in_flight"] == 2);
  CHECK(first["process"] == json{{"moving", 0}, {"nothing-came", 1}});
  REQUIRE(out.resumes.size() == 1);
  CHECK(out.resumes[0]["kind"] == "nothing-came");
  CHECK(out.resumes[0]["dur_us"].get<double>() >= 34e6);
}

TEST_CASE("a send that the HCA has and does not end is a warning with the time of its retries") {
  const Said out = said([] {
    Scene scene;
    Comm send(ConnectionKind::kSend);
    send.qp(3, 2).ready();
    scene.pass(1);
    send.post(RequestKind::kSend);
    scene.pass(12);
  });
  REQUIRE(out.warnings.size() == 1);
  const json& warning = out.warnings[0];
  CHECK(warning["kind"] == "stuck-send");
  CHECK(warning["cause"] == "HANG-DATA");
  CHECK(warning["dev"]["name"] == "mlx5_0");
  CHECK(warning["peer"]["gid"] == "::ffff:10.0.0.9");
  CHECK(warning["msg"].get<std::string>().find("gives up about 30 s after") != std::string::npos);
}

TEST_CASE("a port that is down and an address that went are the cause of what waits for them") {
  const auto wait_of = [](auto&& becomes) {
    const Said out = said([&] {
      Scene scene;
      Comm recv(ConnectionKind::kRecv);
      state::ConnectionEnds ends;
      ends.device = "mlx5_0";
      ends.port = 1;
      ends.gid = gid(1);
      ends.gid_index = 3;
      recv.at->ends.set(ends);
      recv.ready();
      scene.pass(1);
      recv.post(RequestKind::kRecv);
      becomes();
      scene.pass(12);
      state::forget_port_histories();
    });
    REQUIRE(out.stalls.size() == 1);
    return out.stalls[0];
  };
  const json down = wait_of([] { state::port_went_down("mlx5_0", 1, kSec); });
  CHECK(down["cause"] == "ASYNC-PORT");
  CHECK(down["sev"] == "warn");
  const json gone = wait_of([] { state::gid_went("mlx5_0", 1, gid(1), kSec); });
  CHECK(gone["cause"] == "GID-CHANGE");
  CHECK(gone["sev"] == "warn");
  const json back = wait_of([] {
    state::port_went_down("mlx5_0", 1, kSec);
    state::port_came_up("mlx5_0", 1, 2 * kSec);
    state::gid_went("mlx5_0", 1, gid(2), kSec);
    state::gid_went("mlx5_0", 1, gid(1), kSec);
    state::gid_came("mlx5_0", 1, gid(1));
  });
  CHECK(back["cause"] == "HANG-DATA");
  CHECK(back["sev"] == "info");
}

TEST_CASE("what NCCL has not handed to the HCA is not the network's") {
  const Said held = said([] {
    Scene scene;
    Comm send(ConnectionKind::kSend);
    send.qp(2, 2).ready();
    scene.pass(1);
    send.post(RequestKind::kSend);
    scene.pass(12);
  });
  REQUIRE(held.stalls.size() == 1);
  CHECK(held.stalls[0]["kind"] == "held-back");
  CHECK(held.warnings.empty());
  const Said sockets = said([] {  // no QP is known
    Scene scene;
    Comm send(ConnectionKind::kSend);
    send.ready();
    scene.pass(1);
    send.post(RequestKind::kSend);
    scene.pass(12);
  });
  REQUIRE(sockets.stalls.size() == 1);
  CHECK(sockets.stalls[0]["kind"] == "stuck-send");
  CHECK(sockets.warnings.empty());
}

TEST_CASE("what NCCL asks for no more is not the network's") {
  const auto stall_of = [](ConnectionKind kind, int asks_again_after) {
    const Said out = said([&] {
      Scene scene;
      Comm comm(kind);
      comm.qp(3, 2).ready();
      scene.pass(1);
      comm.post(kind == ConnectionKind::kSend ? RequestKind::kSend : RequestKind::kRecv);
      scene.nccl_asks = false;
      scene.pass(12);
      scene.nccl_asks = true;
      scene.pass(asks_again_after);
    });
    REQUIRE(!out.stalls.empty());
    CHECK(out.stalls[0]["kind"] == "not-asked");
    CHECK(out.stalls[0]["sev"] == "info");
    CHECK(out.stalls[0]["process"] == json{{"moving", 0}, {"not-asked", 1}});
    return out;
  };
  CHECK(stall_of(ConnectionKind::kRecv, 0).warnings.empty());
  CHECK(stall_of(ConnectionKind::kSend, 0)
            .stalls[0]["msg"]
            .get<std::string>()
            .find("and for 10 s NCCL has not asked whether it is done") != std::string::npos);
  // Its thread was only held: what is told next is what it waits for.
  const Said held = stall_of(ConnectionKind::kSend, 20);
  REQUIRE(held.stalls.size() == 2);
  CHECK(held.stalls[1]["kind"] == "stuck-send");
}

TEST_CASE("who gives up what it waited for has waited") {
  const Said out = said([] {
    Scene scene;
    Comm send(ConnectionKind::kSend);
    send.qp(3, 2).ready();
    scene.pass(1);
    send.post(RequestKind::kSend);
    scene.pass(8);
    scene.nccl_asks = false;
    scene.pass(30);
  });
  CHECK(ages(out.stalls) == std::vector{10, 30});
  for (const json& one : out.stalls) CHECK(one["kind"] == "stuck-send");
}

TEST_CASE("isend that gets no request: the peer has posted no receive") {
  const Said out = said([] {
    Scene scene;
    Comm send(ConnectionKind::kSend);
    send.qp(2, 2).ready();
    scene.pass(14, [&] { send.refuse(); });
    send.post(RequestKind::kSend);
    scene.pass(1);
    send.done();
    scene.pass(3);
  });
  REQUIRE(out.stalls.size() == 1);
  CHECK(out.stalls[0]["kind"] == "no-receive");
  CHECK(out.warnings.empty());
  REQUIRE(out.resumes.size() == 1);
  CHECK(out.resumes[0]["kind"] == "no-receive");
}

TEST_CASE("a flush that does not end is this node's own memory") {
  const Said out = said([] {
    Scene scene;
    Comm recv(ConnectionKind::kRecv);
    recv.qp(7, 9).qp(3, 2, /*flush=*/true).ready();
    scene.pass(1);
    recv.post(RequestKind::kFlush);
    scene.pass(12);
  });
  REQUIRE(out.warnings.size() == 1);
  CHECK(out.warnings[0]["kind"] == "stuck-flush");
  CHECK(out.warnings[0]["cause"] == "HANG-DATA");
}

TEST_CASE("ten thousand requests on forty connections are one line") {
  const Said out = said([] {
    Scene scene;
    std::vector<Comm> comms;
    for (int i = 0; i < 40; ++i)
      comms.emplace_back(ConnectionKind::kRecv, static_cast<std::uint8_t>(i % 4 + 1)).ready();
    scene.pass(1);
    for (Comm& comm : comms)
      for (int i = 0; i < 250; ++i) comm.post(RequestKind::kRecv);
    scene.pass(29);
    for (Comm& comm : comms) comm.done();
    scene.pass(2);
  });
  REQUIRE(out.stalls.size() == 1);
  CHECK(out.stalls[0]["conns"] == 40);
  CHECK(out.stalls[0]["peers"] == 4);
  CHECK(out.stalls[0]["msg"].get<std::string>().find("40 connections are like this") !=
        std::string::npos);
  REQUIRE(out.resumes.size() == 1);
  CHECK(out.resumes[0]["conns"] == 40);
}

TEST_CASE("one that waits in a moving process is told by itself") {
  const Said out = said([] {
    Scene scene;
    Comm good(ConnectionKind::kRecv), bad(ConnectionKind::kRecv, 7);
    good.ready();
    bad.ready();
    scene.pass(1);
    good.post(RequestKind::kRecv);
    bad.post(RequestKind::kRecv);
    scene.pass(12, [&] { good.done().post(RequestKind::kRecv); });
  });
  REQUIRE(out.stalls.size() == 1);
  CHECK(out.stalls[0]["peer"]["gid"] == "::ffff:10.0.0.7");
  CHECK(out.stalls[0]["conns"] == 1);
  CHECK(out.stalls[0]["process"] == json{{"moving", 1}, {"nothing-came", 1}});
}

TEST_CASE("after a failure of the process nothing is blamed on the network") {
  const Said out = said([] {
    Scene scene;
    Comm failed(ConnectionKind::kSend), send(ConnectionKind::kSend);
    failed.ready().at->stage = Stage::kFailed;
    send.qp(3, 2).ready();
    scene.pass(1);
    send.post(RequestKind::kSend);
    scene.pass(12);
  });
  REQUIRE(out.stalls.size() == 1);
  CHECK(out.warnings.empty());
  CHECK(out.stalls[0]["msg"].get<std::string>().find("had failed before") != std::string::npos);
}

TEST_CASE("a program that computes is told as idle after a minute, and no warning") {
  const Said out = said([] {
    Scene scene;
    Comm send(ConnectionKind::kSend), recv(ConnectionKind::kRecv);
    send.ready();
    recv.ready();
    scene.pass(1);
    send.post(RequestKind::kSend).done();
    scene.pass(200);
    recv.post(RequestKind::kRecv);
    scene.pass(3);
  });
  CHECK(ages(out.stalls) == std::vector{60, 180});
  CHECK(out.stalls.at(0)["kind"] == "idle");
  CHECK(out.stalls[0]["process"] == json{{"moving", 0}, {"idle", 2}});
  CHECK(out.warnings.empty());
  REQUIRE(out.resumes.size() == 1);
  CHECK(out.resumes[0]["kind"] == "idle");
}

TEST_CASE("healthy traffic of every kind is silent") {
  const Said out = said([] {
    Scene scene;
    Comm busy(ConnectionKind::kSend), bursts(ConnectionKind::kRecv), slow(ConnectionKind::kSend);
    for (Comm* comm : {&busy, &bursts, &slow}) comm->qp(0, 0).ready();
    int second = 0;
    scene.pass(300, [&] {
      ++second;
      busy.post(RequestKind::kSend).done().refuse();  // many a second, some asked for twice
      if (second % 50 == 0) bursts.post(RequestKind::kRecv).done();
      if (second % 9 == 0) slow.post(RequestKind::kSend);  // nine seconds each
      if (second % 9 == 8 && !slow.flying.empty()) slow.done();
    });
  });
  CHECK(out.stalls.empty());
  CHECK(out.resumes.empty());
}

TEST_CASE("connections come, move and go while the watch looks") {
  const Said out = said([] {
    Watch watch(kAges);
    std::atomic<bool> over{false};
    std::thread looks([&] {
      for (std::uint64_t now = kSec; !over; now += 1'000) {
        watch.look(now);
        watch.tell();
      }
    });
    for (int i = 0; i < 300; ++i) {
      Comm send(ConnectionKind::kSend), recv(ConnectionKind::kRecv);
      send.poll().qp(1, 0).ready();
      recv.poll().ready();
      for (int request = 0; request < 20; ++request) {
        send.refuse().post(RequestKind::kSend).done();
        recv.post(RequestKind::kRecv).done();
      }
      send.close();
      recv.close();
    }
    over = true;
    looks.join();
  });
  CHECK(out.warnings.empty());
}

TEST_CASE("what waited is summed up, longest first") {
  const bool right = nnd::test::holds_in_child([] {
    Scene scene;
    Comm recv(ConnectionKind::kRecv), send(ConnectionKind::kSend, 7);
    recv.ready();
    send.qp(1, 0).ready();
    scene.pass(1);
    recv.post(RequestKind::kRecv);
    send.post(RequestKind::kSend);
    scene.pass(20);
    recv.done();
    scene.pass(5);
    const auto totals = scene.watch.totals();
    const auto& came = totals[static_cast<std::size_t>(nnd::diagnosis::Wait::kNothingCame)];
    const auto& stuck = totals[static_cast<std::size_t>(nnd::diagnosis::Wait::kStuckSend)];
    return came.connections == 1 && came.longest_ns / kSec == 19 && stuck.connections == 1 &&
           stuck.longest_ns / kSec == 24 && stuck.place == "mlx5_0:1" && stuck.peer == "10.0.0.7";
  });
  CHECK(right);
}
