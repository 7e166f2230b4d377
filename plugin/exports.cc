// The exported symbols: what NCCL looks up in libnccl-net-diag.so, newest version first.
#include <strings.h>

#include <cstdlib>

#include "net/shim.h"
#include "session/wiring.h"

#define NND_EXPORT __attribute__((visibility("default"), used))

using nnd::net::Shim;

extern "C" {
NND_EXPORT constinit nccl_abi::NetV6 ncclNetPlugin_v6 = Shim<nccl_abi::NetV6>::table();
NND_EXPORT constinit nccl_abi::NetV7 ncclNetPlugin_v7 = Shim<nccl_abi::NetV7>::table();
NND_EXPORT constinit nccl_abi::NetV8 ncclNetPlugin_v8 = Shim<nccl_abi::NetV8>::table();
NND_EXPORT constinit nccl_abi::NetV9 ncclNetPlugin_v9 = Shim<nccl_abi::NetV9>::table();
NND_EXPORT constinit nccl_abi::NetV10 ncclNetPlugin_v10 = Shim<nccl_abi::NetV10>::table();
NND_EXPORT constinit nccl_abi::NetV11 ncclNetPlugin_v11 = Shim<nccl_abi::NetV11>::table();
NND_EXPORT constinit nccl_abi::NetV12 ncclNetPlugin_v12 = Shim<nccl_abi::NetV12>::table();
}

namespace {

// NCCL compares the name with NCCL_NET before it calls init: the name has to be that of the
// transport from the start.
const char* name_before_init() {
  const char* const inner = std::getenv("NCCL_NET_DIAG_INNER");
  if (inner == nullptr || strcasecmp(inner, "auto") == 0 || strcasecmp(inner, "IB") == 0)
    return "IB";
  if (strcasecmp(inner, "Socket") == 0) return "Socket";
  // A plugin's name is known when it is loaded, at init; until then it is the one asked for.
  const char* const wanted = std::getenv("NCCL_NET");
  return wanted != nullptr ? wanted : "IB";
}

template <class Net>
void adopt(Net& exported, const char* name) {
  exported.name = name;
  Shim<Net>::adopt(exported);
}

// Runs when the library is loaded.
__attribute__((constructor)) void at_load() {
  nnd::session::wire();
  const char* const name = name_before_init();
  adopt(ncclNetPlugin_v6, name);
  adopt(ncclNetPlugin_v7, name);
  adopt(ncclNetPlugin_v8, name);
  adopt(ncclNetPlugin_v9, name);
  adopt(ncclNetPlugin_v10, name);
  adopt(ncclNetPlugin_v11, name);
  adopt(ncclNetPlugin_v12, name);
}

}  // namespace
