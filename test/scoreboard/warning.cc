#include "scoreboard/warning.h"

#include <cstdio>
#include <string_view>

namespace nnd::scoreboard {

// A line is "[1700000000.123456] host:pid:tid [gpu] file:line NCCL WARN text".
std::optional<Warning> first_warning(const std::string& output) {
  constexpr std::string_view kWarn = " NCCL WARN ", kOurs = "NET/DIAG";
  for (std::size_t at = 0; (at = output.find(kWarn, at)) != std::string::npos;) {
    const std::size_t from = output.rfind('\n', at) + 1;
    at += kWarn.size();
    if (output.compare(at, kOurs.size(), kOurs) == 0) continue;
    long long sec = 0, us = 0;
    if (std::sscanf(output.substr(from, at - from).c_str(), "[%lld.%lld]", &sec, &us) == 2)
      return Warning{output.substr(at, output.find('\n', at) - at), sec * 1'000'000 + us};
  }
  return std::nullopt;
}

}  // namespace nnd::scoreboard
