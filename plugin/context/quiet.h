// Keeping what we add invisible to the caller: errno as the real verb left it, no exception into C.
#pragma once

#include <cerrno>
#include <utility>

namespace nnd::context {

class ErrnoKeeper {
 public:
  ErrnoKeeper() noexcept : saved_(errno) {}
  ~ErrnoKeeper() { errno = saved_; }
  ErrnoKeeper(const ErrnoKeeper&) = delete;
  ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;

 private:
  int saved_;
};

// Runs what only diagnoses. A diagnostic fault (out of memory, say) never reaches NCCL.
template <class F>
void quietly(F&& f) noexcept {
  const ErrnoKeeper keep;
  try {
    std::forward<F>(f)();
  } catch (...) {  // nothing to tell it to: the log itself may be what failed
  }
}

}  // namespace nnd::context
