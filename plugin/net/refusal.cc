#include "net/refusal.h"

#include <atomic>

#include "context/quiet.h"
#include "net/conn_events.h"
#include "net/dependencies.h"

namespace nnd::net {

using nccl_abi::Result;

namespace {

std::atomic<int> g_own{0};    // devices of the transport, while the network is refused
std::atomic<int> g_told{-1};  // devices that NCCL was told of; -1: none of ours

}  // namespace

bool network_refused() noexcept { return dependencies().refusal.failure() != nullptr; }

Result admit_devices(Result rc, int* ndev) noexcept {
  if (rc == Result::kSuccess) dependencies().refusal.counted(*ndev);
  if (!network_refused()) {
    g_told = -1;
    return rc;
  }
  const int own = rc == Result::kSuccess && *ndev > 0 ? *ndev : 0;
  *ndev = (own > 0 ? own : 1) + (dependencies().refusal.at_init() ? 1 : 0);
  g_own = own;
  g_told = *ndev;
  return Result::kSuccess;
}

DeviceKind kind_of(int dev) noexcept {
  const int told = g_told;
  if (told < 0) return DeviceKind::kTransport;
  if (dev >= told - 1 && dependencies().refusal.at_init()) return DeviceKind::kMissing;
  return g_own > 0 ? DeviceKind::kTransport
                   : DeviceKind::kPlaceholder;  // beyond `told`: fused ones
}

Result refuse(int api, const char* stage, int dev) noexcept {
  context::quietly([&] {
    state::Identity about;
    about.dev = dev;
    tell_refused(api, about, stage, *dependencies().refusal.failure());
  });
  return Result::kSystemError;
}

void* placeholder_context() noexcept {
  static char context;
  return &context;
}

}  // namespace nnd::net
