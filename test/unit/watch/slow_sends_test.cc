// A connection that moves, far slower than those beside it.
#include "scene.h"

using namespace nnd::watch::test;

namespace {

// Sends of a second: this many, of this size, each in about 2^bucket ns.
void send(Comm& comm, std::uint64_t count, std::uint64_t size, unsigned bucket) {
  nnd::state::add(comm.at->started, count);
  nnd::state::add(comm.at->completed, count);
  nnd::state::add(comm.at->bytes, count * size);
  nnd::state::add(comm.at->latency[bucket], count);
}

std::vector<Comm> senders(int count) {
  std::vector<Comm> out;
  for (int i = 0; i < count; ++i)
    out.emplace_back(ConnectionKind::kSend, static_cast<std::uint8_t>(i + 1)).qp(0, 0).ready();
  return out;
}

}  // namespace

TEST_CASE("one that is eight times slower than its siblings is told, and when it is over") {
  const Said out = said([] {
    Scene scene;
    std::vector<Comm> comms = senders(6);
    const auto second = [&](unsigned bucket) {
      for (std::size_t i = 0; i < comms.size(); ++i)
        send(comms[i], 10, 1 << 20, i == 3 ? bucket : 19);
    };
    scene.pass(30, [&] { second(19); });
    scene.pass(60, [&] { second(24); });
    scene.pass(30, [&] { second(19); });
  });
  REQUIRE(out.stalls.size() == 1);
  const json& slow = out.stalls[0];
  CHECK(slow["kind"] == "slow");
  CHECK(slow["sev"] == "info");
  CHECK(slow["dev"]["name"] == "mlx5_0");
  CHECK(slow["peer"]["gid"] == "::ffff:10.0.0.4");
  CHECK(slow["mean_us"].get<double>() > 16'000);
  CHECK(slow["usual_us"].get<double>() < 1'000);
  REQUIRE(out.resumes.size() == 1);
  CHECK(out.resumes[0]["kind"] == "slow");
  CHECK(out.resumes[0]["conn"] == slow["conn"]);
}

TEST_CASE("what can't be compared is not slow") {
  const Said out = said([] {
    Scene scene;
    std::vector<Comm> few = senders(3);
    std::vector<Comm> larger = senders(1), quick = senders(5);
    int count = 0;
    scene.pass(100, [&] {
      ++count;
      for (std::size_t i = 0; i < few.size(); ++i)
        send(few[i], 10, 64, i == 0 ? 24 : 14);       // only three are alike
      send(larger[0], 10, 1 << 24, 28);               // another size
      for (std::size_t i = 0; i < quick.size(); ++i)  // all below a millisecond
        send(quick[i], 10, 4096, i == 0 ? 18 : 12);
      if (count % 40 == 15) send(quick[1], 400, 4096, 25);  // for one window each time
    });
  });
  CHECK(out.stalls.empty());
}

namespace {

// Of this many connections on one port, each with up to `deep` sends in flight at once.
std::vector<Comm> on_port(int count, std::uint64_t deep) {
  std::vector<Comm> out = senders(count);
  for (Comm& comm : out) {
    nnd::state::ConnectionEnds ends;
    ends.device = "mlx5_0";
    ends.port = 1;
    ends.remote_gid = gid(9);
    comm.at->ends.set(ends);
    nnd::state::add(comm.at->most_in_flight, deep);
  }
  return out;
}

}  // namespace

TEST_CASE("a port that is far slower than it was is told, and when it is over") {
  const Said out = said([] {
    Scene scene;
    std::vector<Comm> two = on_port(2, 4);
    const auto second = [&](std::uint64_t count, unsigned bucket) {
      for (Comm& comm : two) send(comm, count, 1 << 20, bucket);
    };
    scene.pass(60, [&] { second(200, 23); });  // 400 MiB a second
    scene.pass(60, [&] { second(10, 27); });   // at most 42 while any is in flight
    scene.pass(30, [&] { second(200, 23); });
  });
  REQUIRE(out.stalls.size() == 1);
  const json& slow = out.stalls[0];
  CHECK(slow["kind"] == "slow");
  CHECK(slow["sev"] == "info");
  CHECK(slow["dev"]["name"] == "mlx5_0");
  CHECK(slow["peer"]["gid"] == "::ffff:10.0.0.9");
  CHECK(slow["usual_bytes_per_sec"].get<double>() == 400 << 20);
  CHECK(slow["bytes_per_sec"].get<double>() == Approx(8 * (1 << 20) / (1.5 * (1 << 27) / 1e9)));
  const std::string said = slow["msg"];
  CHECK(said.find("takes 201.3 ms, before 12.6 ms; while any was under way the port moved at most "
                  "41.7 MB a second, and before 419.4 MB on average") != std::string::npos);
  REQUIRE(out.resumes.size() == 1);
  CHECK(out.resumes[0]["kind"] == "slow");
}

TEST_CASE("a program that sends less, in bursts, or other messages makes no port slow") {
  const Said out = said([] {
    Scene scene;
    std::vector<Comm> many = on_port(16, 8);
    const auto second = [&](std::uint64_t count, std::uint64_t size, unsigned bucket) {
      for (Comm& comm : many) send(comm, count, size, bucket);
    };
    scene.pass(60, [&] { second(50, 1 << 20, 20); });  // one after another
    scene.pass(60, [&] { second(2, 1 << 20, 20); });   // less of it
    scene.pass(60, [&] { second(2, 1 << 20, 26); });   // all at once, then nothing
    scene.pass(60, [&] { second(90, 4096, 25); });     // smaller, and late
    int count = 0;
    scene.pass(60, [&] { second(50, 1 << 20, ++count % 40 == 15 ? 33 : 20); });  // for one window
  });
  CHECK(out.stalls.empty());
}
