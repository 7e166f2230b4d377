// One queue pair: whose it is, what the control path knows of it, and what the data path counts.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "context/gid.h"
#include "state/counter.h"
#include "state/current.h"
#include "state/ends.h"
#include "state/fixed_text.h"

struct ibv_qp;
struct ibv_context;

namespace nnd::state {

// What the control path knows of a QP. Guarded by Qp::mutex.
struct QpInfo {
  Identity conn;           // id 0: made outside a connection, see owner
  std::string_view owner;  // "gdaki", "gin", "recovery", "unknown"; empty: the connection's
  std::string device;
  std::uint32_t num = 0;
  unsigned port = 0;  // 0: not told yet (NCCL says it at INIT)
  std::uint32_t remote_num = 0;
  int path_mtu = 0;        // as asked for: enum ibv_mtu
  int traffic_class = -1;  // -1: no GRH
  int gid_index = -1;      // -1: no GRH
  context::Gid local_gid{};
  context::Gid remote_gid{};
  FixedText<48> local_gid_text;  // empty: zero
  FixedText<48> remote_gid_text;
  // Of these GIDs, as far as the node's facts tell; empty: not known.
  FixedText<56> subnet;
  FixedText<56> remote_subnet;
  FixedText<16> netdev;
  std::uint8_t sl = 0;  // as asked for, like what follows
  std::uint8_t timeout = 0;
  std::uint8_t retry_cnt = 0;
  std::uint8_t rnr_retry = 0;
  bool reached_rtr = false;  // has been in RTR
  int from = -1;             // the transition that was tried last (enum ibv_qp_state) ...
  int to = -1;
  unsigned attempts = 0;                    // ... how often in a row
  int last_errno = 0;                       // ... and how the last attempt ended
  unsigned most_attempts = 0;               // that one transition needed
  std::array<std::uint32_t, 4> spent_us{};  // by enum ibv_qp_state: in transitions to it
  std::array<std::uint64_t, 4> there_ns{};  // CLOCK_MONOTONIC when it came to it; 0: it did not
  std::uint32_t place = 0;                  // among its connection's QPs

  bool leads_to_itself() const {
    return state::leads_to_itself(num, remote_num, local_gid, remote_gid);
  }
};

// What the data path writes lies in the first cache line. It is written with plain loads and
// stores: a QP's queues have one user at a time. Any thread may read it.
struct alignas(64) Qp {
  static constexpr std::uint8_t kErrorTold = 1;
  static constexpr std::uint8_t kFlushTold = 2;  // or expected: NCCL itself moved the QP to ERR

  // The keys, and the next in the same chain of the table: written by the table.
  std::atomic<const ibv_qp*> qp{nullptr};
  std::atomic<const ibv_context*> context{nullptr};
  std::atomic<Qp*> next{nullptr};
  std::atomic<std::uint32_t> num{0};
  std::atomic<std::uint8_t> told{0};  // bits: which failures were
  Counter sends{0};
  Counter recvs{0};
  Counter completed{0};
  std::atomic<std::uint64_t> last_success{0};  // CPU counter; 0: never

  Counter failed{0};
  Counter unsignalled{0};   // of sends posted as lists: no completion tells of them
  std::size_t live_at = 0;  // the table's own, under its lock
  std::mutex mutex;
  QpInfo info;
};
static_assert(offsetof(Qp, failed) == 64);

inline void count_completion(Qp& qp, std::uint64_t raw_now) noexcept {
  add(qp.completed, 1);
  qp.last_success.store(raw_now, std::memory_order_relaxed);
}

}  // namespace nnd::state
