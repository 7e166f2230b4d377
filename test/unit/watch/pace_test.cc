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
    out.emplace_back(Kind::kSend, static_cast<std::uint8_t>(i + 1)).qp(0, 0).ready();
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
  CHECK(slow["conn"] == 4);
  CHECK(slow["dev"]["name"] == "mlx5_0");
  CHECK(slow["peer"]["gid"] == "::ffff:10.0.0.4");
  CHECK(slow["mean_us"].get<double>() > 16'000);
  CHECK(slow["usual_us"].get<double>() < 1'000);
  REQUIRE(out.resumes.size() == 1);
  CHECK(out.resumes[0]["kind"] == "slow");
  CHECK(out.resumes[0]["conn"] == 4);
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
