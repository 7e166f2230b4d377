#include "diagnosis/port.h"

#include <cstdio>

namespace nnd::diagnosis {

namespace {

std::string seconds(double sec) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.0f s", sec);
  return text;
}

}  // namespace

Diagnosis diagnose(const WorsePort& seen) {
  std::string sentence = seen.place + " has counted";
  for (const CounterGrowth& one : seen.counters)
    sentence += " " + one.name + " +" + std::to_string(one.by) + ",";
  sentence.pop_back();
  sentence += " within " + seconds(seen.sec);
  if (seen.packets != 0)
    sentence += ", in which it moved " + std::to_string(seen.packets) + " packets";
  sentence += "; a port counts for all who use it.";
  return by_default(seen.link ? Cause::kLinkErrors : Cause::kLongDistance, sentence);
}

Diagnosis diagnose(const SilentDriver& seen) {
  return by_default(Cause::kDevSilent, "Reading the counters of " + seen.place +
                                           " has not ended for " + seconds(seen.sec) + ".");
}

}  // namespace nnd::diagnosis
