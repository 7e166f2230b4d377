#include "diagnosis/limit.h"

#include <fmt/format.h>

namespace nnd::diagnosis {

Diagnosis diagnose(const OpenFiles& seen) {
  return by_default(
      Cause::kLimNoFile,
      seen.open >= seen.limit
          ? fmt::format("All {} files that this process may have open are: the next socket fails.",
                        seen.limit)
          : fmt::format("{} of the {} files that this process may have open are.", seen.open,
                        seen.limit));
}

Diagnosis diagnose(const QpsInUse& seen) {
  return by_default(Cause::kLimQpCount,
                    fmt::format("This process has {} QPs on {}, which takes {} in all.", seen.used,
                                seen.device, seen.limit));
}

}  // namespace nnd::diagnosis
