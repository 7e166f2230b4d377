// Connections made, used and closed, both ways at once.
#pragma once

#include <vector>

#include "integration/harness.h"

namespace nnd::soak {

inline void carry(integration::EmulatedJob& job, long connections) {
  constexpr int kAtOnce = 50;
  driver::Traffic traffic;
  traffic.sizes = {64, 8192};
  traffic.repeat = 4;
  for (long made = 0; made < connections; made += kAtOnce) {
    std::vector<driver::Link> links(kAtOnce);
    for (int i = 0; i < kAtOnce; ++i) {
      auto& link = links[static_cast<std::size_t>(i)];
      link.from = i % 2;
      link.to = 1 - link.from;
    }
    job->carry(links, traffic);
    job->all({{"op", "forget"}});
  }
}

}  // namespace nnd::soak
