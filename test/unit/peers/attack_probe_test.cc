// Probes that a hostile or mad process sends into a ring of processes that wait for each other.
#include "support/catch.h"
#include "support/peers_fabric.h"

namespace peers = nnd::peers;
using nnd::test::PeersFabric;
using peers::Kind;

namespace {

constexpr std::size_t kProcesses = 8;

void ring(PeersFabric& job) {
  for (std::size_t i = 0; i < kProcesses; ++i) {
    job.waits(i, (i + 1) % kProcesses);
    job.in(i, i == 4 ? "Broadcast" : "AllReduce", 5);
  }
}

peers::Message probe(std::uint64_t initiator, std::uint32_t round, std::uint16_t hops) {
  peers::Message out;
  out.type = peers::Type::kProbe;
  out.probe.initiator = initiator;
  out.probe.round = round;
  out.probe.hops = hops;
  return out;
}

std::uint64_t messages_of(PeersFabric& job, std::uint64_t ms) {
  const std::uint64_t before = job.messages();
  job.run(ms);
  return job.messages() - before;
}

}  // namespace

TEST_CASE("probes end, however many are sent and whatever they say of themselves") {
  PeersFabric calm(kProcesses), job(kProcesses);
  ring(calm);
  ring(job);
  calm.run(3000);
  job.run(3000);
  for (std::uint32_t i = 0; i < 500; ++i)
    for (const std::uint16_t hops : {std::uint16_t{0}, std::uint16_t{65'535}}) {
      job.sends(0, 1, probe(~std::uint64_t{0}, i * 7919, hops));
      job.sends(0, 1, probe(~std::uint64_t{0} - i, i, hops));
    }
  job.run(3000);
  calm.run(3000);
  CHECK(messages_of(job, 3000) <= 2 * messages_of(calm, 3000));
  for (std::size_t i = 0; i < kProcesses; ++i) CHECK(job.claim(i).kind == Kind::kCycle);
}

TEST_CASE("who doesn't wait for a process has no probes for it") {
  PeersFabric job(kProcesses + 1);
  ring(job);
  // It would keep the others' from coming around.
  for (std::uint32_t ms = 0; ms < 5000; ms += 100) {
    for (std::size_t i = 0; i < kProcesses; ++i)
      job.sends(kProcesses, i, probe(~std::uint64_t{0}, ms, 0));
    job.run(100);
  }
  for (std::size_t i = 0; i < kProcesses; ++i) CHECK(job.claim(i).kind == Kind::kCycle);
}

TEST_CASE("a probe that nobody has sent has not come around") {
  PeersFabric job(3);
  job.waits(0, 1);
  job.waits(1, 2);
  job.alive(2) = PeersFabric::Alive::kStopped;
  peers::Message forged = probe(0, 0, 0);
  forged.probe.least.comm = forged.probe.most.comm = 5;
  forged.probe.least.func = "AllReduce";
  forged.probe.most.func = "Broadcast";
  forged.probe.least.number = forged.probe.most.number = 1;
  job.run(350);  // 0 has asked 1
  job.sends(0, 1, forged);
  job.run(500);
  CHECK(job.claim(1).kind == Kind::kNone);
}
