#include "verbs/qp_table.h"

#include <new>
#include <utility>

#include "context/immortal.h"

namespace nnd::verbs {
namespace {

constexpr std::size_t kFirstSize = 1024;

QpRecord g_tombstone;  // its keys match nothing

std::size_t mix(std::uint64_t value) noexcept {
  value *= 0x9e3779b97f4a7c15ULL;
  return static_cast<std::size_t>(value ^ (value >> 32U));
}

std::size_t hash_of(const ibv_qp* qp) noexcept { return mix(reinterpret_cast<std::uintptr_t>(qp)); }

std::size_t hash_of(const ibv_context* context, std::uint32_t num) noexcept {
  return mix(reinterpret_cast<std::uintptr_t>(context) ^ (std::uint64_t{num} << 40U));
}

std::size_t hash_of(const QpRecord& record, bool numbers) noexcept {
  return numbers ? hash_of(record.context.load(std::memory_order_relaxed),
                           record.num.load(std::memory_order_relaxed))
                 : hash_of(record.qp.load(std::memory_order_relaxed));
}

}  // namespace

QpTable::QpTable() {
  for (Published* index : {&pointers_, &numbers_}) {
    index->all.push_back(std::make_unique<Index>(kFirstSize));
    index->now.store(index->all.back().get(), std::memory_order_release);
  }
}

QpRecord* QpTable::by_pointer(const ibv_qp* qp) const noexcept {
  const Index& index = *pointers_.now.load(std::memory_order_acquire);
  for (std::size_t i = hash_of(qp);; ++i) {
    QpRecord* record = index.slots[i & index.mask].load(std::memory_order_acquire);
    if (record == nullptr || record->qp.load(std::memory_order_relaxed) == qp) return record;
  }
}

QpRecord* QpTable::by_number(const ibv_context* context, std::uint32_t num) const noexcept {
  const Index& index = *numbers_.now.load(std::memory_order_acquire);
  for (std::size_t i = hash_of(context, num);; ++i) {
    QpRecord* record = index.slots[i & index.mask].load(std::memory_order_acquire);
    if (record == nullptr || (record->num.load(std::memory_order_relaxed) == num &&
                              record->context.load(std::memory_order_relaxed) == context))
      return record;
  }
}

void QpTable::insert(Published& published, std::size_t hash, QpRecord* record, bool numbers) {
  // At least a quarter stays empty, so that every search ends.
  if ((published.used + 1) * 4 > (published.now.load()->mask + 1) * 3) rebuild(published, numbers);
  const Index& index = *published.now.load(std::memory_order_relaxed);
  for (std::size_t i = hash;; ++i) {
    std::atomic<QpRecord*>& slot = index.slots[i & index.mask];
    const QpRecord* there = slot.load(std::memory_order_relaxed);
    if (there != nullptr && there != &g_tombstone) continue;
    if (there == nullptr) ++published.used;
    slot.store(record, std::memory_order_release);
    return;
  }
}

void QpTable::erase(const Published& published, std::size_t hash, const QpRecord* record) {
  const Index& index = *published.now.load(std::memory_order_relaxed);
  for (std::size_t i = hash;; ++i) {
    std::atomic<QpRecord*>& slot = index.slots[i & index.mask];
    const QpRecord* there = slot.load(std::memory_order_relaxed);
    if (there == nullptr) return;
    if (there != record) continue;
    slot.store(&g_tombstone, std::memory_order_release);
    return;
  }
}

void QpTable::rebuild(Published& published, bool numbers) {
  const std::size_t size = published.now.load()->mask + 1;
  auto fresh = std::make_unique<Index>(live_.size() * 2 >= size ? size * 2 : size);
  for (QpRecord* record : live_) {
    std::size_t i = hash_of(*record, numbers);
    while (fresh->slots[i & fresh->mask].load(std::memory_order_relaxed) != nullptr) ++i;
    fresh->slots[i & fresh->mask].store(record, std::memory_order_relaxed);
  }
  published.used = live_.size();
  published.all.push_back(std::move(fresh));
  published.now.store(published.all.back().get(), std::memory_order_release);
}

QpRecord* QpTable::add(const ibv_qp* qp, const ibv_context* context, std::uint32_t num,
                       QpInfo info) {
  if (QpRecord* stale = by_pointer(qp)) {
    unlist(*stale);
    release(*stale);
  }
  const std::lock_guard lock(mutex_);
  QpRecord* record = nullptr;
  if (free_.size() > 64) {  // rest a while first: a late reader of the old QP sees no stranger
    record = free_.front();
    free_.pop_front();
  } else {
    record = &records_.emplace_back();
  }
  {
    const std::lock_guard own(record->mutex);
    record->info = std::move(info);
  }
  for (auto* counter : {&record->sends, &record->recvs, &record->completed, &record->failed})
    counter->store(0, std::memory_order_relaxed);
  record->last_success_ns.store(0, std::memory_order_relaxed);
  record->told.store(0, std::memory_order_relaxed);
  record->qp.store(qp, std::memory_order_relaxed);
  record->context.store(context, std::memory_order_relaxed);
  record->num.store(num, std::memory_order_relaxed);
  list(*record);
  return record;
}

void QpTable::list(QpRecord& record) {
  insert(pointers_, hash_of(record, false), &record, false);
  insert(numbers_, hash_of(record, true), &record, true);
  record.live_at = live_.size();
  live_.push_back(&record);
}

bool QpTable::unlist_locked(QpRecord& record) {
  if (record.live_at >= live_.size()) return false;
  live_.back()->live_at = record.live_at;
  live_[record.live_at] = live_.back();
  live_.pop_back();
  record.live_at = QpRecord::kUnlisted;
  erase(pointers_, hash_of(record, false), &record);
  erase(numbers_, hash_of(record, true), &record);
  return true;
}

void QpTable::unlist(QpRecord& record) {
  const std::lock_guard lock(mutex_);
  unlist_locked(record);
}

void QpTable::relist(QpRecord& record) {
  const std::lock_guard lock(mutex_);
  if (record.live_at == QpRecord::kUnlisted) list(record);
}

void QpTable::release(QpRecord& record) {
  const std::lock_guard lock(mutex_);
  if (record.live_at != QpRecord::kUnlisted) return;
  record.live_at = QpRecord::kFree;
  record.qp.store(nullptr, std::memory_order_relaxed);
  record.context.store(nullptr, std::memory_order_relaxed);
  free_.push_back(&record);
}

void QpTable::forget(const ibv_context* context) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = live_.size(); i-- > 0;) {
    QpRecord& record = *live_[i];
    if (record.context.load(std::memory_order_relaxed) != context || !unlist_locked(record))
      continue;
    record.live_at = QpRecord::kFree;
    free_.push_back(&record);
  }
}

void QpTable::unlock_all() noexcept {
  for (QpRecord& record : records_) new (&record.mutex) std::mutex;
}

QpTable& qp_table() {
  static QpTable& table = []() -> QpTable& {
    static context::Immortal<QpTable> instance;
    context::in_forked_child([] { qp_table().unlock_all(); });
    return *instance;
  }();
  return table;
}

}  // namespace nnd::verbs
