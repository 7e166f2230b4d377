// Stands for NCCL's logger: keeps what a transport gives it.
#pragma once

#include <nlohmann/json.hpp>

#include "nccl_abi/common.h"

namespace nnd::driver {

// Thread-safe, as NCCL's is.
void log_line(nccl_abi::LogLevel level, unsigned long flags, const char* file, int line,
              const char* format, ...) __attribute__((format(printf, 5, 6)));

// [{"level", "flags", "file", "line", "text"}], in order.
nlohmann::json logged_lines();
void forget_logged_lines();

}  // namespace nnd::driver
