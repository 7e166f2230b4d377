// What is known of a connection beyond its identity: its two ends, its QPs, and who uses it. Plain
// values, to be published.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "context/gid.h"
#include "state/fixed_text.h"

namespace nnd::state {

// A QP that is its own peer, with which NCCL flushes what it received (gpuFlush in ncclIbAccept,
// v2.28.9-1 src/transport/net_ib.cc). Two processes on one port have the same GID, and two HCAs may
// number their QPs alike.
inline bool leads_to_itself(std::uint32_t num, std::uint32_t remote_num, const context::Gid& gid,
                            const context::Gid& remote_gid) {
  return num == remote_num && gid == remote_gid && !context::gid_zero(gid);
}

// The HCA port that its QPs use here, and the other end's address, as told by the first of them
// that was moved to RTR and leads elsewhere.
struct ConnectionEnds {
  FixedText<64> device;
  FixedText<16> netdev;
  FixedText<16> pci;
  FixedText<16> link_layer;  // "Ethernet"
  FixedText<56> subnet;      // "10.0.1.0/24"
  FixedText<56> remote_subnet;
  context::Gid gid{};
  context::Gid remote_gid{};
  std::int32_t gid_index = -1;  // -1: no GRH
  std::uint32_t port = 0;       // 0: not known, nor is the rest
  std::uint32_t mtu = 0;        // active, in bytes
  std::int32_t speed_mbps = -1;
  std::int32_t numa = -1;
};

// What is known before its QPs are: the device as NCCL was told it, and where the listener waits
// for the TCP connection over which both ends set up their QPs.
struct ConnectionStart {
  FixedText<64> device;  // empty: not known
  FixedText<16> pci;
  std::uint32_t port = 0;
  std::int32_t speed_mbps = -1;
  context::Gid listener{};  // its address, IPv4 as ::ffff:a.b.c.d; zero: not known
  std::uint16_t listener_port = 0;
};

// Of enum ibv_qp_state.
constexpr std::string_view qp_state_name(int state) noexcept {
  constexpr std::string_view kNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  const auto place = static_cast<std::size_t>(state);  // a negative one is far too large
  return place < std::size(kNames) ? kNames[place] : "UNKNOWN";
}

// One QP.
struct QpSummary {
  std::uint32_t num = 0;
  std::uint32_t remote_num = 0;
  context::Gid gid{};
  context::Gid remote_gid{};
  std::int32_t gid_index = -1;
  std::int32_t traffic_class = -1;  // -1: no GRH
  std::uint16_t path_mtu = 0;       // bytes
  std::int8_t state = 0;            // enum ibv_qp_state it came to
  std::uint8_t port = 0;
  std::uint8_t sl = 0;
  std::uint8_t timeout = 0;
  std::uint8_t retry_cnt = 0;
  std::uint8_t rnr_retry = 0;
  // Spent in ibv_modify_qp to INIT, RTR and RTS, all attempts together.
  std::uint32_t init_us = 0;
  std::uint32_t rtr_us = 0;
  std::uint32_t rts_us = 0;
  std::uint64_t rtr_ns = 0;  // CLOCK_MONOTONIC when it was in RTR, and in RTS; 0: it was not
  std::uint64_t rts_ns = 0;
  std::uint32_t attempts = 0;  // the most that one of its transitions needed

  bool leads_to_itself() const { return state::leads_to_itself(num, remote_num, gid, remote_gid); }
};

// How a label was found.
enum class LabelOrigin : std::uint8_t {
  kNot,
  kExact,  // NCCL's handle of the request leads to it
  kJoined  // by the order of NCCL's calls on one thread
};
enum class Purpose : std::uint8_t { kUnknown, kCollective, kTransfer };

// Whose it is and what for, of its first request. -1, 0, empty: not known.
struct Labels {
  std::int32_t rank = -1;
  std::int32_t peer_rank = -1;
  std::int32_t channel = -1;
  LabelOrigin how = LabelOrigin::kNot;
  Purpose purpose = Purpose::kUnknown;
  bool relayed = false;  // for a process of this node, whose GPU it is (PXN)
  std::uint64_t comm = 0;
  std::uint32_t communicator = ~0u;  // its place (communicators.h)
};

}  // namespace nnd::state
