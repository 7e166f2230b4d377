// What has become of this end's port and address. Internal to this room: the evidence is set, the
// sentence is the caller's.
#pragma once

#include "diagnosis/diagnosis.h"

namespace nnd::diagnosis {

inline Diagnosis gid_gone() {
  Diagnosis out = by_default(Cause::kGidChange, {});
  out.evidence = "the address that it sends from is not in the GID table any more";
  return out;
}

inline Diagnosis port_down() {
  Diagnosis out = by_default(Cause::kAsyncPort, {});
  out.evidence = "the port is down";
  return out;
}

}  // namespace nnd::diagnosis
