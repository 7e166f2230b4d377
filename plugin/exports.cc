// The exported symbols: what NCCL looks up in libnccl-net-diag.so, newest version first. Each is
// found or not as it would be without us: the loader asks a function (ifunc) at every look-up.
#include "inner/chain.h"
#include "inner/gin.h"
#include "nccl_abi/gin_v11.h"
#include "net/shim.h"
#include "profiler/shim.h"
#include "session/wiring.h"

namespace {

constinit nccl_abi::NetV6 net_v6 = nnd::net::Shim<nccl_abi::NetV6>::table();
constinit nccl_abi::NetV7 net_v7 = nnd::net::Shim<nccl_abi::NetV7>::table();
constinit nccl_abi::NetV8 net_v8 = nnd::net::Shim<nccl_abi::NetV8>::table();
constinit nccl_abi::NetV9 net_v9 = nnd::net::Shim<nccl_abi::NetV9>::table();
constinit nccl_abi::NetV10 net_v10 = nnd::net::Shim<nccl_abi::NetV10>::table();
constinit nccl_abi::NetV11 net_v11 = nnd::net::Shim<nccl_abi::NetV11>::table();
constinit nccl_abi::NetV12 net_v12 = nnd::net::Shim<nccl_abi::NetV12>::table();

constinit nccl_abi::ProfilerV1 profiler_v1 = nnd::profiler::Shim<nccl_abi::ProfilerV1>::table();
constinit nccl_abi::ProfilerV2 profiler_v2 = nnd::profiler::Shim<nccl_abi::ProfilerV2>::table();
constinit nccl_abi::ProfilerV3 profiler_v3 = nnd::profiler::Shim<nccl_abi::ProfilerV3>::table();
constinit nccl_abi::ProfilerV4 profiler_v4 = nnd::profiler::Shim<nccl_abi::ProfilerV4>::table();
constinit nccl_abi::ProfilerV5 profiler_v5 = nnd::profiler::Shim<nccl_abi::ProfilerV5>::table();
constinit nccl_abi::ProfilerV6 profiler_v6 = nnd::profiler::Shim<nccl_abi::ProfilerV6>::table();
constinit nccl_abi::ProfilerV7 profiler_v7 = nnd::profiler::Shim<nccl_abi::ProfilerV7>::table();

// Its slots but for init are filled by the first init: see inner/gin.h.
nccl_abi::Result init_gin(void** ctx, std::uint64_t comm_id, nccl_abi::DebugLogger log);
constinit nccl_abi::GinV11 gin_v11 = [] {
  nccl_abi::GinV11 table{};
  table.name = "GIN_IB";
  table.init = init_gin;
  return table;
}();
nccl_abi::Result init_gin(void** ctx, std::uint64_t comm_id, nccl_abi::DebugLogger log) {
  return nnd::inner::init_gin(gin_v11, ctx, comm_id, log, __builtin_return_address(0));
}

// Runs when the library is loaded.
__attribute__((constructor)) void at_load() {
  nnd::session::wire();
  nnd::net::Shim<nccl_abi::NetV6>::adopt(net_v6);
  nnd::net::Shim<nccl_abi::NetV7>::adopt(net_v7);
  nnd::net::Shim<nccl_abi::NetV8>::adopt(net_v8);
  nnd::net::Shim<nccl_abi::NetV9>::adopt(net_v9);
  nnd::net::Shim<nccl_abi::NetV10>::adopt(net_v10);
  nnd::net::Shim<nccl_abi::NetV11>::adopt(net_v11);
  nnd::net::Shim<nccl_abi::NetV12>::adopt(net_v12);
}

using Symbol = void();

Symbol* symbol(const void* address) {
  return reinterpret_cast<Symbol*>(const_cast<void*>(address));
}

template <class Net>
Symbol* net_table(int version, Net& own) noexcept {
  const nnd::inner::Offer offer = nnd::session::offer_net(version);
  if (!offer.own) return symbol(offer.theirs);
  own.name = offer.name;
  return symbol(&own);
}

Symbol* net_table(int version) noexcept { return symbol(nnd::session::offer_net(version).theirs); }

Symbol* gin_table() noexcept {
  return nnd::inner::plugin_offered() ? symbol(nnd::inner::plugin_symbol("ncclGinPlugin_v11"))
                                      : symbol(&gin_v11);
}

template <class Table>
Symbol* profiler_table(const Table& own) noexcept {
  const auto offer = nnd::session::offer_profiler(Table::kApi);
  if (!offer.own) return symbol(offer.theirs);
  nnd::profiler::Beside<Table>::wrap(static_cast<const Table*>(offer.other), offer.nccls_api);
  return symbol(&own);
}

}  // namespace

// NND_EXPORT(NAME, VALUE): a symbol that has this value when it is looked up; null: there is none.
#define NND_EXPORT(NAME, VALUE)                                                          \
  extern "C" __attribute__((visibility("hidden"), used)) Symbol* nnd_value_of_##NAME() { \
    return VALUE;                                                                        \
  }                                                                                      \
  extern "C" __attribute__((visibility("default"), ifunc("nnd_value_of_" #NAME))) void NAME();
#define NND_PASS_ON(NAME) NND_EXPORT(NAME, symbol(nnd::inner::plugin_symbol(#NAME)))

NND_EXPORT(ncclNetPlugin_v12, net_table(12, net_v12))
NND_EXPORT(ncclNetPlugin_v11, net_table(11, net_v11))
NND_EXPORT(ncclNetPlugin_v10, net_table(10, net_v10))
NND_EXPORT(ncclNetPlugin_v9, net_table(9, net_v9))
NND_EXPORT(ncclNetPlugin_v8, net_table(8, net_v8))
NND_EXPORT(ncclNetPlugin_v7, net_table(7, net_v7))
NND_EXPORT(ncclNetPlugin_v6, net_table(6, net_v6))
// Too old to be wrapped.
NND_EXPORT(ncclNetPlugin_v5, net_table(5))
NND_EXPORT(ncclNetPlugin_v4, net_table(4))

// What NCCL 2.18.1 to 2.32.3 look up in the library of their net plugin besides.
NND_EXPORT(ncclGinPlugin_v11, gin_table())
NND_PASS_ON(ncclGinPlugin_v12)
NND_PASS_ON(ncclGinPlugin_v13)
NND_PASS_ON(ncclGinPlugin_v14)
NND_PASS_ON(ncclRmaPlugin_v13)
NND_PASS_ON(ncclRmaPlugin_v14)
NND_PASS_ON(ncclRmaPlugin_v15)
NND_PASS_ON(ncclRmaPlugin_v16)
NND_PASS_ON(ncclCollNetPlugin_v4)
NND_PASS_ON(ncclCollNetPlugin_v5)
NND_PASS_ON(ncclCollNetPlugin_v6)
NND_PASS_ON(ncclCollNetPlugin_v7)
NND_PASS_ON(ncclCollNetPlugin_v8)
NND_PASS_ON(ncclCollNetPlugin_v9)
NND_PASS_ON(ncclCollNetPlugin_v10)
NND_PASS_ON(ncclCollNetPlugin_v11)
NND_PASS_ON(ncclCollNetPlugin_v12)
NND_PASS_ON(ncclTunerPlugin_v1)
NND_PASS_ON(ncclTunerPlugin_v2)
NND_PASS_ON(ncclTunerPlugin_v3)
NND_PASS_ON(ncclTunerPlugin_v4)
NND_PASS_ON(ncclTunerPlugin_v5)
NND_PASS_ON(ncclTunerPlugin_v6)
NND_EXPORT(ncclProfiler_v1, profiler_table(profiler_v1))
NND_EXPORT(ncclProfiler_v2, profiler_table(profiler_v2))
NND_EXPORT(ncclProfiler_v3, profiler_table(profiler_v3))
NND_EXPORT(ncclProfiler_v4, profiler_table(profiler_v4))
NND_EXPORT(ncclProfiler_v5, profiler_table(profiler_v5))
NND_EXPORT(ncclProfiler_v6, profiler_table(profiler_v6))
NND_EXPORT(ncclProfiler_v7, profiler_table(profiler_v7))
