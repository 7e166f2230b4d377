// Ports that fall behind their siblings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/waits.h"

namespace nnd::report {

struct Slow {
  Place place;
  double us = 0, usual_us = 0;       // how long a send takes, here and on most ports
  std::uint64_t requests = 0;        // that it rests on
  std::size_t ports = 0;             // that it is compared with
  double effect = 0;                 // how far off, in deviations of the others
  const log::Stall* told = nullptr;  // a process noticed it by itself
  std::size_t member = 0;            // of `told`
};

std::vector<Slow> slow_ports(const Picture& picture);

}  // namespace nnd::report
