// What NCCL meets while the policy refuses the network: init and devices succeed, since NCCL would
// otherwise go on to another transport, unfiltered IB or TCP (v2.28.9-1 src/plugin/net.cc); listen
// and connect fail with the sentence. So only what needs the network fails.
#pragma once

#include "nccl_abi/common.h"
#include "state/current.h"

namespace nnd::net {

bool network_refused() noexcept;

// After the transport's devices(). Where the network is refused there is at least one: the
// transport's own, or else a placeholder. Where every communicator is to fail there is one more at
// the end, whose properties can't be had: NCCL asks for those of the first device when it chooses a
// transport, and for all of them when it looks at the topology, where it gives up.
nccl_abi::Result admit_devices(nccl_abi::Result rc, int* ndev) noexcept;

enum class DeviceKind { kTransport, kPlaceholder, kMissing };
DeviceKind kind_of(int dev) noexcept;

// conn.fail, then the sentence at WARN: the last thing before the error is returned.
nccl_abi::Result refuse(int api, const char* stage, int dev) noexcept;

// What NCCL gets as context where the transport's init failed; the transport never sees it.
void* placeholder_context() noexcept;

template <class Properties>
void fill_placeholder(int dev, Properties& props) noexcept {
  static char name[] = "refused";
  props = Properties{};
  props.name = name;
  props.ptrSupport = nccl_abi::kPtrHost;
  props.speed = 1000;
  props.maxComms = 65536;
  props.maxRecvs = 1;
  if constexpr (requires { props.vProps; }) {
    props.vProps.ndevs = 1;
    props.vProps.devs[0] = dev;
    props.maxP2pBytes = props.maxCollBytes = std::size_t{1} << 40;  // NCCL_MAX_NET_SIZE_BYTES
  }
  if constexpr (requires { props.maxMultiRequestSize; }) props.maxMultiRequestSize = 1;
  if constexpr (requires { props.railId; }) props.railId = props.planeId = nccl_abi::kUndefined;
}

}  // namespace nnd::net
