// HCAs that carry far more or far less than those of their name on other nodes.
#pragma once

#include <cstddef>
#include <vector>

#include "report/picture.h"

namespace nnd::report {

struct Unbalanced {
  Place place;
  double bytes = 0, usual_bytes = 0;  // sent; here and on most nodes
  double effect = 0;                  // how far off, in deviations of the others
  std::size_t hosts = 0;              // that it is compared with
};

// The farthest off first. It is no cause by itself: a job may be laid out like that.
std::vector<Unbalanced> unbalanced(const Picture& picture);

}  // namespace nnd::report
