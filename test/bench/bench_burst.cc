// What a burst of connections costs: 5,000 in each direction through the shim, one right after the
// other on one thread, over the transport of fake_inner.cc, which makes one in no time. Prints
// JSON: how long each took, and the memory that a connection keeps. What the log has of them is for
// the caller to read. Needs NND_BENCH_PLUGIN and NND_BENCH_INNER in the environment.
#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "nccl_abi/net_v11.h"

namespace {

using nccl_abi::NetV11;
using Clock = std::chrono::steady_clock;

constexpr int kPairs = 5000;

void silent(nccl_abi::LogLevel, unsigned long, const char*, int, const char*, ...) {}

void check(nccl_abi::Result r) {
  if (r != nccl_abi::Result::kSuccess) std::abort();
}

// Private and written, of the whole process.
std::uint64_t memory_kib() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  for (std::string line; std::getline(rollup, line);)
    if (line.starts_with("Private_Dirty:")) return std::stoull(line.substr(line.find(':') + 1));
  std::abort();
}

struct Pair {
  void *send = nullptr, *recv = nullptr;
};

}  // namespace

int main() {
  const char* const plugin = std::getenv("NND_BENCH_PLUGIN");
  void* const library = plugin != nullptr ? dlopen(plugin, RTLD_NOW | RTLD_GLOBAL) : nullptr;
  auto* const net =
      library != nullptr ? static_cast<NetV11*>(dlsym(library, "ncclNetPlugin_v11")) : nullptr;
  if (net == nullptr) return 2;
  void *ctx = nullptr, *listen = nullptr;
  char handle[nccl_abi::kHandleSize] = {};
  int devices = 0;
  nccl_abi::NetCommConfig config{nccl_abi::kUndefined};
  check(net->init(&ctx, 1, &config, silent, nullptr));
  check(net->devices(&devices));
  check(net->listen(ctx, 0, handle, &listen));
  std::vector<Pair> pairs(kPairs);
  const std::uint64_t before = memory_kib();
  const auto began = Clock::now();
  for (Pair& pair : pairs) {
    check(net->connect(ctx, 0, handle, &pair.send, nullptr));
    check(net->accept(listen, &pair.recv, nullptr));
  }
  const std::chrono::duration<double, std::micro> took = Clock::now() - began;
  // The drain copies the tables every two seconds at the latest, and the watch looks once a second.
  std::this_thread::sleep_for(std::chrono::seconds(6));
  const double kept = static_cast<double>(memory_kib() - before) * 1024 / (2 * kPairs);
  const auto ended = Clock::now();
  for (const Pair& pair : pairs) {
    check(net->closeSend(pair.send));
    check(net->closeRecv(pair.recv));
  }
  const std::chrono::duration<double, std::micro> closed = Clock::now() - ended;
  check(net->closeListen(listen));
  std::printf(
      "{\"connections\": %d, \"open_us\": %.1f, \"close_us\": %.1f, \"kept_bytes\": %.0f}\n",
      2 * kPairs, took.count() / (2 * kPairs), closed.count() / (2 * kPairs), kept);
}
