#include "report/counters.h"

#include <algorithm>
#include <map>

#include "facts/counters.h"
#include "report/robust.h"

namespace nnd::report {

namespace {

constexpr double kTimesOthers = 10;
constexpr std::uint64_t kLeast = 100;  // a handful is every day's

using PortCounts = std::map<Place, std::map<std::string, std::uint64_t>>;

// A port counts for all processes of its node: that which looked for longest has seen most.
PortCounts counted(const Picture& picture) {
  PortCounts out;
  for (const auto& member : picture.members) {
    if (!member.log->summary) continue;
    for (const auto& port : member.log->summary->counters) {
      auto& counters = out[{member.log->host, port.name, "", port.port}];
      for (const auto& [name, by] : port.grown) {
        auto& known = counters[name];
        known = std::max(known, by);
      }
    }
  }
  return out;
}

}  // namespace

std::vector<Grown> grown_counters(const Picture& picture) {
  const auto ports = counted(picture);
  if (ports.size() < kFewestPorts) return {};
  std::map<std::string, std::vector<Grown>> by_counter;
  for (const auto& [place, counters] : ports)
    for (const auto& [name, by] : counters)
      if (facts::is_trouble(facts::kind_of_counter(name)))
        by_counter[name].push_back({place, name, by, 0, ports.size()});
  std::vector<Grown> out;
  for (auto& [name, all] : by_counter) {
    // Those that it did not grow on don't tell of it.
    std::vector<double> values(ports.size() - all.size(), 1.0);
    for (const auto& one : all) values.push_back(static_cast<double>(one.by) + 1);
    const Usual usual = usual_of(values, 0.5);
    for (auto& one : all) {
      const double value = static_cast<double>(one.by) + 1;
      if (one.by < kLeast || value < kTimesOthers * usual.value() ||
          usual.effect(value) < kFewestDeviations)
        continue;
      one.usual = usual.value() - 1;
      out.push_back(std::move(one));
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Grown& a, const Grown& b) {
    return static_cast<double>(a.by) * (b.usual + 1) > static_cast<double>(b.by) * (a.usual + 1);
  });
  return out;
}

}  // namespace nnd::report
