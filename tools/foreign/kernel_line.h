// One line of a kernel's log, as dmesg, journalctl and syslog show it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace nnd::foreign {

inline constexpr std::string_view kDigits = "0123456789";

struct KernelLine {
  std::string_view host;       // empty: not told
  std::int64_t at_sec = 0;     // 0: not told
  bool utc = false;            // at_sec is; else it is of the host's zone, as if that were UTC
  bool no_year = false;        // of at_sec, which counts from 2000
  double up_sec = 0;           // since the host was started; 0: not told
  std::string_view text;       // of the kernel's own
  bool by_the_kernel = false;  // it says so; what begins with a time in brackets may be another's
};

// Unset: it is another program's, or no line of a log. Points into `line`.
std::optional<KernelLine> kernel_line(std::string_view line);

}  // namespace nnd::foreign
