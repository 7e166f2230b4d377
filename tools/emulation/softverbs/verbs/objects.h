// The objects behind the handles of <infiniband/verbs.h>: each begins with, or holds, the public
// struct that the caller has a pointer to. Engine state is guarded by the engine's lock; what the
// data path touches (queues' counters) is atomic or under the queue's own spin lock.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "softverbs/fabric.h"

namespace softverbs {

class Requester;
class Responder;
struct Qp;

// Held for a few instructions at a time, by callers that may be time-critical threads of NCCL.
class SpinLock {
 public:
  void lock() {
    while (held_.exchange(true, std::memory_order_acquire))
      while (held_.load(std::memory_order_relaxed)) {
      }
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

struct Device {
  ibv_device dev{};  // first: callers' pointers are to this
  const Host* host = nullptr;
  const Hca* hca = nullptr;
};

struct Context;

// Callers' pointers are to verbs.context, which the extended part must precede.
struct ContextHandle {
  Context* owner = nullptr;
  verbs_context verbs{};
};

struct Context {
  Device* device = nullptr;
  int event_write = -1;  // the other end of async_fd
  std::set<Qp*> qps;
  ContextHandle extended;

  ibv_context* handle() { return &extended.verbs.context; }
};

struct Pd {
  ibv_pd pd{};
  int users = 0;
};

struct Mr {
  ibv_mr mr{};
  Pd* pd = nullptr;
  char* base = nullptr;
  std::uint64_t iova = 0;
  int access = 0;
};

// How many async events of an object were handed out, and how many were acknowledged: destroying it
// waits until they are equal.
struct EventCount {
  std::atomic<std::uint32_t> delivered{0};
  std::atomic<std::uint32_t> acknowledged{0};
};

struct CqEntry {
  ibv_wc wc{};
  Qp* qp = nullptr;
  bool send = false;
  std::uint64_t index = 0;  // slots of the queue up to this one are free once it is polled
};

// One producer at a time (under the engine's lock), pollers under the spin lock.
struct Cq {
  ibv_cq cq{};
  SpinLock poll_lock;
  std::vector<CqEntry> ring;
  std::atomic<std::uint64_t> produced{0};
  std::atomic<std::uint64_t> polled{0};
  bool overrun = false;
  int users = 0;
  EventCount events;
};

struct SendWqe {
  std::uint64_t wr_id = 0;
  std::uint64_t remote_addr = 0;
  std::uint64_t compare = 0;
  std::uint64_t swap = 0;
  std::uint32_t rkey = 0;
  std::uint32_t imm = 0;
  std::uint32_t length = 0;  // of the payload
  ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
  unsigned flags = 0;
  int sges = 0;
  std::uint32_t inline_bytes = 0;
};

struct RecvWqe {
  std::uint64_t wr_id = 0;
  int sges = 0;
};

template <typename Wqe>
struct WorkQueue {
  SpinLock lock;
  std::uint32_t slots = 0;  // a power of two
  std::uint32_t max_sge = 1;
  std::vector<Wqe> wqes;
  std::vector<ibv_sge> sge_store;  // slots x max_sge
  std::atomic<std::uint64_t> posted{0};
  std::atomic<std::uint64_t> released{0};  // by polling a completion

  void size(std::uint32_t wanted, std::uint32_t sges);
  Wqe& at(std::uint64_t index) { return wqes[index & (slots - 1)]; }
  ibv_sge* sges_at(std::uint64_t index) {
    return sge_store.data() + (index & (slots - 1)) * max_sge;
  }
  bool full() const { return posted.load(std::memory_order_relaxed) - released.load() >= slots; }
};

template <typename Wqe>
void WorkQueue<Wqe>::size(std::uint32_t wanted, std::uint32_t sges) {
  slots = 1;
  while (slots < wanted) slots *= 2;
  max_sge = sges ? sges : 1;
  wqes.resize(slots);
  sge_store.resize(static_cast<std::size_t>(slots) * max_sge);
}

struct Qp {
  ibv_qp qp{};
  Context* context = nullptr;
  Pd* pd = nullptr;
  Cq* send_cq = nullptr;
  Cq* recv_cq = nullptr;
  bool signal_all = false;
  ibv_qp_cap cap{};
  std::atomic<ibv_qp_state> state{IBV_QPS_RESET};
  ibv_qp_attr attr{};
  ibv_ece ece{};
  Endpoint local;
  Endpoint peer;  // nobody: what is sent is lost

  WorkQueue<SendWqe> sq;
  std::vector<char> inline_store;  // slots x max_inline_data
  WorkQueue<RecvWqe> rq;
  std::uint64_t rq_taken = 0;

  std::unique_ptr<Requester> requester;
  Responder* responder = nullptr;  // owned by the engine

  std::atomic<bool> queued{false};  // on the engine's list of QPs with something to do
  Qp* next_queued = nullptr;
  std::atomic<bool> starving{false};  // the responder waits for a receive request
  EventCount events;

  char* inline_at(std::uint64_t index) {
    return inline_store.data() + (index & (sq.slots - 1)) * cap.max_inline_data;
  }
};

inline Device* device_of(ibv_device* device) { return reinterpret_cast<Device*>(device); }
inline Context* context_of(ibv_context* context) {
  constexpr std::size_t kOffset = offsetof(ContextHandle, verbs) + offsetof(verbs_context, context);
  return reinterpret_cast<ContextHandle*>(reinterpret_cast<char*>(context) - kOffset)->owner;
}
inline Pd* pd_of(ibv_pd* pd) { return reinterpret_cast<Pd*>(pd); }
inline Mr* mr_of(ibv_mr* mr) { return reinterpret_cast<Mr*>(mr); }
inline Cq* cq_of(ibv_cq* cq) { return reinterpret_cast<Cq*>(cq); }
inline Qp* qp_of(ibv_qp* qp) { return reinterpret_cast<Qp*>(qp); }

}  // namespace softverbs
