// When each fault of a scenario was met first, for whoever asks how long it took to be told: one
// line for each process and fault, in a file of the fabric's directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace softverbs {

struct FaultMoment {
  std::uint64_t mono_ns = 0;  // CLOCK_MONOTONIC
  std::string host;           // whose process met it
};

// Never throws: a fault that can't be noted is played all the same.
void note_fault(const std::filesystem::path& fabric_dir, const std::string& host) noexcept;

// The earliest first.
std::vector<FaultMoment> fault_moments(const std::filesystem::path& fabric_dir);

}  // namespace softverbs
