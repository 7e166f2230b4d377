// A GID's bytes, as the rooms that know no verbs have them.
#pragma once

#include <array>
#include <cstdint>

namespace nnd::context {

using Gid = std::array<std::uint8_t, 16>;  // network order; all zero: not known

}  // namespace nnd::context
