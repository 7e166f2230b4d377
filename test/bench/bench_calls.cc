// What the shim adds to one call of the data path: the same calls on the transport below and
// through the shim, in one run.
//   bench_calls                     nanoseconds, by google-benchmark
//   bench_calls --loop NAME SHIM N  N times one call, for callgrind to count (SHIM 0 or 1)
// Needs NND_BENCH_PLUGIN (libnccl-net-diag.so) and NND_BENCH_INNER (the fake transport) in the
// environment.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "nccl_abi/net_v11.h"

namespace {

using nccl_abi::NetV11;

void silent(nccl_abi::LogLevel, unsigned long, const char*, int, const char*, ...) {}

template <class T>
T* symbol_of(const char* library, const char* name) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
  void* found = handle ? dlsym(handle, name) : nullptr;
  if (!found) {
    std::fprintf(stderr, "bench_calls: %s\n", dlerror());
    std::exit(2);
  }
  return static_cast<T*>(found);
}

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  if (!value) {
    std::fprintf(stderr, "bench_calls: %s is not set\n", name);
    std::exit(2);
  }
  return value;
}

// One side of the comparison: a vtable with one open connection in each direction.
struct Side {
  NetV11* net;
  void* ctx = nullptr;
  void* send = nullptr;
  void* recv = nullptr;
  void* pending = nullptr;

  explicit Side(NetV11* table) : net(table) {
    char handle[nccl_abi::kHandleSize] = {};
    void* listen = nullptr;
    int devices = 0;
    nccl_abi::NetCommConfig config{nccl_abi::kUndefined};
    check(net->init(&ctx, 1, &config, silent, nullptr));
    check(net->devices(&devices));
    check(net->listen(ctx, 0, handle, &listen));
    check(net->connect(ctx, 0, handle, &send, nullptr));
    check(net->accept(listen, &recv, nullptr));
    check(net->isend(send, this, 8, 0, nullptr, nullptr, &pending));
  }
  static void check(nccl_abi::Result r) {
    if (r != nccl_abi::Result::kSuccess) std::abort();
  }
};

struct Bench {
  Side inner;
  Side shim;
  int* done;
  int* takes;
};

Bench& bench() {
  static Bench b{Side(symbol_of<NetV11>(environment("NND_BENCH_INNER"), "ncclNetPlugin_v11")),
                 Side(symbol_of<NetV11>(environment("NND_BENCH_PLUGIN"), "ncclNetPlugin_v11")),
                 symbol_of<int>(environment("NND_BENCH_INNER"), "bench_inner_done"),
                 symbol_of<int>(environment("NND_BENCH_INNER"), "bench_inner_takes")};
  return b;
}

// A post needs its completion, or the requests would run out: "send" and "recv" are a post and a
// done test.
void send(Side& s) {
  void* request = nullptr;
  int done = 0;
  int size = 0;
  s.net->isend(s.send, &s, 8, 0, nullptr, nullptr, &request);
  s.net->test(request, &done, &size);
}

void recv(Side& s) {
  void* request = nullptr;
  int done = 0;
  int size = 0;
  void* data = &s;
  std::size_t bytes = 8;
  int tag = 0;
  void* mhandle = nullptr;
  s.net->irecv(s.recv, 1, &data, &bytes, &tag, &mhandle, nullptr, &request);
  s.net->test(request, &done, &size);
}

void send_not_yet(Side& s) {
  void* request = nullptr;
  s.net->isend(s.send, &s, 8, 0, nullptr, nullptr, &request);
}

void test_pending(Side& s) {
  int done = 0;
  int size = 0;
  s.net->test(s.pending, &done, &size);
}

struct Operation {
  void (*run)(Side&);
  int done;       // what the transport's test answers
  int takes = 1;  // whether its isend gives a request
};
const std::map<std::string, Operation> kOperations = {{"isend+test_done", {send, 1}},
                                                      {"irecv+test_done", {recv, 1}},
                                                      {"isend_not_yet", {send_not_yet, 1, 0}},
                                                      {"test_pending", {test_pending, 0}}};

void measure(benchmark::State& state, const Operation& operation, bool shim) {
  Side& side = shim ? bench().shim : bench().inner;
  *bench().done = operation.done;
  *bench().takes = operation.takes;
  for (auto _ : state) operation.run(side);
  *bench().done = *bench().takes = 1;
}

int count(const char* name, bool shim, long n) {
  const auto found = kOperations.find(name);
  if (found == kOperations.end()) return 2;
  Side& side = shim ? bench().shim : bench().inner;
  *bench().done = found->second.done;
  *bench().takes = found->second.takes;
  for (long i = 0; i < n; ++i) found->second.run(side);
  *bench().done = *bench().takes = 1;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("NCCL_NET_DIAG_INNER", environment("NND_BENCH_INNER"), 1);
  setenv("NCCL_NET_DIAG_FILE", "off", 1);
  if (argc == 5 && !std::strcmp(argv[1], "--loop"))
    return count(argv[2], std::atoi(argv[3]) != 0, std::atol(argv[4]));
  for (const auto& [name, operation] : kOperations)
    for (bool shim : {false, true})
      benchmark::RegisterBenchmark((name + (shim ? "/shim" : "/plain")).c_str(), measure, operation,
                                   shim);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
