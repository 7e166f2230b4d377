// Every QP that NCCL holds. Written on the control path, read on the data path without a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "context/fork_mutex.h"
#include "state/qp.h"

namespace nnd::state {

// The chains of the table: QPs whose numbers have the same low bits. HCAs count their QPs up, so a
// chain is rarely longer than one.
inline constexpr std::uint32_t kQpChains = 65536;
using QpChains = std::array<std::atomic<Qp*>, kQpChains>;

// Look-ups take no lock and may run while QPs come and go. A Qp is never freed, so a stale pointer
// is harmless.
inline Qp* find_qp(const QpChains& chains, const ibv_qp* qp, std::uint32_t num) noexcept {
  Qp* one = chains[num % kQpChains].load(std::memory_order_acquire);
  while (one != nullptr && one->qp.load(std::memory_order_relaxed) != qp)
    [[unlikely]] one = one->next.load(std::memory_order_acquire);
  return one;
}
inline Qp* find_qp(const QpChains& chains, const ibv_context* context, std::uint32_t num) noexcept {
  Qp* one = chains[num % kQpChains].load(std::memory_order_acquire);
  while (one != nullptr && (one->num.load(std::memory_order_relaxed) != num ||
                            one->context.load(std::memory_order_relaxed) != context))
    [[unlikely]] one = one->next.load(std::memory_order_acquire);
  return one;
}

class QpTable {
 public:
  // Fills `chains`, which start empty and live as long as the process.
  explicit QpTable(QpChains& chains) noexcept : chains_(chains) {}

  // Throws where memory is short. A QP of this context and number that is still listed goes.
  Qp* add(const ibv_qp* qp, const ibv_context* context, std::uint32_t num, QpInfo info);
  // Out of all look-ups, the counters stay readable. Then either gone for good, or back again where
  // the QP turned out to live on. Each is harmless on a Qp that is not in that state.
  void unlist(Qp& qp);
  void relist(Qp& qp);
  void release(Qp& qp);
  std::size_t size();
  // By the device's name. Takes each QP's lock.
  std::map<std::string, std::uint64_t> count_by_device();
  // All QPs of a context that is closed.
  void forget(const ibv_context* context);
  // In the child of a fork: no thread is left that could hold a Qp's lock.
  void unlock_all() noexcept;

 private:
  void list(Qp& qp);
  bool unlist_locked(Qp& qp);
  void rest(Qp& qp);

  QpChains& chains_;
  context::ForkMutex mutex_;
  std::deque<Qp> all_;  // as many as there were at once, and some
  std::deque<Qp*> free_;
  std::vector<Qp*> live_;
};

extern QpChains g_qp_chains;  // of qp_table(), for the data path
QpTable& qp_table();

// The first QPs of a connection, as many as its entry names, summed up: work requests posted to
// send queues that are to complete, and all that completed. NCCL asks for the completion of each
// send that it posts alone, and of the last of a list (ncclIbMultiSend, ncclIbIflush, v2.28.9-1
// src/transport/net_ib.cc). Takes each QP's lock: not for the data path.
struct QpTraffic {
  unsigned qps = 0;
  std::uint64_t sends = 0, completed = 0;
  // Of those that lead to themselves, with which NCCL flushes.
  std::uint64_t flushes = 0, flushed = 0;
};
QpTraffic traffic_of_qps(const Connection& c) noexcept;

// The one that a look-up nearly always finds.
inline Qp* first_qp(std::uint32_t num) noexcept {
  return g_qp_chains[num % kQpChains].load(std::memory_order_acquire);
}
inline Qp* find_qp(const ibv_qp* qp, std::uint32_t num) noexcept {
  return find_qp(g_qp_chains, qp, num);
}
inline Qp* find_qp(const ibv_context* context, std::uint32_t num) noexcept {
  return find_qp(g_qp_chains, context, num);
}

}  // namespace nnd::state
