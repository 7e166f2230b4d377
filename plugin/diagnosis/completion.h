// A work request that failed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "diagnosis/diagnosis.h"
#include "diagnosis/path.h"

namespace nnd::diagnosis {

struct FailedCompletion {
  std::string place;   // "mlx5_0:1"
  std::string local;   // address of the local GID: "10.0.1.2"; empty: not known
  std::string remote;  // of the peer's
  std::uint32_t qp = 0;
  int status = 0;  // enum ibv_wc_status
  std::string_view status_name;
  std::uint32_t vendor_error = 0;
  std::uint64_t completed = 0;  // work requests of this QP before
  std::int64_t age_us = -1;     // since the last of them; -1: there was none
  // The connection as a whole, before.
  double conn_sec = 0;           // since NCCL had it; 0: not known
  std::uint64_t conn_bytes = 0;  // moved by completed requests
  // How long the HCA tries before it gives up, as asked for; 0: not known.
  double budget_sec = 0;
  // What happened to the port and the address that it sends from.
  bool gid_gone = false;
  double gid_went_ago_sec = -1;  // the last time; -1: never
  bool port_down = false;
  double down_ago_sec = -1;  // it went, the last time; -1: never
  // The TCP connection to the peer's process, over which the two ends set up their QPs.
  enum class Peer : std::uint8_t { kUnknown, kThere, kEnded } peer = Peer::kUnknown;
  Path path = {};  // of status 12
  // The IOMMU of an HCA that was given GPU memory, where it translates: "DMA"; else empty.
  std::string translating = {};
  // Of this process, before: its number and cause; 0: nothing has failed.
  std::uint32_t first_failure = 0;
  Cause first_cause{};
};

// earlier: what this connection has failed with before, or what the pair's rules said of its ends;
// null: nothing. Where this completion follows from it, it has that cause.
Diagnosis diagnose(const FailedCompletion& seen, const Diagnosis* earlier = nullptr);

// The QP had failed before: not the first error.
bool is_flush(Cause cause) noexcept;

// A request may have failed so since its port did.
bool may_be_port(Cause cause) noexcept;

// Whether a completion that failed so follows from ends of which the pair's rules said this.
bool explains(Cause broken, const FailedCompletion& seen) noexcept;

}  // namespace nnd::diagnosis
