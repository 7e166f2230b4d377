#include "diagnosis/async.h"

namespace nnd::diagnosis {

Diagnosis diagnose(const DeviceReport& seen) {
  switch (seen.kind) {
    case DeviceReport::Kind::kPortDown:
      return by_default(Cause::kAsyncPort, seen.place + " went down.");
    case DeviceReport::Kind::kGidChange:
      return by_default(Cause::kGidChange,
                        "The GID table of " + seen.place +
                            " changed; QPs that use a GID index whose address moved will fail.");
    case DeviceReport::Kind::kFatal:
      break;
  }
  return by_default(Cause::kAsyncFatal, seen.place + " reported " + seen.words + ".");
}

}  // namespace nnd::diagnosis
