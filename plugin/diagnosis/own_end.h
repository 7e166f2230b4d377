// What has become of this end's port and address. Internal to this room: the evidence is set, the
// sentence is the caller's.
#pragma once

#include "diagnosis/diagnosis.h"

namespace nnd::diagnosis {

inline Diagnosis gid_gone() {
  return by_evidence(Cause::kGidChange,
                     "the address that it sends from is not in the GID table any more");
}

inline Diagnosis port_down() { return by_evidence(Cause::kAsyncPort, "the port is down"); }

}  // namespace nnd::diagnosis
