#include "report/kernel_match.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace nnd::report {

using foreign::Fact;

namespace {

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
}

// Where in a path this name stands by itself, last; npos: nowhere.
std::size_t last_place(const std::string& path, const std::string& name) {
  for (auto at = path.rfind(name); at != std::string::npos;
       at = at == 0 ? std::string::npos : path.rfind(name, at - 1)) {
    const auto end = at + name.size();
    // A name may be joined to others ("dmesg-node3"), but not be the beginning of a longer one.
    const bool begins = at == 0 || std::isalnum(static_cast<unsigned char>(path[at - 1])) == 0;
    if (begins && (end == path.size() || !is_of_name(path[end]) || path[end] == '_')) return at;
  }
  return std::string::npos;
}

std::string first_label(const std::string& host) { return host.substr(0, host.find('.')); }

std::int64_t with_year(std::int64_t sec, int year) {
  using namespace std::chrono;
  const auto days = floor<std::chrono::days>(sys_seconds(seconds(sec)));
  const year_month_day date(days);
  const auto other = std::chrono::year(year) / date.month() / date.day();
  // 29 February of another year is the day after the 28th.
  return sys_seconds(sys_days(other)).time_since_epoch().count() + sec -
         sys_seconds(days).time_since_epoch().count();
}

int year_of(std::int64_t sec) {
  using namespace std::chrono;
  return static_cast<int>(
      year_month_day(floor<std::chrono::days>(sys_seconds(seconds(sec)))).year());
}

}  // namespace

KernelHosts::KernelHosts(std::set<std::string> hosts, const foreign::Evidence& evidence)
    : hosts_(std::move(hosts)) {
  std::set<std::string> files;
  for (const auto& fact : evidence.facts())
    if (fact.source == foreign::Source::kKernelLog) files.insert(fact.file);
  one_file_ = files.size() == 1;
}

const std::string& KernelHosts::of(const Fact& told) const {
  const auto [known, is_new] =
      known_.try_emplace({told.writer.host, told.writer.host.empty() ? told.file : ""});
  if (is_new) known->second = find(told);
  return known->second;
}

std::string KernelHosts::find(const Fact& told) const {
  if (const auto& said = told.writer.host; !said.empty()) {
    if (hosts_.contains(said)) return said;
    for (const auto& host : hosts_)
      if (first_label(host) == first_label(said)) return host;
    return {};
  }
  const std::string* found = nullptr;
  std::size_t place = 0;
  for (const auto& host : hosts_) {
    const auto at = last_place(told.file, host);
    if (at != std::string::npos && (found == nullptr || at >= place)) {
      found = &host;
      place = at;
    }
  }
  if (found != nullptr) return *found;
  return one_file_ && hosts_.size() == 1 ? *hosts_.begin() : std::string();
}

std::int64_t nearest_sec(const Fact& told, std::int64_t near_sec, bool near_utc) {
  constexpr std::int64_t kHalfHour = 1800, kFarthest = 28;  // half hours that a zone is off
  auto out = told.at_sec;
  if (told.no_year) {
    const int year = year_of(near_sec);
    for (const int other : {year - 1, year, year + 1})
      if (const auto at = with_year(told.at_sec, other);
          other == year - 1 || std::abs(at - near_sec) < std::abs(out - near_sec))
        out = at;
  }
  if (told.utc != near_utc) {
    const auto halves = std::llround(static_cast<double>(out - near_sec) / kHalfHour);
    out -= kHalfHour * std::clamp<std::int64_t>(halves, -kFarthest, kFarthest);
  }
  return out;
}

}  // namespace nnd::report
