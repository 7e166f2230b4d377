// What the profiler layer adds to NCCL's work: the same calls on a profiler that does nothing and
// on ours, in one run.
//   bench_profiler                     nanoseconds, by google-benchmark
//   bench_profiler --loop NAME SHIM N  N times one of them, for callgrind to count (SHIM 0 or 1, or
//                                      a library with another profiler of v5)
//   bench_profiler --kept SHIM N       of N collectives, their operations and their steps, the part
//                                      that it gives a handle for
// Needs NND_BENCH_PLUGIN (libnccl-net-diag.so) in the environment.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>

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

const ProfilerV5* profiler_of(const char* plugin) {
  void* const handle = plugin ? dlopen(plugin, RTLD_NOW) : nullptr;
  void* const found = handle ? dlsym(handle, "ncclProfiler_v5") : nullptr;
  if (!found) {
    std::fprintf(stderr, "bench_profiler: %s\n",
                 plugin ? dlerror() : "NND_BENCH_PLUGIN is not set");
    std::exit(2);
  }
  return static_cast<const ProfilerV5*>(found);
}

void discard(nccl_abi::LogLevel, unsigned long, const char*, int, const char*, ...) {}

struct Side {
  const ProfilerV5* table;
  void* context = nullptr;
  int mask = 0;
  int pid = getpid();
  void* task = nullptr;
  void* op = nullptr;

  explicit Side(const ProfilerV5* of) : table(of) {
    if (table->init(&context, 1, &mask, nullptr, 2, 16, 0, discard) != Result::kSuccess) {
      std::fprintf(stderr, "bench_profiler: the profiler's init has failed\n");
      std::exit(2);
    }
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
  void* operation() const { return operation(task); }
  void* operation(void* of) const {
    auto descr = described(profile::kProxyOp, of);
    descr.proxyOp = {pid, 5, 7, 16, 1 << 20, 1};
    return start(descr);
  }
};

constexpr int kMostOperations = 4;

void step(Side& s, void* of);

// A collective, as NCCL 2.28 tells it: the group, the call, and what it makes of both; with so many
// operations, of so many steps each.
void collective(Side& s, int operations, int steps) {
  auto group_call = Side::described(profile::kGroupApi, nullptr);
  void* const group = s.start(group_call);
  auto call = Side::described(profile::kCollApi, group);
  call.collApi = {"AllReduce", 1024, "ncclFloat32", 0, nullptr, false};
  void* const called = s.start(call);
  s.table->stopEvent(called);
  auto plan = Side::described(profile::kGroup, nullptr);
  void* const launch = s.start(plan);
  void* const task = s.collective(called);
  s.table->stopEvent(task);
  s.table->stopEvent(launch);
  // All of them have begun before the first one ends: profilers count what a collective still has
  // open.
  std::array<void*, kMostOperations> ops;
  for (int i = 0; i < operations; ++i) ops[static_cast<std::size_t>(i)] = s.operation(task);
  for (int i = 0; i < operations; ++i)
    for (int n = 0; n < steps; ++n) step(s, ops[static_cast<std::size_t>(i)]);
  for (int i = 0; i < operations; ++i) s.table->stopEvent(ops[static_cast<std::size_t>(i)]);
  s.table->stopEvent(group);
}
void collective(Side& s) { collective(s, 0, 0); }

// For profilers that keep a collective's events with it, until its operations have ended.
constexpr int kOperations = 2, kSteps = 8;
void with_operations(Side& s) { collective(s, kOperations, 0); }
void with_twice_as_many(Side& s) { collective(s, 2 * kOperations, 0); }
void with_steps(Side& s) { collective(s, kOperations, kSteps); }

// One operation of it, for one channel and direction.
void operation(Side& s) { s.table->stopEvent(s.operation()); }

// One step of that, told while a connection with traffic has no label.
void step(Side& s, void* of) {
  auto descr = Side::described(profile::kProxyStep, of);
  void* const handle = s.start(descr);
  nccl_abi::ProfilerEventStateArgsV4 args{};
  for (const auto state :
       {ProfilerState::kProxyStepSendGpuWait, ProfilerState::kProxyStepSendPeerWait,
        ProfilerState::kProxyStepSendWait})
    s.table->recordEventState(handle, state, &args);
  s.table->stopEvent(handle);
}

void step(Side& s) { step(s, s.op); }

using Run = void (*)(Side&);
const std::map<std::string, Run> kMeasured = {
    {"collective", collective}, {"proxy_operation", operation}, {"proxy_step", step}};
const std::map<std::string, Run> kCounted = {{"collective", collective},
                                             {"proxy_operation", operation},
                                             {"proxy_step", step},
                                             {"with_operations", with_operations},
                                             {"with_twice_as_many", with_twice_as_many},
                                             {"with_steps", with_steps}};

Side plain() { return Side(&kNothing); }
Side shim() { return Side(profiler_of(std::getenv("NND_BENCH_PLUGIN"))); }

void measure(benchmark::State& state, Run run, Side& side) {
  for (auto _ : state) run(side);
}

Side side_of(const std::string& which) {
  return which == "0" ? plain() : which == "1" ? shim() : Side(profiler_of(which.c_str()));
}

int count(const char* name, const std::string& which, long n) {
  const auto found = kCounted.find(name);
  if (found == kCounted.end()) return 2;
  Side side = side_of(which);
  for (long i = 0; i < n; ++i) found->second(side);
  return 0;
}

// A profiler with pools drops what finds its pool empty, which costs it next to nothing.
struct Kept {
  decltype(ProfilerV5::startEvent) start;
  std::map<std::uint64_t, std::pair<long, long>> events;  // by type: told, with a handle
};
Kept g_kept;

int count_kept(const std::string& which, long n) {
  Side side = side_of(which);
  ProfilerV5 counted = *side.table;
  g_kept.start = counted.startEvent;
  counted.startEvent = [](void* context, void** handle, ProfilerEventDescrV5* descr) {
    const Result rc = g_kept.start(context, handle, descr);
    auto& [told, with_handle] = g_kept.events[descr->type];
    ++told;
    if (*handle != nullptr) ++with_handle;
    return rc;
  };
  side.table = &counted;
  for (long i = 0; i < n; ++i) with_steps(side);
  for (const int type : {profile::kColl, profile::kProxyOp, profile::kProxyStep}) {
    const auto [told, with_handle] = g_kept.events[static_cast<std::uint64_t>(type)];
    std::printf("%g\n", static_cast<double>(with_handle) / static_cast<double>(told));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("NCCL_NET_DIAG_FILE", "off", 1);
  if (argc == 5 && !std::strcmp(argv[1], "--loop"))
    return count(argv[2], argv[3], std::atol(argv[4]));
  if (argc == 4 && !std::strcmp(argv[1], "--kept")) return count_kept(argv[2], std::atol(argv[3]));
  Side without = plain(), with = shim();
  for (const auto& [name, run] : kMeasured) {
    benchmark::RegisterBenchmark((name + "/plain").c_str(), measure, run, std::ref(without));
    benchmark::RegisterBenchmark((name + "/shim").c_str(), measure, run, std::ref(with));
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
