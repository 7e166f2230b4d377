// What a process holds.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace nnd::soak {

struct Resources {
  std::size_t memory_kib = 0;  // private, written: what it allocated and not gave back
  std::size_t descriptors = 0;
  std::size_t threads = 0;
  std::size_t mappings = 0;

  // But for malloc's arenas.
  bool holds_no_more_than(const Resources& before) const;
};

// Throws where the process is gone.
Resources resources_of(pid_t process);

}  // namespace nnd::soak
