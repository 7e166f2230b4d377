// The fields that events of several rooms share, each written in one place: "dev", "peer", "link",
// and whose connection an event is about. What isn't known is left out.
#pragma once

#include <cstdint>
#include <string_view>

#include "context/gid.h"
#include "record/event.h"
#include "record/pack.h"
#include "state/awaited.h"
#include "state/current.h"
#include "state/ends.h"

namespace nnd::record {

// "dev": an HCA, one of its ports, or a net device of NCCL's.
struct DeviceFields {
  int index = -1;  // as NCCL counts net devices
  std::string_view name{};
  unsigned port = 0;
  std::string_view pci{};
  int numa = -1;
  std::string_view link_layer{};
  long speed_mbps = -1;
  unsigned mtu = 0;  // bytes
  int gid_index = -1;
  context::Gid gid{};
  std::string_view gid_text{};  // of gid, where somebody has it
  std::string_view subnet{};
  std::string_view netdev{};
};
void add_device(Event& event, const DeviceFields& device);

// "peer": the other end; nothing where none of it is known.
struct PeerFields {
  std::uint64_t proc = 0;
  int rank = -1;
  context::Gid gid{};
  std::string_view gid_text{};
  std::string_view subnet{};
};
void add_peer(Event& event, const PeerFields& peer);

// conn, dir, comm and link of a connection; `owner` for what was made outside of one.
void add_connection(Event& event, const state::Identity& connection, std::string_view owner = {});

// rank, channel, what for and how that was found; comm, where the connection itself has none. The
// peer's rank belongs to `peer`.
void add_labels(Event& event, const state::Identity& connection, const state::Labels& labels);

// "awaited": whom a process waits for in the end; nothing where nobody is known.
void add_awaited(Pack& fields, const state::Awaited& awaited);
// "latecomer": who comes last to collectives; nothing where nobody does.
void add_latecomer(Pack& fields, const state::Latecomer& late);

// errno; nothing for 0.
void add_errno(Event& event, int error);

}  // namespace nnd::record
