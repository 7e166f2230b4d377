// Every QP that NCCL holds: whose it is and how it does. Written on the control path, read on the
// data path without a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "context/current.h"
#include "context/fork_mutex.h"
#include "verbs/verbs_abi.h"

namespace nnd::verbs {

// What the control path knows of a QP. Guarded by QpRecord::mutex.
struct QpInfo {
  context::Connection conn;  // id 0: made outside a connection, see owner
  std::string_view owner;    // "gdaki", "gin", "recovery", "unknown"; empty: the connection's
  std::string device;
  std::uint32_t num = 0;
  unsigned port = 0;  // 0: not told yet (NCCL says it at INIT)
  std::uint32_t remote_num = 0;
  int path_mtu = 0;        // as asked for: enum ibv_mtu
  int traffic_class = -1;  // -1: no GRH
  int gid_index = -1;      // -1: no GRH
  ibv_gid local_gid{};
  ibv_gid remote_gid{};
  bool was_ready = false;  // has been in RTR
  int from = -1;           // the transition that was tried last ...
  int to = -1;
  unsigned attempts = 0;  // ... how often in a row
  int last_errno = 0;     // ... and how the last attempt ended
};

struct QpRecord {
  // Keys, readable without the table's lock.
  std::atomic<const ibv_qp*> qp{nullptr};
  std::atomic<const ibv_context*> context{nullptr};
  std::atomic<std::uint32_t> num{0};
  // Counters of the data path. A QP's send queue has one user at a time, so a plain add is enough.
  std::atomic<std::uint64_t> sends{0};
  std::atomic<std::uint64_t> recvs{0};
  std::atomic<std::uint64_t> completed{0};
  std::atomic<std::uint64_t> failed{0};
  std::atomic<std::int64_t> last_success_ns{0};  // CLOCK_MONOTONIC, some ms coarse; 0: never
  static constexpr std::uint8_t kErrorTold = 1;
  static constexpr std::uint8_t kFlushTold = 2;  // or expected: NCCL itself moved the QP to ERR
  std::atomic<std::uint8_t> told{0};
  static constexpr std::size_t kUnlisted = ~std::size_t{0};
  static constexpr std::size_t kFree = kUnlisted - 1;
  std::size_t live_at = kFree;  // the table's own, under its mutex
  std::mutex mutex;
  QpInfo info;
};

inline void bump(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

class QpTable {
 public:
  QpTable();

  // Throws where memory is short. A QP at a pointer that is still listed replaces it.
  QpRecord* add(const ibv_qp* qp, const ibv_context* context, std::uint32_t num, QpInfo info);
  // Out of all look-ups, the counters stay readable. Then either gone for good, or back again where
  // the QP turned out to live on. Each is harmless on a record that is not in that state.
  void unlist(QpRecord& record);
  void relist(QpRecord& record);
  void release(QpRecord& record);
  // All QPs of a context that is closed.
  void forget(const ibv_context* context);
  // Data path: no lock. A record is never freed, so a stale pointer is harmless.
  QpRecord* by_pointer(const ibv_qp* qp) const noexcept;
  QpRecord* by_number(const ibv_context* context, std::uint32_t num) const noexcept;
  // In the child of a fork: no thread is left that could hold a record's lock.
  void unlock_all() noexcept;

 private:
  struct Index {
    explicit Index(std::size_t size) : mask(size - 1), slots(new std::atomic<QpRecord*>[size]()) {}
    std::size_t mask;
    std::unique_ptr<std::atomic<QpRecord*>[]> slots;
  };
  struct Published {
    std::atomic<const Index*> now{nullptr};
    std::vector<std::unique_ptr<Index>> all;  // old ones stay for readers that are inside
    std::size_t used = 0;                     // slots that are not empty, tombstones included
  };

  void list(QpRecord& record);
  bool unlist_locked(QpRecord& record);
  void insert(Published& index, std::size_t hash, QpRecord* record, bool numbers);
  static void erase(const Published& index, std::size_t hash, const QpRecord* record);
  void rebuild(Published& index, bool numbers);

  mutable context::ForkMutex mutex_;
  std::deque<QpRecord> records_;
  std::deque<QpRecord*> free_;
  std::vector<QpRecord*> live_;
  Published pointers_;
  Published numbers_;
};

QpTable& qp_table();

}  // namespace nnd::verbs
