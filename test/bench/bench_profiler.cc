// What the profiler layer adds to NCCL's work: the same calls on a profiler that does nothing and
// on ours, in one run.
//   bench_profiler                     nanoseconds, by google-benchmark
//   bench_profiler --loop NAME SHIM N  N times one of them, for callgrind to count (SHIM 0 or 1)
// Needs NND_BENCH_PLUGIN (libnccl-net-diag.so) in the environment.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "nccl_abi/profiler_v5.h"

namespace {

using nccl_abi::ProfilerEventDescrV5;
using nccl_abi::ProfilerState;
using nccl_abi::ProfilerV5;
using nccl_abi::Result;
namespace profile = nccl_abi::profile;

constexpr ProfilerV5 kNothing = {
    "nothing",
    [](void**, std::uint64_t, int*, const char*, int, int, int, nccl_abi::DebugLogger) {
      return Result::kSuccess;
    },
    [](void*, void** handle, ProfilerEventDescrV5* descr) {
      *handle = descr->parentObj;
      return Result::kSuccess;
    },
    [](void*) { return Result::kSuccess; },
    [](void*, ProfilerState, nccl_abi::ProfilerEventStateArgsV4*) { return Result::kSuccess; },
    [](void*) { return Result::kSuccess; }};

const ProfilerV5* ours() {
  const char* const plugin = std::getenv("NND_BENCH_PLUGIN");
  void* const handle = plugin ? dlopen(plugin, RTLD_NOW) : nullptr;
  void* const found = handle ? dlsym(handle, "ncclProfiler_v5") : nullptr;
  if (!found) {
    std::fprintf(stderr, "bench_profiler: %s\n",
                 plugin ? dlerror() : "NND_BENCH_PLUGIN is not set");
    std::exit(2);
  }
  return static_cast<const ProfilerV5*>(found);
}

struct Side {
  const ProfilerV5* table;
  void* context = nullptr;
  int mask = 0;
  int pid = getpid();
  void* task = nullptr;
  void* op = nullptr;

  explicit Side(const ProfilerV5* of) : table(of) {
    table->init(&context, 1, &mask, nullptr, 2, 16, 0, nullptr);
    task = collective(nullptr);
    op = operation();
  }
  static ProfilerEventDescrV5 described(int type, void* parent) {
    ProfilerEventDescrV5 descr{};
    descr.type = static_cast<std::uint64_t>(type);
    descr.parentObj = parent;
    return descr;
  }
  void* start(ProfilerEventDescrV5& descr) const {
    void* handle = nullptr;
    table->startEvent(context, &handle, &descr);
    return handle;
  }
  void* collective(void* call) const {
    auto descr = described(profile::kColl, call);
    descr.coll = {7,  "AllReduce", nullptr, nullptr,  1024,   0, "ncclFloat32",
                  16, 16,          "RING",  "SIMPLE", nullptr};
    return start(descr);
  }
  void* operation() const {
    auto descr = described(profile::kProxyOp, task);
    descr.proxyOp = {pid, 5, 7, 16, 1 << 20, 1};
    return start(descr);
  }
};

// A collective, as NCCL 2.28 tells it: the group, the call, and what it makes of both.
void collective(Side& s) {
  auto group_call = Side::described(profile::kGroupApi, nullptr);
  void* const group = s.start(group_call);
  auto call = Side::described(profile::kCollApi, group);
  call.collApi = {"AllReduce", 1024, "ncclFloat32", 0, nullptr, false};
  void* const called = s.start(call);
  s.table->stopEvent(called);
  auto plan = Side::described(profile::kGroup, nullptr);
  void* const launch = s.start(plan);
  s.table->stopEvent(s.collective(called));
  s.table->stopEvent(launch);
  s.table->stopEvent(group);
}

// One operation of it, for one channel and direction.
void operation(Side& s) { s.table->stopEvent(s.operation()); }

// One step of that, told while a connection with traffic has no label.
void step(Side& s) {
  auto descr = Side::described(profile::kProxyStep, s.op);
  void* const handle = s.start(descr);
  for (const auto state :
       {ProfilerState::kProxyStepSendGpuWait, ProfilerState::kProxyStepSendPeerWait,
        ProfilerState::kProxyStepSendWait})
    s.table->recordEventState(handle, state, nullptr);
  s.table->stopEvent(handle);
}

const std::map<std::string, void (*)(Side&)> kOperations = {
    {"collective", collective}, {"proxy_operation", operation}, {"proxy_step", step}};

Side& side(bool shim) {
  static Side plain(&kNothing), with_us(ours());
  return shim ? with_us : plain;
}

void measure(benchmark::State& state, void (*run)(Side&), bool shim) {
  for (auto _ : state) run(side(shim));
}

int count(const char* name, bool shim, long n) {
  const auto found = kOperations.find(name);
  if (found == kOperations.end()) return 2;
  for (long i = 0; i < n; ++i) found->second(side(shim));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("NCCL_NET_DIAG_FILE", "off", 1);
  if (argc == 5 && !std::strcmp(argv[1], "--loop"))
    return count(argv[2], std::atoi(argv[3]) != 0, std::atol(argv[4]));
  for (const auto& [name, run] : kOperations)
    for (const bool shim : {false, true})
      benchmark::RegisterBenchmark((name + (shim ? "/shim" : "/plain")).c_str(), measure, run,
                                   shim);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
