#include "state/bootstrap.h"

#include <algorithm>
#include <mutex>

#include "context/clock.h"
#include "context/fork_mutex.h"
#include "context/immortal.h"

namespace nnd::state {

namespace {

constinit std::atomic<std::uint32_t> g_numbers{0};
constinit std::atomic<bool> g_any_made{false};

constexpr std::size_t kClosed = 8;
constinit std::array<SocketAddress, kClosed> g_closed{};
constinit std::size_t g_closed_count = 0;
context::ForkMutex& closed_mutex() {
  static context::Immortal<context::ForkMutex> instance;
  return *instance;
}

constexpr std::size_t kListeners = 64;
constinit std::array<std::atomic<std::uint16_t>, kListeners> g_listeners{};
constinit std::atomic<std::size_t> g_listener_count{0};

thread_local OwnBoot t_own;

// A free entry, or the one whose thread has been silent for longest: most have ended. Null: all
// are at it.
BootThread* find_entry(std::uint32_t number) noexcept {
  constexpr std::uint64_t kSilentNs = 120'000'000'000;
  BootThread* oldest = &boot_threads().front();
  for (BootThread& one : boot_threads()) {
    std::uint32_t free = 0;
    if (one.owner.compare_exchange_strong(free, number)) return &one;
    if (one.last_ns.load() < oldest->last_ns.load()) oldest = &one;
  }
  std::uint32_t owner = oldest->owner.load();
  const bool silent =
      !oldest->inside.load() && context::mono_ns() - oldest->last_ns.load() > kSilentNs;
  return silent && oldest->owner.compare_exchange_strong(owner, number) ? oldest : nullptr;
}

}  // namespace

std::array<BootThread, kBootThreads>& boot_threads() noexcept {
  static constinit std::array<BootThread, kBootThreads> threads;
  return threads;
}

OwnBoot* own_boot() noexcept {
  OwnBoot& own = t_own;
  if (own.entry == nullptr) return nullptr;
  if (own.entry->owner.load(std::memory_order_relaxed) == own.number) return &own;
  own = {};  // another thread has it, or this is a forked child
  return nullptr;
}

OwnBoot* begin_own_boot(BootRole role) noexcept {
  OwnBoot* own = own_boot();
  if (own == nullptr) {
    t_own.number = ++g_numbers;
    t_own.entry = find_entry(t_own.number);
    if (t_own.entry == nullptr) return nullptr;
    own = &t_own;
  }
  own->boot = {};
  own->boot.role = role;
  own->boot.first = !g_any_made.load(std::memory_order_relaxed);
  own->entry->inside.store(false);
  own->entry->last_ns.store(context::mono_ns());
  own->publish();
  return own;
}

void end_own_boot() noexcept {
  OwnBoot* const own = own_boot();
  if (own == nullptr) return;
  std::uint32_t number = own->number;
  own->entry->owner.compare_exchange_strong(number, 0);
  *own = {};
}

void begin_bootstrap(std::uint64_t comm) noexcept {
  OwnBoot* const own = begin_own_boot(BootRole::kRank);
  if (own == nullptr) return;
  own->boot.comm = comm;
  own->boot.began_ns = context::mono_ns();
  own->publish();
}

bool end_bootstrap(Boot& boot) noexcept {
  OwnBoot* const own = own_boot();
  if (own == nullptr || own->boot.began_ns == 0 || own->boot.receives == 0) return false;
  boot = own->boot;
  own->boot.began_ns = 0;
  own->publish();
  g_any_made.store(true, std::memory_order_relaxed);
  return true;
}

void remember_listener(std::uint16_t port) noexcept {
  g_listeners[g_listener_count++ % kListeners].store(port);
}

bool is_own_listener(std::uint16_t port) noexcept {
  return std::any_of(g_listeners.begin(), g_listeners.end(),
                     [&](const auto& one) { return one.load() == port; });
}

bool is_of_a_rank(const SocketAddress& listener) noexcept {
  return std::any_of(boot_threads().begin(), boot_threads().end(), [&](const BootThread& one) {
    Boot boot;
    if (one.owner.load() == 0 || !one.boot.get(boot) || boot.role != BootRole::kRank ||
        boot.began_ns != 0)
      return false;
    const auto& own = boot.listeners;
    return std::find(own.begin(), own.end(), listener) != own.end() && boot.root != listener;
  });
}

bool is_newly_closed(const SocketAddress& listener) noexcept {
  const std::lock_guard guard(closed_mutex());
  const auto end = g_closed.begin() + static_cast<std::ptrdiff_t>(g_closed_count);
  if (g_closed_count == kClosed || std::find(g_closed.begin(), end, listener) != end) return false;
  g_closed[g_closed_count++] = listener;
  return true;
}

void forget_bootstraps() noexcept {
  for (BootThread& one : boot_threads()) one.owner.store(0);
  for (auto& one : g_listeners) one.store(0);
  g_any_made.store(false);
  g_closed_count = 0;
}

}  // namespace nnd::state
