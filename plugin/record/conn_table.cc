#include "record/conn_table.h"

#include <algorithm>
#include <cstddef>
#include <new>

#include "record/box.h"
#include "record/pack.h"

namespace nnd::record {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

constinit ConnCounters g_table[Box::kConns];
constinit ConnCounters g_shared;
constinit std::atomic<bool> g_taken[Box::kConns] = {};
constinit std::atomic<std::uint32_t> g_used{0};  // blocks beyond were never used

// Of closed connections, [0] received and [1] sent.
struct Totals {
  std::atomic<std::uint64_t> conns{0}, started{0}, completed{0}, failed{0}, bytes{0};
};
constinit Totals g_closed[2];

bool sends(const ConnCounters& c) {
  return c.dir.load(kRelaxed) == static_cast<std::uint8_t>(state::Direction::kSend);
}

void accumulate(Totals& t, const ConnCounters& c) {
  t.conns.fetch_add(1, kRelaxed);
  t.started.fetch_add(c.started.load(kRelaxed), kRelaxed);
  t.completed.fetch_add(c.completed.load(kRelaxed), kRelaxed);
  t.failed.fetch_add(c.failed.load(kRelaxed), kRelaxed);
  t.bytes.fetch_add(c.bytes.load(kRelaxed), kRelaxed);
}

void clear(ConnCounters& c) {
  for (auto* word : {&c.comm, &c.link_proc, &c.link_listen, &c.peer_proc, &c.started, &c.completed,
                     &c.failed, &c.bytes, &c.untracked, &c.first_post, &c.last_post, &c.last_done})
    word->store(0, kRelaxed);
  for (auto& word : c.latency) word.store(0, kRelaxed);
}

void describe(ConnCounters& c, const state::About& connection) {
  clear(c);
  c.dir.store(static_cast<std::uint8_t>(connection.dir), kRelaxed);
  c.dev.store(connection.dev, kRelaxed);
  c.comm.store(connection.comm, kRelaxed);
  c.link_proc.store(connection.link_proc, kRelaxed);
  c.link_listen.store(connection.link_listen, kRelaxed);
  c.peer_proc.store(connection.peer_proc, kRelaxed);
  c.conn.store(connection.id, std::memory_order_release);
}

std::ptrdiff_t index_of(const ConnCounters* c) {
  return c >= g_table && c < g_table + Box::kConns ? c - g_table : -1;
}

void copy(box::ConnSlot& to, const ConnCounters& from) {
  box::ConnSlot slot{};
  slot.conn = from.conn.load(std::memory_order_acquire);
  slot.dir = from.dir.load(kRelaxed);
  slot.dev = from.dev.load(kRelaxed);
  slot.comm = from.comm.load(kRelaxed);
  slot.link_proc = from.link_proc.load(kRelaxed);
  slot.link_listen = from.link_listen.load(kRelaxed);
  slot.peer_proc = from.peer_proc.load(kRelaxed);
  slot.started = from.started.load(kRelaxed);
  slot.completed = from.completed.load(kRelaxed);
  slot.failed = from.failed.load(kRelaxed);
  slot.bytes = from.bytes.load(kRelaxed);
  slot.untracked = from.untracked.load(kRelaxed);
  slot.first_post = from.first_post.load(kRelaxed);
  slot.last_post = from.last_post.load(kRelaxed);
  slot.last_done = from.last_done.load(kRelaxed);
  for (std::size_t i = 0; i < box::kLatencyBuckets; ++i)
    slot.latency[i] = from.latency[i].load(kRelaxed);
  slot.checksum = box::Checksum().add(&slot, sizeof(slot)).value();
  to = slot;
}

}  // namespace

ConnCounters* acquire_conn(const state::About& connection) noexcept {
  ConnCounters* c = nullptr;
  for (std::uint32_t i = 0; i < Box::kConns && c == nullptr; ++i) {
    if (g_taken[i].load(kRelaxed) || g_taken[i].exchange(true, std::memory_order_acquire)) continue;
    c = &g_table[i];
    std::uint32_t used = g_used.load(kRelaxed);
    while (used <= i && !g_used.compare_exchange_weak(used, i + 1, std::memory_order_release)) {
    }
  }
  if (c == nullptr) c = new (std::nothrow) ConnCounters;
  if (c == nullptr) return &g_shared;
  describe(*c, connection);
  return c;
}

void release_conn(ConnCounters* counters) noexcept {
  if (counters == nullptr || counters == &g_shared) return;
  accumulate(g_closed[sends(*counters) ? 1 : 0], *counters);
  const std::ptrdiff_t index = index_of(counters);
  if (index < 0) {
    delete counters;
    return;
  }
  counters->conn.store(0, std::memory_order_release);
  g_taken[index].store(false, std::memory_order_release);
}

ConnCounters& conn_at(std::uint32_t i) noexcept { return g_table[i]; }
std::uint32_t conn_table_size() noexcept { return g_used.load(std::memory_order_acquire); }

void mirror_conns(Box& box) noexcept {
  const std::uint32_t used = conn_table_size();
  for (std::uint32_t i = 0; i < used; ++i) {
    box::ConnSlot& slot = *box.conn(i);
    const bool live = g_table[i].conn.load(kRelaxed) != 0;
    if (live || slot.conn != 0) copy(slot, g_table[i]);
  }
}

void add_traffic(Pack& fields) {
  Totals sums[2];
  for (int way = 0; way < 2; ++way) {
    const Totals& t = g_closed[way];
    sums[way].conns = t.conns.load(kRelaxed);
    sums[way].started = t.started.load(kRelaxed);
    sums[way].completed = t.completed.load(kRelaxed);
    sums[way].failed = t.failed.load(kRelaxed);
    sums[way].bytes = t.bytes.load(kRelaxed);
  }
  std::uint64_t open = 0;
  for (std::uint32_t i = 0; i < conn_table_size(); ++i) {
    if (g_table[i].conn.load(std::memory_order_acquire) == 0) continue;
    accumulate(sums[sends(g_table[i]) ? 1 : 0], g_table[i]);
    ++open;
  }
  fields.open("traffic", false);
  fields.add_unsigned("open", open);
  for (int way = 1; way >= 0; --way) {
    fields.open(way == 1 ? "send" : "recv", false);
    fields.add_unsigned("conns", sums[way].conns);
    fields.add_unsigned("started", sums[way].started);
    fields.add_unsigned("completed", sums[way].completed);
    fields.add_unsigned("failed", sums[way].failed);
    fields.add_unsigned("bytes", sums[way].bytes);
    fields.end();
  }
  fields.end();
}

void forget_conns() noexcept {
  for (std::uint32_t i = 0; i < conn_table_size(); ++i) {
    if (!g_taken[i].load(kRelaxed)) continue;
    g_table[i].conn.store(0, kRelaxed);
  }
  for (Totals& t : g_closed)
    for (auto* sum : {&t.conns, &t.started, &t.completed, &t.failed, &t.bytes})
      sum->store(0, kRelaxed);
}

}  // namespace nnd::record
