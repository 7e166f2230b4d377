// A process as it enters itself into its node's file.
#pragma once

#include <cstdint>

#include "peers/siblings.h"

namespace nnd::test {

inline peers::Sibling sibling(std::uint64_t proc) {
  peers::Sibling out;
  out.proc = proc;
  out.address.port = static_cast<std::uint16_t>(proc);
  out.secret = {1, 2, 3};
  return out;
}

}  // namespace nnd::test
