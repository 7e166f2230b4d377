// Jobs of thousands of processes that wait, played without sockets (support/peers_fabric.h): how
// long it takes until all name the same one, and what they send for it. Prints JSON.
#include <chrono>
#include <cstdio>

#include "support/peers_fabric.h"

namespace {

using nnd::peers::EndState;
using nnd::peers::Kind;
using nnd::test::PeersFabric;

constexpr std::uint64_t kMostMs = 20'000;

void awaits_data(PeersFabric& job, std::size_t i, std::size_t from) {
  job.waits(i, from, EndState::kAwaitsData, 9000, false, static_cast<std::uint32_t>(i + 1));
}

// Each waits for the one before it: as far as any collective's waits go.
void ring(PeersFabric& job, std::size_t processes, std::size_t late) {
  for (std::size_t i = 0; i < processes; ++i)
    if (i != late) awaits_data(job, i, (i + processes - 1) % processes);
}

// Up a binary tree and down, where the late one is a leaf: its parent waits for it, whose parent
// waits for that one, and so on to the root, for which all others wait.
void tree(PeersFabric& job, std::size_t processes, std::size_t late) {
  for (std::size_t i = 0; i < processes; ++i) {
    if (i == late) continue;
    bool above = false;
    std::size_t child = late;
    for (std::size_t at = late; at != 0 && !above; at = (at - 1) / 2) {
      above = (at - 1) / 2 == i;
      child = at;
    }
    awaits_data(job, i, above ? child : (i - 1) / 2);
  }
}

void play(const char* shape, std::size_t processes,
          void (*wait)(PeersFabric&, std::size_t, std::size_t), bool last) {
  const std::size_t late = processes - 1;
  PeersFabric job(processes);
  for (std::size_t i = 0; i < processes; ++i) job.in(i, "AllReduce", i == late ? 11 : 12);
  wait(job, processes, late);
  const auto took = job.until_agreed(Kind::kIdle, late, kMostMs);
  std::uint64_t hops = 0;
  for (std::size_t i = 0; i < processes; ++i)
    hops = std::max<std::uint64_t>(hops, job.claim(i).hops);
  const std::uint64_t messages = job.messages(), bytes = job.bytes();
  const std::uint64_t later_ms = 10'000;
  job.run(later_ms);
  const double all = static_cast<double>(processes);
  std::printf(
      " {\"shape\": \"%s\", \"processes\": %zu, \"hops\": %llu, \"agreed_ms\": %lld, "
      "\"messages_each\": %.1f, \"bytes_each\": %.0f, \"messages_each_sec_later\": %.2f}%s\n",
      shape, processes, static_cast<unsigned long long>(hops),
      took ? static_cast<long long>(*took) : -1, static_cast<double>(messages) / all,
      static_cast<double>(bytes) / all,
      static_cast<double>(job.messages() - messages) / all / (static_cast<double>(later_ms) / 1000),
      last ? "" : ",");
}

}  // namespace

int main() {
  std::printf("[\n");
  play("ring", 1024, ring, false);
  play("tree", 1024, tree, false);
  play("tree", 16384, tree, false);
  play("ring", 16384, ring, true);
  std::printf("]\n");
}
