// What has become of this end's port and address. Internal to this room: the evidence is set, the
// sentence is the caller's.
#pragma once

#include <string>

#include "diagnosis/diagnosis.h"
#include "diagnosis/units.h"

namespace nnd::diagnosis {

inline Diagnosis gid_gone() {
  return by_evidence(Cause::kGidChange,
                     "the address that it sends from is not in the GID table any more");
}

// ago_sec: since it went down; -1: not known.
inline Diagnosis port_down(double ago_sec) {
  return by_evidence(Cause::kAsyncPort, ago_sec < 0
                                            ? "the port is down"
                                            : "the port is down, since " + span_text(ago_sec));
}

}  // namespace nnd::diagnosis
