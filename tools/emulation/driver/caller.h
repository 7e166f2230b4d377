// Calls a function so that its return address lies in a chosen module. NCCL's plugins are called by
// libnccl, and ours looks there for what it wraps, so the driver must call as libnccl does.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

namespace nnd::driver {

namespace detail {
// Calls function(a0 ... a4) with `stub` as its return address; stub is a bare return in the chosen
// module (see Caller::in_module). Integer and pointer arguments only.
extern "C" std::uintptr_t nnd_call_through(const void* stub, const void* function,
                                           std::uintptr_t a0, std::uintptr_t a1, std::uintptr_t a2,
                                           std::uintptr_t a3, std::uintptr_t a4);

template <class T>
std::uintptr_t as_word(T value) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<std::uintptr_t>(value);
  else
    return static_cast<std::uintptr_t>(static_cast<std::intptr_t>(value));
}
}  // namespace detail

class Caller {
 public:
  Caller() = default;  // calls come from where they are written

  // The module that contains `address`. Throws Error where it has no usable return instruction.
  static Caller in_module_of(const void* address);

  template <class R, class... Params, class... Args>
  R operator()(R (*function)(Params...), Args... args) const {
    if (stub_ == nullptr) return function(args...);
    static_assert(sizeof...(Params) <= 5);
    std::uintptr_t words[5] = {detail::as_word(static_cast<Params>(args))...};
    return static_cast<R>(detail::nnd_call_through(stub_, reinterpret_cast<const void*>(function),
                                                   words[0], words[1], words[2], words[3],
                                                   words[4]));
  }

 private:
  const void* stub_ = nullptr;
};

}  // namespace nnd::driver
