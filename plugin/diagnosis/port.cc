#include "diagnosis/port.h"

#include <fmt/format.h>

namespace nnd::diagnosis {

Diagnosis diagnose(const WorsePort& seen) {
  std::string sentence = seen.place + " has counted";
  for (const CounterGrowth& one : seen.counters)
    sentence += " " + one.name + " +" + std::to_string(one.by) + ",";
  sentence.pop_back();
  sentence += fmt::format(" within {:.0f} s", seen.sec);
  if (seen.packets != 0) sentence += fmt::format(", in which it moved {} packets", seen.packets);
  sentence += "; a port counts for all who use it.";
  return by_default(seen.link ? Cause::kLinkErrors : Cause::kLongDistance, sentence);
}

Diagnosis diagnose(const SilentDriver& seen) {
  return by_default(
      Cause::kDevSilent,
      fmt::format("Reading the counters of {} has not ended for {:.0f} s.", seen.place, seen.sec));
}

}  // namespace nnd::diagnosis
