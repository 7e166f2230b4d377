// NCCL's own warnings in what a rank printed, with the time that NCCL gives them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace nnd::scoreboard {

// NCCL_DEBUG_TIMESTAMP_FORMAT (2.26 and newer): seconds since 1970, and microseconds.
constexpr const char* kTimeFormat = "[%s.%6f] ";

struct Warning {
  std::string text;
  std::int64_t real_us = 0;  // CLOCK_REALTIME
};

// Ours, which go through NCCL's log, are left out.
std::optional<Warning> first_warning(const std::string& output);

}  // namespace nnd::scoreboard
