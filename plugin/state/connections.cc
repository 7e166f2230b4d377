#include "state/connections.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <span>
#include <string_view>

#include "context/clock.h"
#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "context/memory_order.h"
#include "state/labelling.h"

namespace nnd::state {

namespace {

using context::kRelaxed;

constexpr std::size_t kMostPlaces = 262144;  // 4 GiB of addresses, less where they are limited
constexpr std::size_t kFewestPlaces = 1024;
// Made accessible at a time: a private mapping that can be written counts as committed memory where
// the kernel is strict about it.
constexpr std::size_t kPlacesPerStep = 64;
constexpr std::size_t kPage = 4096;
static_assert(kPlacesPerStep * kEntrySize % kPage == 0 && kFewestPlaces % kPlacesPerStep == 0);

struct Table {
  context::ForkMutex lock;
  std::size_t accessible = 0;  // places that may be touched
  Connection* free = nullptr;  // chained by next_free
  std::uint32_t last_id = 0;   // event field "conn": 1, 2, ... in this process
};

Table& table() noexcept {
  static context::Immortal<Table> instance;
  return *instance;
}

std::size_t g_places = 0;  // of the table, and annexes behind it
std::atomic<std::size_t> g_used{0};
std::atomic<std::uint32_t> g_process{1};

// Of connections that NCCL had and that are gone.
struct Gone {
  std::atomic<std::uint64_t> conns{0}, started{0}, completed{0}, failed{0}, bytes{0};
};
Gone g_gone[2];  // [1]: sent

// The same by port, under the table's lock.
constexpr std::size_t kPorts = 64;
std::array<PortTraffic, kPorts> g_gone_ports;

bool reserve() noexcept {
  for (std::size_t places = kMostPlaces; places >= kFewestPlaces; places /= 2) {
    const std::size_t size = places * (kEntrySize + sizeof(Annex));
    void* const memory =
        ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) continue;
    g_places = places;
    g_arena = {reinterpret_cast<std::uintptr_t>(memory), size};
    return true;
  }
  return false;
}

Connection* place_at(std::size_t place) noexcept {
  return reinterpret_cast<Connection*>(g_arena.begin + place * kEntrySize);
}
Annex* annex_at(std::size_t place) noexcept {
  return reinterpret_cast<Annex*>(g_arena.begin + g_places * kEntrySize) + place;
}
// Its QPs are as if made where nobody has touched it, its requests are made when they are needed.
Annex& annex_of(const Connection& c) noexcept {
  return *annex_at((reinterpret_cast<std::uintptr_t>(&c) - g_arena.begin) / kEntrySize);
}

bool make_accessible(void* memory, std::size_t size) noexcept {
  return ::mprotect(memory, size, PROT_READ | PROT_WRITE) == 0;
}

Connection* fresh_place(Table& t) noexcept {
  const std::size_t used = g_used.load(kRelaxed);
  if (g_arena.size == 0 && !reserve()) return nullptr;
  if (used == g_places) return nullptr;
  if (used == t.accessible) {
    if (!make_accessible(place_at(used), kPlacesPerStep * kEntrySize) ||
        !make_accessible(annex_at(used), kPlacesPerStep * sizeof(Annex)))
      return nullptr;
    t.accessible += kPlacesPerStep;
  }
  auto* const c = new (place_at(used)) Connection;
  g_used.store(used + 1, std::memory_order_release);
  return c;
}

// As new, without making a reader's atomics anew.
void clear(Connection& c) noexcept {
  for (Counter* word :
       {&c.started, &c.completed, &c.bytes, &c.failed, &c.untracked, &c.flushes, &c.polls,
        &c.not_taken, &c.most_in_flight, &c.refused_since, &c.peer_wait_ns, &c.last_post,
        &c.last_done, &c.opened_ns, &c.ready_ns, &c.last_poll, &c.moving_since})
    word->store(0, kRelaxed);
  c.in_call.store(false, kRelaxed);
  c.groups.store(false, kRelaxed);
  for (Counter& bucket : c.latency) bucket.store(0, kRelaxed);
  for (Counter& bucket : c.peer_wait) bucket.store(0, kRelaxed);
  for (Counter& kind : c.mrs) kind.store(0, kRelaxed);
  c.qps.store(0, kRelaxed);
  c.moving_to.store(0, kRelaxed);
  c.moving_attempt.store(0, kRelaxed);
  c.poster.store(0, kRelaxed);
  c.start.set({});
  c.labels.set({});
  c.ends.set({});
  c.inner = nullptr;
  c.pool.store(0, kRelaxed);
  c.free_requests = nullptr;
  c.traced = c.awaits_consumed = c.fail_told = c.reg_fail_told = false;
  c.unlabelled = c.wants_label = false;
}

void add_to(Traffic::Way& way, const Connection& c) noexcept {
  ++way.conns;
  way.started += c.started.load(kRelaxed);
  way.completed += c.completed.load(kRelaxed);
  way.failed += c.failed.load(kRelaxed);
  way.bytes += c.bytes.load(kRelaxed);
}

// A listen comm carries nothing, an attempt is no connection yet.
bool has_traffic(const Connection& c) noexcept {
  return c.kind.load(kRelaxed) != ConnectionKind::kListen && c.ready_ns.load(kRelaxed) != 0;
}

bool is_own(const Connection& c) noexcept {
  return c.process.load(kRelaxed) == g_process.load(kRelaxed);
}

// By the middle of each bucket.
std::uint64_t mean_latency_ns(const Connection& c) noexcept {
  double sum = 0;
  std::uint64_t count = 0;
  for (std::size_t b = 0; b < kPlausibleBuckets; ++b) {
    const std::uint64_t here = c.latency[b].load(kRelaxed);
    sum += 1.5 * static_cast<double>(std::uint64_t{1} << b) * static_cast<double>(here);
    count += here;
  }
  return count == 0 ? 0 : static_cast<std::uint64_t>(sum / static_cast<double>(count));
}

void note_most(PortTraffic::Most& most, const Connection& c, const ConnectionEnds& ends,
               std::uint64_t ns) noexcept {
  if (ns <= most.ns) return;
  Labels labels;
  c.labels.get(labels);
  most = {c.id.load(kRelaxed), ns, ends.remote_gid, labels.peer_rank};
}

void add_to(std::span<PortTraffic> ports, const Connection& c) noexcept {
  ConnectionStart start;
  ConnectionEnds ends;
  c.start.get(start);
  c.ends.get(ends);
  const std::string_view device = ends.port != 0 ? ends.device : start.device;
  const std::uint32_t number = ends.port != 0 ? ends.port : start.port;
  for (PortTraffic& port : ports) {
    if (port.send.conns + port.recv.conns == 0) {
      port.device = device;
      port.port = number;
    }
    if (port.port != number || std::string_view(port.device) != device) continue;
    const bool sends = c.kind.load(kRelaxed) == ConnectionKind::kSend;
    add_to(sends ? port.send : port.recv, c);
    // A receive is posted long before its data are sent: its time says nothing.
    note_most(port.slowest, c, ends, sends ? mean_latency_ns(c) : 0);
    note_most(port.awaited, c, ends, c.peer_wait_ns.load(kRelaxed));
    return;
  }
}

}  // namespace

constinit Arena g_arena;

Request& Connection::request(std::size_t i) noexcept {
  return i < kRequestsAtFirst ? reinterpret_cast<Request*>(this + 1)[i]
                              : annex_of(*this).requests[i - kRequestsAtFirst];
}

const Published<QpSummary>& Connection::qp(std::size_t i) const noexcept {
  return i < kUsualQps ? usual_qps[i] : annex_of(*this).qps[i - kUsualQps];
}
Published<QpSummary>& Connection::qp(std::size_t i) noexcept {
  return i < kUsualQps ? usual_qps[i] : annex_of(*this).qps[i - kUsualQps];
}

std::uint64_t oldest_post(Connection& c) noexcept {
  std::uint64_t oldest = 0;
  for (std::size_t i = 0; i < c.pool.load(std::memory_order_acquire); ++i) {
    const std::uint64_t at = c.request(i).posted.load(kRelaxed);
    if (at != 0 && (oldest == 0 || at < oldest)) oldest = at;
  }
  return oldest;
}

bool take_asked(Connection& c) noexcept {
  bool asked = false;
  for (std::size_t i = 0; i < c.pool.load(std::memory_order_acquire); ++i) {
    Request& request = c.request(i);
    if (request.posted.load(kRelaxed) == 0) continue;
    if ((request.last_test.fetch_or(Request::kSeen, kRelaxed) & Request::kSeen) == 0) asked = true;
  }
  return asked;
}

Connection* open_connection(ConnectionKind kind, int api, const Identity& about,
                            void* ctx) noexcept {
  Table& t = table();
  const std::lock_guard guard(t.lock);
  Connection* c = t.free;
  if (c != nullptr)
    t.free = c->next_free;
  else if (c = fresh_place(t); c == nullptr)
    return nullptr;
  clear(*c);
  c->api.store(static_cast<std::uint8_t>(api), kRelaxed);
  c->ctx.store(ctx, kRelaxed);
  c->about = about;
  c->about.id = kind == ConnectionKind::kListen ? 0 : ++t.last_id;
  c->id.store(c->about.id, kRelaxed);
  c->about.entry = c;
  c->publish();
  c->kind.store(kind, kRelaxed);
  c->opened_ns.store(context::mono_ns(), kRelaxed);
  c->process.store(g_process.load(kRelaxed), kRelaxed);
  c->stage.store(kind == ConnectionKind::kListen ? Stage::kListening : Stage::kOpening,
                 std::memory_order_release);
  return c;
}

[[gnu::cold]] bool Connection::extend_pool() noexcept {
  const std::size_t has = pool.load(kRelaxed);
  if (has == 0) poster.store(static_cast<std::uint32_t>(::syscall(SYS_gettid)), kRelaxed);
  std::size_t next = kRequestsAtFirst;
  if (has != 0) {
    constexpr std::size_t kOffset = offsetof(Annex, requests);
    const std::size_t annexed = has - kRequestsAtFirst;
    const std::size_t pages = (kOffset + (annexed + 1) * sizeof(Request)) / kPage + 1;
    next = std::min(kRequestsAtFirst + (pages * kPage - kOffset) / sizeof(Request),
                    kRequestsPerConnection);
  }
  for (std::size_t i = next; i-- > has;) {
    Request* const request = i < pool_made ? &this->request(i) : new (&this->request(i)) Request;
    request->conn = this;
    request->inner = nullptr;
    request->posted.store(0, kRelaxed);
    request->state = RequestState::kFree;
    request->next_free = free_requests;
    free_requests = request;
  }
  pool_made = std::max(pool_made, static_cast<std::uint32_t>(next));
  pool.store(static_cast<std::uint32_t>(next), std::memory_order_release);
  return next > has;
}

void hand_out(Connection& c, void* inner) noexcept {
  if (c.kind.load(kRelaxed) != ConnectionKind::kListen) {
    c.pool.store(0, kRelaxed);
    c.stage.store(Stage::kReady, kRelaxed);
  }
  c.inner = inner;
  c.ready_ns.store(context::mono_ns(), kRelaxed);
}

void release_connection(Connection& c) noexcept {
  give_label_up(c);
  Table& t = table();
  const std::lock_guard guard(t.lock);
  if (has_traffic(c) && is_own(c)) {
    Traffic::Way way;
    add_to(way, c);
    Gone& gone = g_gone[c.kind.load(kRelaxed) == ConnectionKind::kSend ? 1 : 0];
    gone.conns.fetch_add(way.conns, kRelaxed);
    gone.started.fetch_add(way.started, kRelaxed);
    gone.completed.fetch_add(way.completed, kRelaxed);
    gone.failed.fetch_add(way.failed, kRelaxed);
    gone.bytes.fetch_add(way.bytes, kRelaxed);
    add_to(g_gone_ports, c);
  }
  c.stage.store(Stage::kFree, std::memory_order_release);
  c.id.store(0, kRelaxed);
  c.kind.store(ConnectionKind::kNone, kRelaxed);
  c.next_free = t.free;
  t.free = &c;
}

std::size_t entries_used() noexcept { return g_used.load(std::memory_order_acquire); }

Connection* entry_at(std::size_t place) noexcept {
  Connection* const c = place_at(place);
  return c->stage.load(std::memory_order_acquire) != Stage::kFree && is_own(*c) ? c : nullptr;
}

Traffic traffic() noexcept {
  Traffic sum;
  for (int sent = 0; sent < 2; ++sent) {
    const Gone& gone = g_gone[sent];
    Traffic::Way& way = sent == 1 ? sum.send : sum.recv;
    way = {gone.conns.load(kRelaxed), gone.started.load(kRelaxed), gone.completed.load(kRelaxed),
           gone.failed.load(kRelaxed), gone.bytes.load(kRelaxed)};
  }
  for_each_connection([&](const Connection& c) {
    if (!has_traffic(c)) return;
    add_to(c.kind.load(kRelaxed) == ConnectionKind::kSend ? sum.send : sum.recv, c);
    ++sum.open;
  });
  return sum;
}

std::vector<PortTraffic> traffic_by_port() {
  std::vector<PortTraffic> ports(kPorts);
  {
    Table& t = table();
    const std::lock_guard guard(t.lock);
    std::copy(g_gone_ports.begin(), g_gone_ports.end(), ports.begin());
  }
  for_each_connection([&](const Connection& c) {
    if (has_traffic(c)) add_to(ports, c);
  });
  std::erase_if(ports,
                [](const PortTraffic& port) { return port.send.conns + port.recv.conns == 0; });
  return ports;
}

void forget_connections() noexcept {
  g_process.fetch_add(1, kRelaxed);
  {
    Table& t = table();
    const std::lock_guard guard(t.lock);
    g_gone_ports = {};
  }
  for (Gone& gone : g_gone)
    for (Counter* sum : {&gone.conns, &gone.started, &gone.completed, &gone.failed, &gone.bytes})
      sum->store(0, kRelaxed);
}

}  // namespace nnd::state
