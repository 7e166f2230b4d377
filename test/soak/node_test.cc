// A node of eight ranks with the connections of a large job, of which two move data: what the shim
// adds to what its ranks hold, and to what they read and write a second.
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "integration/harness.h"
#include "resources.h"
#include "support/own_mounts.h"
#include "support/skip.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

using Links = std::vector<driver::Link>;
using std::chrono::seconds;

constexpr int kRanks = 8, kSeconds = 20;

// Of each rank.
int connections() {
  const char* asked = std::getenv("NND_SOAK_NODE_CONNECTIONS");
  return asked == nullptr ? 5'000 : std::atoi(asked);
}

// NCCL's socket, the emulated QP's, and the one to its peer.
bool descriptors_for(int count) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 &&
         limit.rlim_cur >= 3 * static_cast<rlim_t>(count) + 200;
}

// A node has one address here, and its ports are too few for both ends of all connections.
bool own_network() {
  if (::unshare(CLONE_NEWNET) != 0 && !(test::enter_own_mounts() && ::unshare(CLONE_NEWNET) == 0))
    return false;
  std::ofstream ports("/proc/sys/net/ipv4/ip_local_port_range");
  return std::system("ip link set lo up") == 0 && (ports << "1024 65535").flush();
}

// One HCA for each rank, as on a node of eight GPUs.
constexpr const char* kNode = R"(
[[host]]
name = "node"
[[host.hca]]
count = 8
address = "10.{i+16}.0.1/24"
)";

// In parts: each call waits on a thread of its own.
template <class F>
void in_parts(Links& links, F&& f) {
  constexpr std::ptrdiff_t kAtOnce = 80;
  for (auto at = links.begin(); at != links.end();) {
    Links part(at, at + std::min(kAtOnce, links.end() - at));
    f(part);
    at = std::copy(part.begin(), part.end(), at);
  }
}

void open(driver::Job& job, Links& links) {
  job.open(links);
  for (driver::Link& link : links) {  // NCCL doesn't keep it either
    driver::expect_success(job.rank(link.to),
                           job.run(link.to, {{"op", "close"}, {"listener", link.listener}}));
    link.listener = 0;
  }
}

soak::Io io_of(driver::Job& job) {
  soak::Io all;
  for (int rank = 0; rank < kRanks; ++rank) all = all + soak::io_of(job.rank(rank).pid());
  return all;
}

// The lines and tables of a burst of connections are written soon after it.
void await_rest(driver::Job& job) {
  constexpr double kBurst = 1 << 20;
  auto last = io_of(job);
  for (int tries = 0; tries < 60; ++tries) {
    std::this_thread::sleep_for(seconds(2));
    const auto now = io_of(job);
    if ((now - last).bytes_written < kBurst) return;
    last = now;
  }
  throw std::runtime_error("a node at rest doesn't stop writing");
}

struct Lived {
  soak::Resources held;  // one rank, as all do the same
  soak::Io io;           // all ranks, a second
};

Lived live(const driver::Transport& transport) {
  EmulatedJob job(
      kNode, kRanks,
      {{"NCCL_NET_DIAG_EVENTS", ""}, {"NCCL_IB_GID_INDEX", "3"}, {"NCCL_GDR_FLUSH_DISABLE", "1"}});
  job->setup(transport);
  Links links = job->ring(connections() / 2);
  driver::Traffic traffic;
  traffic.sizes = {8192};
  in_parts(links, [&](Links& part) { open(*job, part); });
  in_parts(links, [&](Links& part) { job->move(part, traffic); });
  await_rest(*job);

  const Links few(links.begin(), links.begin() + 2);
  const auto before = io_of(*job);
  for (auto until = std::chrono::steady_clock::now(), end = until + seconds(kSeconds);
       until < end;) {
    job->move(few, traffic);
    std::this_thread::sleep_until(until += seconds(1));
  }
  Lived out;
  out.io = (io_of(*job) - before) / kSeconds;
  out.held = soak::least_of(job->rank(0).pid());
  in_parts(links, [&](Links& part) { job->close(part); });
  job->finish();
  job->exit();
  for (const auto& event : job.logs()) {
    INFO(event.dump());
    CHECK(event["sev"] != "error");
    CHECK(event["sev"] != "warn");
  }
  return out;
}

std::string row(const char* with, const Lived& lived) {
  return fmt::format(
      "{:<12} a rank: {:>7} KiB, {} descriptors, {} threads; the node, a second: {:.1f} reads, "
      "{:.1f} writes, {:.0f} bytes written, {:.2f} % of a core\n",
      with, lived.held.memory_kib, lived.held.descriptors, lived.held.threads, lived.io.reads,
      lived.io.writes, lived.io.bytes_written, lived.io.cpu * 100);
}

}  // namespace

TEST_CASE("a node of eight ranks with the connections of a large job") {
  if (!descriptors_for(connections())) NND_SKIP("the hard limit of descriptors is too low");
  if (!own_network()) NND_SKIP("no network namespace here");
  const auto plain = live(builtin()), with = live(shim());
  const std::string table = row("without", plain) + row("with", with);
  std::fputs(table.c_str(), stderr);
  INFO(table);
  const auto added = with.io - plain.io;

  constexpr std::size_t kOwnKib = 4096, kConnectionKib = 6;
  CHECK(with.held.memory_kib <=
        plain.held.memory_kib + kOwnKib + kConnectionKib * static_cast<std::size_t>(connections()));
  CHECK(with.held.descriptors <= plain.held.descriptors + 8);
  CHECK(with.held.threads <= plain.held.threads + 4);
  // A sign of life ten times a second, what two connections did, and the counters of eight ports
  // three times a minute at most, whatever the number of ranks: twice in that time.
  CHECK(added.writes / kRanks <= 40);
  CHECK(added.bytes_written / kRanks <= 10'000);
  constexpr double kPorts = 8, kReadsOfPort = 150, kTimes = 2;
  CHECK(added.reads <= kPorts * kReadsOfPort * kTimes / kSeconds + 10);
}
