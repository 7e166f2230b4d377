// SOFTCUDA_LOG=FILE (or "-" for stderr): what NCCL asked for and what was refused. Off by default.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace softcuda {

bool log_enabled();
void write_log(std::string_view line);

template <typename... Args>
void log(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled()) write_log(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace softcuda
