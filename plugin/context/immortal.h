// A function's own static value that is never destroyed: NCCL and its threads may call while the
// process exits. It lies in place, so that making it cannot fail for want of memory.
//
//   static context::Immortal<Table> table;
//   return *table;
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <utility>

namespace nnd::context {

template <class T>
class Immortal {
 public:
  template <class... Arguments>
  explicit Immortal(Arguments&&... arguments) {
    ::new (static_cast<void*>(place_.data())) T(std::forward<Arguments>(arguments)...);
  }
  Immortal(const Immortal&) = delete;
  Immortal& operator=(const Immortal&) = delete;

  T& operator*() noexcept { return *std::launder(reinterpret_cast<T*>(place_.data())); }
  T* operator->() noexcept { return &**this; }

 private:
  alignas(T) std::array<std::byte, sizeof(T)> place_;
};

}  // namespace nnd::context
