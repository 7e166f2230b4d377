#include "driver/logger.h"

#include <cstdarg>
#include <cstdio>
#include <mutex>

namespace nnd::driver {

namespace {
std::mutex mutex;
nlohmann::json lines = nlohmann::json::array();
}  // namespace

void log_line(nccl_abi::LogLevel level, unsigned long flags, const char* file, int line,
              const char* format, ...) {
  char text[4096];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const std::lock_guard lock(mutex);
  lines.push_back({{"level", static_cast<int>(level)},
                   {"flags", flags},
                   {"file", file != nullptr ? file : ""},
                   {"line", line},
                   {"text", text}});
}

nlohmann::json logged_lines() {
  const std::lock_guard lock(mutex);
  return lines;
}

void forget_logged_lines() {
  const std::lock_guard lock(mutex);
  lines = nlohmann::json::array();
}

}  // namespace nnd::driver
