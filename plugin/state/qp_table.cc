#include "state/qp_table.h"

#include <mutex>
#include <new>
#include <utility>

#include "context/immortal.h"
#include "context/memory_order.h"
#include "state/connection.h"

namespace nnd::state {

namespace {

// A Qp that is let go rests until this many others are: a late reader sees no stranger in it.
constexpr std::size_t kResting = 64;
constexpr std::size_t kUnlisted = ~std::size_t{0};
constexpr std::size_t kFree = kUnlisted - 1;

}  // namespace

Qp* QpTable::add(const ibv_qp* qp, const ibv_context* context, std::uint32_t num, QpInfo info) {
  const std::lock_guard lock(mutex_);
  if (Qp* stale = find_qp(chains_, context, num)) {
    unlist_locked(*stale);
    rest(*stale);
  }
  Qp* made = nullptr;
  if (free_.size() > kResting) {
    made = free_.front();
    free_.pop_front();
  } else {
    made = &all_.emplace_back();
  }
  {
    const std::lock_guard own(made->mutex);
    made->info = std::move(info);
  }
  for (auto* word : {&made->sends, &made->recvs, &made->completed, &made->failed,
                     &made->unsignalled, &made->last_success})
    word->store(0, std::memory_order_relaxed);
  made->told.store(0, std::memory_order_relaxed);
  made->qp.store(qp, std::memory_order_relaxed);
  made->context.store(context, std::memory_order_relaxed);
  made->num.store(num, std::memory_order_relaxed);
  list(*made);
  return made;
}

void QpTable::list(Qp& qp) {
  live_.push_back(&qp);
  qp.live_at = live_.size() - 1;
  std::atomic<Qp*>& first = chains_[qp.num.load(std::memory_order_relaxed) % kQpChains];
  qp.next.store(first.load(std::memory_order_relaxed), std::memory_order_relaxed);
  first.store(&qp, std::memory_order_release);
}

// Its own `next` stays, for readers that stand on it.
bool QpTable::unlist_locked(Qp& qp) {
  if (qp.live_at >= live_.size()) return false;
  live_.back()->live_at = qp.live_at;
  live_[qp.live_at] = live_.back();
  live_.pop_back();
  qp.live_at = kUnlisted;
  std::atomic<Qp*>* at = &chains_[qp.num.load(std::memory_order_relaxed) % kQpChains];
  while (at->load(std::memory_order_relaxed) != &qp)
    at = &at->load(std::memory_order_relaxed)->next;
  at->store(qp.next.load(std::memory_order_relaxed), std::memory_order_release);
  return true;
}

void QpTable::rest(Qp& qp) {
  qp.live_at = kFree;
  free_.push_back(&qp);
}

void QpTable::unlist(Qp& qp) {
  const std::lock_guard lock(mutex_);
  unlist_locked(qp);
}

void QpTable::relist(Qp& qp) {
  const std::lock_guard lock(mutex_);
  if (qp.live_at == kUnlisted) list(qp);
}

void QpTable::release(Qp& qp) {
  const std::lock_guard lock(mutex_);
  if (qp.live_at == kUnlisted) rest(qp);
}

void QpTable::forget(const ibv_context* context) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = live_.size(); i-- > 0;) {
    Qp& qp = *live_[i];
    if (qp.context.load(std::memory_order_relaxed) == context && unlist_locked(qp)) rest(qp);
  }
}

std::size_t QpTable::size() {
  const std::lock_guard lock(mutex_);
  return live_.size();
}

std::map<std::string, std::uint64_t> QpTable::count_by_device() {
  std::map<std::string, std::uint64_t> out;
  const std::lock_guard lock(mutex_);
  for (Qp* const qp : live_) {
    const std::lock_guard own(qp->mutex);
    ++out[qp->info.device];
  }
  return out;
}

void QpTable::unlock_all() noexcept {
  for (Qp& qp : all_) new (&qp.mutex) std::mutex;
}

constinit QpChains g_qp_chains{};

QpTraffic traffic_of_qps(const Connection& c) noexcept {
  using context::kRelaxed;
  QpTraffic sum;
  const std::uint32_t id = c.id.load(kRelaxed);
  for (std::uint32_t i = 0; i < c.qps.load(kRelaxed) && i < kTellableQps; ++i) {
    QpSummary told;
    if (!c.qp(i).get(told) || told.num == 0) continue;
    for (Qp* one = first_qp(told.num); one != nullptr; one = one->next.load(kRelaxed)) {
      const std::lock_guard lock(one->mutex);
      if (one->num.load(kRelaxed) != told.num || one->info.conn.id != id) continue;
      const bool flush = told.leads_to_itself();
      (flush ? sum.flushes : sum.sends) +=
          one->sends.load(kRelaxed) - one->unsignalled.load(kRelaxed);
      (flush ? sum.flushed : sum.completed) += one->completed.load(kRelaxed);
      ++sum.qps;
    }
  }
  return sum;
}

QpTable& qp_table() {
  static QpTable& table = []() -> QpTable& {
    static context::Immortal<QpTable> instance(g_qp_chains);
    context::in_forked_child([] { qp_table().unlock_all(); });
    return *instance;
  }();
  return table;
}

}  // namespace nnd::state
