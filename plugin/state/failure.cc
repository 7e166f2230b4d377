#include "state/failure.h"

#include <algorithm>
#include <atomic>
#include <compare>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "context/clock.h"
#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "context/quiet.h"
#include "diagnosis/completion.h"
#include "state/connections.h"
#include "state/current.h"

namespace nnd::state {

namespace {

constexpr std::size_t kKept = 4096;

struct Entry {
  diagnosis::Diagnosis diagnosis;
  Subject subject;
  bool suspicion = false;
  std::uint64_t events = 0;
  bool error = false;
  bool over = false;  // of one of its connections
  std::uint64_t began_ns = 0;
  Identity about{};  // of its connection; id 0: not known
};

struct OfConnection {
  std::uint32_t failure = 0;
  std::vector<std::uint32_t> suspicions;
};

// Two ports.
struct Pair {
  std::string place;  // empty: not known
  context::Gid peer{};

  bool known() const { return !place.empty() && !context::gid_zero(peer); }
  auto operator<=>(const Pair&) const = default;  // NOLINT(modernize-use-nullptr): takes it for one
};

struct FailureTable {
  context::ForkMutex mutex;
  std::uint32_t last = 0;
  std::map<std::uint32_t, Entry> entries;  // by number
  std::map<std::uint32_t, OfConnection> connections;
  std::map<std::string, std::uint32_t> devices;
  std::map<std::pair<std::string, nccl_net_diag::Cause>, std::uint32_t> ports;
  std::set<Pair> together;  // of which a connection came about
};

// So that who asks in a process where nothing failed takes no lock.
std::atomic<bool> g_any{false};

FailureTable& failure_table() {
  static context::Immortal<FailureTable> instance;
  // The parent's failures are in the parent's log.
  [[maybe_unused]] static const bool watched = (context::in_forked_child(forget_failures), true);
  return *instance;
}

// It may be gone by the time that somebody asks.
Identity about_of(std::uint32_t conn) {
  if (current().conn.id == conn) return current().conn;
  Identity out;
  for_each_connection([&](const Connection& c) {
    Identity about;
    if (c.id.load() == conn && c.identity.get(about)) out = about;
  });
  return out;
}

std::uint32_t add(FailureTable& all, Entry entry) {
  if (all.entries.size() >= kKept) all.entries.erase(all.entries.begin());
  entry.began_ns = context::mono_ns();
  all.entries.emplace(++all.last, std::move(entry));
  g_any.store(true, std::memory_order_release);
  return all.last;
}

// Of the first few failures, which are what others are told of: all connections are looked at,
// which a burst of failures must not do each time.
void note_about(FailureTable& all, std::uint32_t number) {
  constexpr std::uint32_t kNoted = 64;
  Entry& entry = all.entries.at(number);
  if (number <= kNoted && entry.subject.conn != 0) entry.about = about_of(entry.subject.conn);
}

OfConnection& of_connection(FailureTable& all, std::uint32_t conn) {
  if (all.connections.size() >= kKept && !all.connections.contains(conn))
    all.connections.erase(all.connections.begin());
  return all.connections[conn];
}

// Outside of a call nobody resets it.
void note_for_call(std::uint32_t number) noexcept {
  CallContext& now = current();
  if (now.call != Call::kNone) now.failure = number;
}

std::optional<Failure> find(const FailureTable& all, std::uint32_t number) {
  const auto entry = all.entries.find(number);
  if (entry == all.entries.end()) return std::nullopt;
  return Failure{number, entry->second.diagnosis};
}

Pair pair_of(const Connection& c) {
  ConnectionEnds ends;
  ConnectionStart start;
  Identity about;
  c.ends.get(ends);
  c.start.get(start);
  c.identity.get(about);
  const bool used = ends.port != 0;
  const std::string device(used ? std::string_view(ends.device) : std::string_view(start.device));
  const std::uint32_t port = used ? ends.port : start.port;
  return {device.empty() || port == 0 ? "" : device + ":" + std::to_string(port),
          context::gid_zero(ends.remote_gid) ? about.peer_gid : ends.remote_gid};
}

// Connections that have just failed at the place, as requests do where the port has, are in the
// port's failure from now on. False: there is none.
bool take_just_failed(FailureTable& all, const std::string& place, std::uint32_t number) {
  constexpr std::uint64_t kJustNow = 2'000'000'000;
  const std::uint64_t now = context::mono_ns();
  bool any = false;
  for (auto& [conn, of] : all.connections) {
    const auto known = all.entries.find(of.failure);
    if (known == all.entries.end()) continue;
    const Entry& entry = known->second;
    if (entry.subject.device != place || now - entry.began_ns > kJustNow ||
        !diagnosis::may_be_port(entry.diagnosis.cause))
      continue;
    of.failure = number;
    any = true;
  }
  return any;
}

// What nobody will follow up need not be kept.
void drop_suspicion(FailureTable& all, std::uint32_t number) {
  const auto entry = all.entries.find(number);
  if (entry != all.entries.end() && entry->second.suspicion) all.entries.erase(entry);
}

template <class F>
auto locked(F&& f) {
  FailureTable& all = failure_table();
  const std::lock_guard guard(all.mutex);
  return f(all);
}

// What keeps two ports apart, of which no connection came about; of a port and any peer, where that
// is not known.
std::optional<Failure> apart(const Pair& pair, const Fits& fits) {
  const bool any_peer = context::gid_zero(pair.peer);
  return locked([&](const FailureTable& all) -> std::optional<Failure> {
    for (const auto& [number, entry] : all.entries) {
      const Pair other{entry.subject.device, entry.subject.peer_gid};
      if (!entry.over && other.known() && other.place == pair.place &&
          (any_peer || other.peer == pair.peer) && fits(entry.diagnosis) &&
          !all.together.contains(other))
        return Failure{number, entry.diagnosis};
    }
    return std::nullopt;
  });
}

}  // namespace

Failure begin_failure(const Subject& subject, diagnosis::Diagnosis diagnosis, std::uint32_t of) {
  return locked([&](FailureTable& all) {
    const auto known = all.entries.find(of);
    std::uint32_t number = of;
    if (known == all.entries.end()) {
      number = add(all, {diagnosis, subject});
      note_about(all, number);
    } else {
      Entry& entry = known->second;
      if (std::exchange(entry.suspicion, false)) {
        entry.diagnosis = diagnosis;
        entry.subject = subject;
        note_about(all, number);
      }
      entry.over = false;
    }
    if (subject.conn != 0) of_connection(all, subject.conn).failure = number;
    note_for_call(number);
    return Failure{number, std::move(diagnosis)};
  });
}

Failure begin_device_failure(const std::string& device, diagnosis::Diagnosis diagnosis) {
  return locked([&](FailureTable& all) {
    const std::uint32_t number = add(all, {diagnosis, {0, device, {}, {}}});
    all.devices[device] = number;
    // A flush that was polled before the device said why.
    for (auto& [conn, of] : all.connections)
      if (const auto known = all.entries.find(of.failure);
          known != all.entries.end() && diagnosis::is_flush(known->second.diagnosis.cause) &&
          known->second.subject.device.starts_with(device + ":"))
        of.failure = number;
    return Failure{number, std::move(diagnosis)};
  });
}

Failure begin_suspicion(const Subject& subject, diagnosis::Diagnosis diagnosis) {
  return locked([&](FailureTable& all) {
    const std::uint32_t number = add(all, {diagnosis, subject, true});
    if (subject.conn != 0) of_connection(all, subject.conn).suspicions.push_back(number);
    return Failure{number, std::move(diagnosis)};
  });
}

Failure begin_port_suspicion(const std::string& place, diagnosis::Diagnosis diagnosis) {
  return locked([&](FailureTable& all) {
    const std::uint32_t number = add(all, {diagnosis, {0, place, {}, {}}, true});
    if (take_just_failed(all, place, number)) all.entries.find(number)->second.suspicion = false;
    const std::uint32_t before = std::exchange(all.ports[{place, diagnosis.cause}], number);
    drop_suspicion(all, before);
    return Failure{number, std::move(diagnosis)};
  });
}

void adopt_failure(std::uint32_t number, std::uint32_t conn) {
  locked([&](FailureTable& all) {
    const auto known = all.entries.find(number);
    if (known == all.entries.end()) return;
    known->second.suspicion = known->second.over = false;
    if (conn != 0) of_connection(all, conn).failure = number;
    note_for_call(number);
  });
}

std::optional<Failure> failure_of_call(std::uint32_t conn) {
  if (!g_any.load(std::memory_order_acquire)) return std::nullopt;
  if (const std::uint32_t number = current().failure; number != 0)
    return locked([&](const FailureTable& all) { return find(all, number); });
  return failure_of(conn);
}

std::optional<Failure> failure_of(std::uint32_t conn) {
  if (conn == 0 || !g_any.load(std::memory_order_acquire)) return std::nullopt;
  return locked([&](const FailureTable& all) -> std::optional<Failure> {
    const auto known = all.connections.find(conn);
    if (known == all.connections.end()) return std::nullopt;
    return find(all, known->second.failure);
  });
}

std::optional<Failure> failure_of_device(const std::string& device) {
  if (device.empty() || !g_any.load(std::memory_order_acquire)) return std::nullopt;
  return locked([&](const FailureTable& all) -> std::optional<Failure> {
    const auto known = all.devices.find(device);
    if (known == all.devices.end()) return std::nullopt;
    return find(all, known->second);
  });
}

std::optional<Failure> suspicion_of(std::uint32_t conn, const Fits& fits) {
  if (conn == 0 || !g_any.load(std::memory_order_acquire)) return std::nullopt;
  return locked([&](const FailureTable& all) -> std::optional<Failure> {
    const auto known = all.connections.find(conn);
    if (known == all.connections.end()) return std::nullopt;
    for (const std::uint32_t number : known->second.suspicions)
      if (auto found = find(all, number); found && fits(found->diagnosis)) return found;
    return std::nullopt;
  });
}

std::optional<Failure> known_of_pair(const Connection& c, const Fits& fits) {
  if (!g_any.load(std::memory_order_acquire)) return std::nullopt;
  const std::uint32_t conn = c.id.load(std::memory_order_relaxed);
  if (auto failed = failure_of(conn)) return failed;
  if (c.completed.load(std::memory_order_relaxed) != 0) return std::nullopt;
  if (auto broken = suspicion_of(conn, fits)) return broken;
  if (c.ready_ns.load(std::memory_order_relaxed) != 0) return std::nullopt;
  const Pair pair = pair_of(c);
  return pair.known() ? apart(pair, fits) : std::nullopt;
}

std::optional<Failure> known_of_port(const Connection& c, const Fits& fits) {
  if (!g_any.load(std::memory_order_acquire)) return std::nullopt;
  const Pair pair = pair_of(c);
  if (pair.place.empty() || !context::gid_zero(pair.peer)) return std::nullopt;
  return apart(pair, fits);
}

void came_together(const Connection& c) noexcept {
  if (!g_any.load(std::memory_order_acquire)) return;
  context::quietly([&] {
    if (Pair pair = pair_of(c); pair.known())
      locked([&](FailureTable& all) {
        if (all.together.size() < kKept) all.together.insert(std::move(pair));
      });
  });
}

std::optional<Failure> suspicion_of_port(const std::string& place, nccl_net_diag::Cause cause) {
  if (!g_any.load(std::memory_order_acquire)) return std::nullopt;
  return locked([&](const FailureTable& all) -> std::optional<Failure> {
    const auto known = all.ports.find({place, cause});
    if (known == all.ports.end()) return std::nullopt;
    return find(all, known->second);
  });
}

void end_failure(std::uint32_t conn) noexcept {
  if (conn == 0 || !g_any.load(std::memory_order_acquire)) return;
  locked([&](FailureTable& all) {
    const auto known = all.connections.find(conn);
    if (known == all.connections.end()) return;
    const auto entry = all.entries.find(std::exchange(known->second.failure, 0));
    if (entry != all.entries.end()) entry->second.over = true;
  });
  current().failure = 0;
}

void forget_connection(std::uint32_t conn) noexcept {
  if (conn == 0 || !g_any.load(std::memory_order_acquire)) return;
  locked([&](FailureTable& all) {
    const auto known = all.connections.find(conn);
    if (known == all.connections.end()) return;
    for (const std::uint32_t number : known->second.suspicions) drop_suspicion(all, number);
    all.connections.erase(known);
  });
}

void count_event(std::uint32_t failure, bool error) noexcept {
  locked([&](FailureTable& all) {
    const auto known = all.entries.find(failure);
    if (known == all.entries.end()) return;
    ++known->second.events;
    known->second.error = known->second.error || error;
  });
}

FailureList list_failures(std::size_t limit) {
  return locked([&](const FailureTable& all) {
    FailureList out;
    std::set<std::uint32_t> held;
    for (const auto& [conn, of] : all.connections) held.insert(of.failure);
    for (const auto& [number, entry] : all.entries) {
      if (entry.suspicion || entry.events == 0) continue;
      ++out.total;
      if (out.first.size() < limit)
        out.first.push_back({{number, entry.diagnosis},
                             entry.subject,
                             entry.events,
                             entry.error,
                             entry.over && !held.contains(number),
                             entry.about});
    }
    return out;
  });
}

void forget_failures() noexcept {
  FailureTable& all = failure_table();
  const std::lock_guard guard(all.mutex);
  all.entries.clear();
  all.connections.clear();
  all.devices.clear();
  all.ports.clear();
  all.together.clear();
  g_any.store(false, std::memory_order_release);
}

}  // namespace nnd::state
