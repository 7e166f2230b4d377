// A limit that is nearly reached, or was.
#pragma once

#include <cstdint>
#include <string>

#include "diagnosis/diagnosis.h"

namespace nnd::diagnosis {

// Worth a word: four fifths are in use.
inline bool nearly_all(std::uint64_t used, std::uint64_t limit) noexcept {
  return limit != 0 && used >= limit - limit / 5;
}

struct OpenFiles {
  std::uint64_t open = 0;
  std::uint64_t limit = 0;
};
Diagnosis diagnose(const OpenFiles& seen);

// Of one process: an HCA serves others too.
struct QpsInUse {
  std::string device;
  std::uint64_t used = 0;
  std::uint64_t limit = 0;
};
Diagnosis diagnose(const QpsInUse& seen);

}  // namespace nnd::diagnosis
