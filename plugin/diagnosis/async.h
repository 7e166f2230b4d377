// What a device reports on its own.
#pragma once

#include <cstdint>
#include <string>

#include "diagnosis/diagnosis.h"

namespace nnd::diagnosis {

struct DeviceReport {
  enum class Kind : std::uint8_t { kPortDown, kGidChange, kFatal };
  Kind kind = Kind::kFatal;
  std::string place;  // "mlx5_0:1", "mlx5_0", "mlx5_0 QP 12"
  std::string words;  // the event's name: "device fatal"
};
Diagnosis diagnose(const DeviceReport& seen);

}  // namespace nnd::diagnosis
