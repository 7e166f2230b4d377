// The net devices as NCCL was told them, for the events: filled by getProperties. One table per net
// API version, since two NCCLs in one process may count differently.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "net/dependencies.h"
#include "record/event.h"
#include "state/ends.h"

namespace nnd::net {

inline constexpr int kMostDevices = 1024;

// The properties of any version; what a version doesn't have keeps the value given here.
struct Device {
  int index = -1;
  std::string name;
  std::string pci_path;
  std::uint64_t guid = 0;
  int port = 0;  // as verbs counts, once it is learnt; 0: not known
  int nccl_port = 0;
  int speed_mbps = 0;
  float latency_us = 0;
  int ptr_support = 0;
  int max_comms = 0;
  int max_recvs = 0;
  int reg_is_global = -1;
  int force_flush = -1;
  int device_type = 0;
  int device_version = 0;
  std::vector<int> parts;  // devices that a virtual one is made of
  std::uint64_t max_p2p_bytes = 0;
  std::uint64_t max_coll_bytes = 0;
  int max_multi_request = -1;
  int rail = -1;
  int plane = -1;
};

// NCCL's struct of any version as a Device.
template <class Properties>
Device to_device(int index, const Properties& p) {
  Device d;
  d.index = index;
  d.name = p.name != nullptr ? p.name : "";
  d.pci_path = p.pciPath != nullptr ? p.pciPath : "";
  d.guid = p.guid;
  d.port = d.nccl_port = p.port;
  d.speed_mbps = p.speed;
  d.latency_us = p.latency;
  d.ptr_support = p.ptrSupport;
  d.max_comms = p.maxComms;
  d.max_recvs = p.maxRecvs;
  if constexpr (requires { p.regIsGlobal; }) d.reg_is_global = p.regIsGlobal;
  if constexpr (requires { p.forceFlush; }) d.force_flush = p.forceFlush;
  if constexpr (requires { p.netDeviceType; }) {
    d.device_type = static_cast<int>(p.netDeviceType);
    d.device_version = p.netDeviceVersion;
  }
  if constexpr (requires { p.vProps; }) {
    // NCCL's Socket of 2.24 to 2.29.2 leaves vProps as it was on NCCL's stack: believed only where
    // it can be true.
    const auto* const first = p.vProps.devs;
    const auto* const last = first + std::clamp(p.vProps.ndevs, 0, p.vProps.kMax);
    const bool sane = p.vProps.ndevs <= p.vProps.kMax && std::all_of(first, last, [](int part) {
                        return part >= 0 && part < kMostDevices;
                      });
    if (sane) d.parts.assign(first, last);
    d.max_p2p_bytes = p.maxP2pBytes;
    d.max_coll_bytes = p.maxCollBytes;
  }
  if constexpr (requires { p.maxMultiRequestSize; }) d.max_multi_request = p.maxMultiRequestSize;
  if constexpr (requires { p.railId; }) {
    d.rail = p.railId;
    d.plane = p.planeId;
  }
  return d;
}

// As getProperties told it; empty: it was not asked.
std::string device_name(int api, int index);

// Emits net.device when the device is new, or another one has its index. Thread-safe.
void learn_device(int api, Device device);
// NCCL asks for devices: after a communicator's bootstrap, and before it too.
void leave_bootstrap() noexcept;
// How much of it an event says.
enum class Detail : std::uint8_t {
  kName,   // which it is
  kInUse,  // and the address that is used
  kAll     // and where it sits and what it can
};
// Adds "dev" with what is known of it; `ends`: of a connection that uses it. Thread-safe.
void add_net_device(record::Event& event, int api, int index, const state::ConnectionEnds& ends,
                    Detail detail);
// The same for who knows only the connection's entry.
state::ConnectionStart start_on(int api, int index) noexcept;
// By dependencies().port; empty where the device isn't known.
PortFacts port_of(int api, int index);

}  // namespace nnd::net
