#include "inner/gin.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <optional>

#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "inner/chain.h"
#include "inner/module.h"
#include "inner/search.h"
#include "nccl_abi/releases.h"
#include "state/current.h"

namespace nnd::inner {
namespace {

using nccl_abi::GinV11;
using nccl_abi::Result;

const GinV11* built_in(const Module& nccl, const char* symbol, const char* name,
                       std::string_view slots) {
  const Hit hit = search(nccl, symbol, {name, std::string(slots)});
  // NOLINTNEXTLINE(performance-no-int-to-ptr): verified to lie in the module
  return reinterpret_cast<const GinV11*>(hit.address);
}

// As NCCL reads its parameters (v2.28.9-1 src/misc/param.cc).
int gin_type() {
  const char* text = std::getenv("NCCL_GIN_TYPE");
  if (text == nullptr || *text == '\0') return nccl_abi::kGinTypeAny;
  errno = 0;
  const long value = std::strtol(text, nullptr, 0);
  return errno != 0 ? nccl_abi::kGinTypeAny : static_cast<int>(value);
}

// The choice of v2.29.3-1 src/plugin/net.cc. 2.28.7 and 2.28.9 intend the same, and crash where
// GDAKI starts and has no device.
bool has_devices(const GinV11& gin, std::uint64_t comm_id, nccl_abi::DebugLogger log) {
  void* ctx = nullptr;
  if (gin.init(&ctx, comm_id, log) != Result::kSuccess) return false;
  int ndev = 0;
  const bool has = gin.devices(&ndev) == Result::kSuccess && ndev > 0;
  gin.finalize(ctx);
  return has;
}

const GinV11* choose_built_in(const Module& nccl, std::uint64_t comm_id,
                              nccl_abi::DebugLogger log) {
  const auto proxy = [&] {
    return built_in(nccl, "ncclGinIbProxy", "GIN_IB_PROXY", nccl_abi::kGinProxySlots);
  };
  const auto gdaki = [&] {
    return built_in(nccl, "ncclGinIbGdaki", "GIN_IB_GDAKI", nccl_abi::kGinGdakiSlots);
  };
  switch (gin_type()) {
    case nccl_abi::kGinTypeProxy:
      return proxy();
    case nccl_abi::kGinTypeGdaki:
      return gdaki();
    case nccl_abi::kGinTypeAny:
      break;
    default:
      return nullptr;
  }
  const GinV11* first = gdaki();
  return first != nullptr && has_devices(*first, comm_id, log) ? first : proxy();
}

const GinV11* choose(const Module& nccl, std::uint64_t comm_id, nccl_abi::DebugLogger log) {
  const Found inner = wrapped();
  const bool ib = inner && inner.method != Method::kPlugin && inner.name == "IB";
  return ib ? choose_built_in(nccl, comm_id, log) : nullptr;
}

// Made once per NCCL, like its own.
struct Choice {
  context::ForkMutex mutex{/*held_long=*/true};
  std::optional<Module> nccl;
  const GinV11* backend = nullptr;
};
Choice& choice() {
  static context::Immortal<Choice> instance;
  return *instance;
}

// The slots in which GIN makes its QPs, behind the name of who makes them.
std::atomic<const GinV11*> g_backend{nullptr};

Result connect(void* ctx, void* handles[], int nranks, int rank, void* listen_comm,
               void** coll_comm) {
  const state::Scope scope(state::Call::kGin, {});
  return g_backend.load(std::memory_order_acquire)
      ->connect(ctx, handles, nranks, rank, listen_comm, coll_comm);
}

Result create_context(void* coll_comm, int nsignals, int ncounters, void** gin_ctx,
                      nccl_abi::NetDeviceHandle** dev_handle) {
  const state::Scope scope(state::Call::kGin, {});
  return g_backend.load(std::memory_order_acquire)
      ->createContext(coll_comm, nsignals, ncounters, gin_ctx, dev_handle);
}

}  // namespace

Result init_gin(GinV11& exported, void** ctx, std::uint64_t comm_id, nccl_abi::DebugLogger log,
                const void* caller) {
  const std::optional<Module> nccl = module_of(caller);
  if (!nccl || !nccl_abi::kForwardsGin.has(nccl_version(*nccl))) return Result::kInternalError;
  Choice& c = choice();
  const std::lock_guard lock(c.mutex);
  if (exported.devices == nullptr || !c.nccl || !same_module(*c.nccl, *nccl)) {
    const GinV11* backend = choose(*nccl, comm_id, log);
    if (backend == nullptr) return Result::kInternalError;
    c.nccl = *nccl;
    c.backend = backend;
    GinV11 filled = *backend;
    filled.init = exported.init;
    g_backend.store(backend, std::memory_order_release);
    if (filled.connect != nullptr) filled.connect = connect;
    if (filled.createContext != nullptr) filled.createContext = create_context;
    exported = filled;
  }
  const state::Scope scope(state::Call::kGin, {});
  return c.backend->init(ctx, comm_id, log);
}

}  // namespace nnd::inner
