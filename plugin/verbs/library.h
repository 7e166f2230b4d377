// A verbs library that NCCL opened: its real functions, and for each a wrapper that forwards to
// exactly this library. Two NCCL images in one process may open two different libraries.
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs/table.h"

namespace nnd::verbs {

struct Real {
#define NND_DECLARE(field, symbol, node, ...)           \
  using field##_type = __VA_ARGS__; /* function type */ \
  field##_type* field = nullptr;
  NND_VERBS_TABLE(NND_DECLARE)
  NND_VERBS_HELPERS(NND_DECLARE)
#undef NND_DECLARE
};

// What the library behind a dlopen handle has, by dlvsym; what it lacks is null.
Real resolve(void* handle);

// How NCCL came to the function.
enum class Origin : std::uint8_t {
  kVersioned,  // dlvsym: NCCL's own IB transport
  kPlain,      // dlsym: DOCA GPUNetIO inside NCCL (GDAKI), doca_verbs_ibv_wrapper.cpp of 2.28 on
  kLinked      // linked directly (NCCL_BUILD_RDMA_CORE)
};

// Never freed, never changed after its wrappers were handed out.
struct Library {
  Real real;
  const void* base = nullptr;  // load address of the module that the functions live in
  Origin origin = Origin::kVersioned;
};

// Distinct (module, origin) pairs that can be told apart; more are left unwrapped and said.
inline constexpr std::size_t kMaxLibraries = 16;

const Library& library(std::size_t index) noexcept;

struct Wrapped {
  void* wrapper = nullptr;  // null: not ours, or another version of the name than ours
  bool too_many = false;    // more libraries than kMaxLibraries
};

// The wrapper for `symbol`, whose real function in the library behind `handle` is `real`. Looks up
// by dlvsym what else of that library is needed when it is met first, so dlerror() is not the
// caller's afterwards. Thread-safe.
Wrapped wrap(void* handle, const char* symbol, void* real, Origin origin);

// Whether the name is in the table at all, and its version node. Null: not ours.
const char* node_of(const char* symbol) noexcept;

}  // namespace nnd::verbs
