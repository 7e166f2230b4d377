#include "record/sigbus.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace nnd::record::sigbus {

namespace {

// Read in the handler: plain words, set before the handler is installed.
std::atomic<std::uintptr_t> g_base{0};
std::atomic<std::size_t> g_size{0};
std::atomic<std::uintptr_t> g_page{4096};
std::atomic<unsigned> g_replaced{0};
struct sigaction g_previous;

void on_sigbus(int signal, siginfo_t* info, void* context) noexcept;

bool replace_page(const siginfo_t* info) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const std::uintptr_t base = g_base.load(std::memory_order_acquire);
  if (info->si_code <= 0 || info->si_code == BUS_MCEERR_AO || base == 0 || address < base ||
      address - base >= g_size.load(std::memory_order_relaxed))
    return false;
  const std::uintptr_t page = address & ~(g_page.load(std::memory_order_relaxed) - 1);
  void* at = ::mmap(reinterpret_cast<void*>(page), g_page.load(std::memory_order_relaxed),
                    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (at == MAP_FAILED) return false;
  g_replaced.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void chain(int signal, siginfo_t* info, void* context) noexcept {
  const bool has_handler = (g_previous.sa_flags & SA_SIGINFO) != 0 ||
                           (g_previous.sa_handler != SIG_DFL && g_previous.sa_handler != SIG_IGN);
  if (has_handler && (g_previous.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    struct sigaction fallback {};
    fallback.sa_handler = SIG_DFL;
    ::sigaction(SIGBUS, &fallback, nullptr);
  }
  if ((g_previous.sa_flags & SA_SIGINFO) != 0)
    return g_previous.sa_sigaction(signal, info, context);
  if (has_handler) return g_previous.sa_handler(signal);
  // Sent by a process, or an early notice of bad memory: nothing that repeats itself.
  const bool sent = info->si_code <= 0 || info->si_code == BUS_MCEERR_AO;
  if (g_previous.sa_handler == SIG_IGN && sent) return;
  // The default action: put it back. A fault repeats itself on return; a signal that was sent must
  // be sent again (it is blocked until we return).
  ::sigaction(SIGBUS, &g_previous, nullptr);
  if (sent) ::raise(signal);
}

void on_sigbus(int signal, siginfo_t* info, void* context) noexcept {
  const int saved = errno;
  if (!replace_page(info)) chain(signal, info, context);
  errno = saved;
}

bool is_ours(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_sigbus;
}

}  // namespace

bool watch(void* base, std::size_t size) noexcept {
  if (g_base.load() != 0) return false;
  struct sigaction current {};
  if (::sigaction(SIGBUS, nullptr, &current) != 0) return false;
  g_page.store(static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE)));
  g_replaced.store(0);
  g_size.store(size, std::memory_order_relaxed);
  g_base.store(reinterpret_cast<std::uintptr_t>(base), std::memory_order_release);
  if (is_ours(current)) return true;  // somebody chains to us, and so we were left in place
  g_previous = current;
  struct sigaction action {};
  action.sa_sigaction = on_sigbus;
  action.sa_mask = current.sa_mask;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | (current.sa_flags & (SA_RESTART | SA_NODEFER));
  if (::sigaction(SIGBUS, &action, nullptr) == 0) return true;
  g_base.store(0);
  return false;
}

void unwatch() noexcept {
  g_base.store(0, std::memory_order_release);
  // A handler that was installed over ours may call it: then it stays, and only hands on.
  struct sigaction current {};
  if (::sigaction(SIGBUS, nullptr, &current) == 0 && is_ours(current))
    ::sigaction(SIGBUS, &g_previous, nullptr);
}

unsigned replaced_pages() noexcept { return g_replaced.load(std::memory_order_relaxed); }

}  // namespace nnd::record::sigbus
