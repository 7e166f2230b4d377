// What a device reports on its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnosis/diagnosis.h"

namespace nnd::diagnosis {

struct DeviceReport {
  enum class Kind : std::uint8_t { kPortDown, kGidChange, kFatal };
  Kind kind = Kind::kFatal;
  std::string place;                    // "mlx5_0:1", "mlx5_0", "mlx5_0 QP 12"
  std::string words;                    // the event's name: "device fatal"
  std::uint64_t connections = 0;        // that use it
  std::vector<std::string> peers = {};  // addresses to which these lead
  unsigned times = 1;                   // kPortDown: it went down so often
  std::vector<std::string> gone = {};   // kGidChange: "10.0.1.2 at index 3", that these use
};
// Whether the connections that use it are the worse for it. A GID table also changes by what is
// none of theirs.
bool harms(const DeviceReport& seen) noexcept;
Diagnosis diagnose(const DeviceReport& seen);

}  // namespace nnd::diagnosis
