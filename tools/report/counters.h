// Counters of ports that grew far more than on the other ports of the job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/picture.h"

namespace nnd::report {

struct Grown {
  Place place;
  std::string counter;
  std::uint64_t by = 0;
  double usual = 0;       // on most ports
  std::size_t ports = 0;  // that it is compared with
};

// Of what is lost, late, reordered or held up; the farthest off first.
std::vector<Grown> grown_counters(const Picture& picture);

}  // namespace nnd::report
