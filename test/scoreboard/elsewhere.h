// The same failure mode at another place: what befell the second node befalls the first, mlx5_N is
// mlx5_N+4, under another release, and with more ranks where the fault is added to a healthy world.
#pragma once

#include <string>

#include "scoreboard/entry.h"

namespace nnd::scoreboard {

struct Elsewhere {
  std::string nccl = {};  // a release
  int gpus = 1;           // of a node
};

Entry put_elsewhere(Entry entry, const Elsewhere& where);

}  // namespace nnd::scoreboard
