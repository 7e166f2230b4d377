// gin_init LIBNCCL: does what NCCL does with ncclGinPlugin_v11 of a net library: init, devices,
// finalize, for two communicators. Exit 1 where a release that takes its own backend back doesn't
// get a whole one, or another release gets any.
#include <dlfcn.h>

#include <cstdio>

#include "inner/chain.h"
#include "inner/gin.h"
#include "nccl_abi/releases.h"

namespace {

using nccl_abi::GinV11;
using nccl_abi::Result;

void log(nccl_abi::LogLevel, unsigned long, const char* file, int line, const char*, ...) {
  std::printf("NCCL logs from %s:%d\n", file, line);
}

Result not_ours(void**, std::uint64_t, nccl_abi::DebugLogger) { return Result::kInternalError; }

bool whole(const GinV11& gin) {
  return gin.init == not_ours && gin.devices != nullptr && gin.getProperties != nullptr &&
         gin.listen != nullptr && gin.connect != nullptr && gin.regMrSym != nullptr &&
         gin.finalize != nullptr && (gin.iput != nullptr || gin.ginProgress != nullptr);
}

bool untouched(const GinV11& gin) { return gin.devices == nullptr && gin.finalize == nullptr; }

bool use(GinV11& gin, const void* caller) {
  void* ctx = nullptr;
  int ndev = -1;
  if (nnd::inner::init_gin(gin, &ctx, 1, log, caller) != Result::kSuccess || !whole(gin))
    return false;
  const bool counted = gin.devices(&ndev) == Result::kSuccess;
  std::printf("%s: %d devices\n", gin.name, ndev);
  if (ndev <= 0) return counted;  // NCCL goes no further; -1: it found no libibverbs
  return gin.finalize(ctx) == Result::kSuccess && counted;
}

}  // namespace

int main(int argc, char** argv) {
  void* library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  const void* caller = library != nullptr ? dlsym(library, "ncclGetVersion") : nullptr;
  if (caller == nullptr) {
    std::fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: gin_init LIBNCCL");
    return 2;
  }
  const int version = nnd::inner::nccl_version(*nnd::inner::module_of(caller));
  if (!nnd::inner::find_inner("IB", caller, nccl_abi::net_version_of(version))) return 1;
  GinV11 gin{};
  gin.init = not_ours;
  if (nccl_abi::kForwardsGin.has(version)) return use(gin, caller) && use(gin, caller) ? 0 : 1;
  void* ctx = nullptr;
  const bool refused = nnd::inner::init_gin(gin, &ctx, 1, log, caller) != Result::kSuccess;
  std::printf("%s\n", refused ? "steps aside" : "gives a backend that nobody asked for");
  return refused && untouched(gin) ? 0 : 1;
}
