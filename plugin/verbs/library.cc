#include "verbs/library.h"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

#include "context/fork_mutex.h"
#include "verbs/handlers.h"

namespace nnd::verbs {
namespace {

std::array<Library, kMaxLibraries> g_libraries;
std::size_t g_used = 0;
context::ForkMutex g_libraries_mutex;

// The function that NCCL gets: binds a handler to library number L.
template <std::size_t L, auto Handler>
struct Thunk;
template <std::size_t L, class R, class... A, R (*Handler)(const Library&, A...)>
struct Thunk<L, Handler> {
  static R call(A... args) { return Handler(g_libraries[L], args...); }
};

template <auto Handler, std::size_t... L>
std::array<void*, kMaxLibraries> thunks(std::index_sequence<L...>) {
  return {reinterpret_cast<void*>(&Thunk<L, Handler>::call)...};
}

struct Entry {
  const char* symbol;
  const char* node;
  void* (*real)(const Real&);
  std::array<void*, kMaxLibraries> wrappers;
};

const auto& entries() {
  static const auto all = std::to_array<Entry>({
#define NND_ENTRY(field, symbol, node, ...)                                      \
  {symbol, node, [](const Real& r) { return reinterpret_cast<void*>(r.field); }, \
   thunks<&handlers::field>(std::make_index_sequence<kMaxLibraries>{})},
      NND_VERBS_TABLE(NND_ENTRY)
#undef NND_ENTRY
  });
  return all;
}

const Entry* find(const char* symbol) noexcept {
  for (const Entry& entry : entries())
    if (std::strcmp(entry.symbol, symbol) == 0) return &entry;
  return nullptr;
}

}  // namespace

Real resolve(void* handle) {
  Real real;
#define NND_RESOLVE(field, symbol, node, ...) \
  real.field = reinterpret_cast<Real::field##_type*>(::dlvsym(handle, symbol, node));
  NND_VERBS_TABLE(NND_RESOLVE)
  NND_VERBS_HELPERS(NND_RESOLVE)
#undef NND_RESOLVE
  return real;
}

const Library& library(std::size_t index) noexcept { return g_libraries[index]; }

const char* node_of(const char* symbol) noexcept {
  const Entry* entry = find(symbol);
  return entry == nullptr ? nullptr : entry->node;
}

Wrapped wrap(void* handle, const char* symbol, void* real, Origin origin) {
  const Entry* entry = find(symbol);
  Dl_info where{};
  if (entry == nullptr || real == nullptr || ::dladdr(real, &where) == 0) return {};
  const std::lock_guard lock(g_libraries_mutex);
  std::size_t index = 0;
  while (index < g_used &&
         (g_libraries[index].base != where.dli_fbase || g_libraries[index].origin != origin))
    ++index;
  if (index < g_used && entry->real(g_libraries[index].real) != real) {
    // The library was unloaded and another came to its address, or this is another version of the
    // name: nothing that our table knows.
    return {};
  }
  if (index == g_used) {
    if (g_used == kMaxLibraries) return {nullptr, true};
    Library& fresh = g_libraries[index];
    fresh.real = resolve(handle);
    if (entry->real(fresh.real) != real) {
      fresh.real = Real{};
      return {};
    }
    fresh.base = where.dli_fbase;
    fresh.origin = origin;
    ++g_used;
  }
  return {entry->wrappers[index], false};
}

}  // namespace nnd::verbs
