// Whose kernel's log a line is of, and when it was written: no line tells both for sure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "foreign/evidence.h"

namespace nnd::report {

// The host among these that a kernel's line is of: by its own word, by the name of its file or of a
// directory above it, or because there is but one host and one such file. Empty: not known. One
// thread at a time.
class KernelHosts {
 public:
  KernelHosts(std::set<std::string> hosts, const foreign::Evidence& evidence);
  const std::string& of(const foreign::Fact& told) const;

 private:
  std::string find(const foreign::Fact& told) const;

  mutable std::map<std::pair<std::string, std::string>, std::string> known_;  // by host and file
  std::set<std::string> hosts_;
  bool one_file_ = false;
};

// A fact's time in seconds since 1970, as of the clock that `near_sec` is of: in the year, and
// where only one of the two is UTC in the zone, that bring it nearest. Zones are whole half hours.
std::int64_t nearest_sec(const foreign::Fact& told, std::int64_t near_sec, bool near_utc);

}  // namespace nnd::report
