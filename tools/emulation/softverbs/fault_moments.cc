#include "softverbs/fault_moments.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace softverbs {

namespace {

constexpr const char* kFile = "faults";

}  // namespace

void note_fault(const std::filesystem::path& fabric_dir, const std::string& host) noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  char line[320];
  const int size = std::snprintf(line, sizeof line, "%lld%09ld %.255s\n",
                                 static_cast<long long>(now.tv_sec), now.tv_nsec, host.c_str());
  const int fd =
      ::open((fabric_dir / kFile).c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(fd, line, static_cast<std::size_t>(size));
  ::close(fd);
}

std::vector<FaultMoment> fault_moments(const std::filesystem::path& fabric_dir) {
  std::vector<FaultMoment> out;
  std::ifstream in(fabric_dir / kFile);
  for (FaultMoment one; in >> one.mono_ns >> one.host;) out.push_back(one);
  std::sort(out.begin(), out.end(),
            [](const FaultMoment& a, const FaultMoment& b) { return a.mono_ns < b.mono_ns; });
  return out;
}

}  // namespace softverbs
