#include "verbs/hooks.h"

#include <atomic>

namespace nnd::verbs {

namespace {

constexpr Hooks kNone;
constinit std::atomic<const Hooks*> g_hooks{&kNone};

}  // namespace

const Hooks& hooks() noexcept { return *g_hooks.load(std::memory_order_acquire); }

void set_hooks(const Hooks* hooks) noexcept {
  g_hooks.store(hooks != nullptr ? hooks : &kNone, std::memory_order_release);
}

}  // namespace nnd::verbs
