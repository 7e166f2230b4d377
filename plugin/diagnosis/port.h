// A port whose counters get worse, and one that can't be asked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnosis/diagnosis.h"
#include "diagnosis/stall.h"

namespace nnd::diagnosis {

struct WorsePort {
  std::string place;  // "mlx5_0:1"
  double sec = 0;     // within which it counted
  std::vector<CounterGrowth> counters;
  std::uint64_t packets = 0;  // sent, or received, meanwhile; 0: not known
  bool link = false;          // the cable spoils them; else they are lost, or late, on the way
};
Diagnosis diagnose(const WorsePort& seen);

struct SilentDriver {
  std::string place;
  double sec = 0;  // since its counters are being read
};
Diagnosis diagnose(const SilentDriver& seen);

}  // namespace nnd::diagnosis
