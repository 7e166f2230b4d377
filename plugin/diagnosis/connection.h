// A connection that NCCL does not get, or loses.
#pragma once

#include <cstdint>
#include <string>

#include "diagnosis/diagnosis.h"
#include "diagnosis/link_layers.h"
#include "diagnosis/memory.h"

namespace nnd::diagnosis {

// A verb that failed inside a call, of which no event tells by itself.
struct FailedVerb {
  std::string verb;
  int error = 0;
  LockedMemory locked;
};
Diagnosis diagnose(const FailedVerb& seen);

// A call into the transport that returned an error.
struct FailedCall {
  std::string stage;  // "connect"
  int rc = 0;         // ncclResult_t
  std::uint64_t age_ns = 0;
  std::string verb;  // the last that failed inside the call; empty: none
  int verb_errno = 0;
  int wc_status = 0;      // of the completion that made the transport's test fail; 0: none was seen
  std::string said = {};  // NCCL's last warning, new since the connection was begun; empty: none
  LinkLayers layers = {};
  LockedMemory locked = {};
};

// Nothing but NCCL's own words tells why.
bool is_told_by_warning(const FailedCall& seen) noexcept;

// failure: what was diagnosed when it happened, of which this call is the end; null: nothing was.
Diagnosis diagnose(const FailedCall& seen, const Diagnosis* failure = nullptr);

// A call that the transport never got, since the network is refused.
struct RefusedCall {
  std::string stage;
};
Diagnosis diagnose(const RefusedCall& seen, const Diagnosis& refusal);

// NCCL waits, or has waited, for a peer: one that doesn't fit, as far as both ends are known, else
// one that has not come.
struct MissingPeer {
  std::string stage;
  std::uint64_t age_ns = 0;
  bool abandoned = false;  // NCCL gave it up; else it is over the deadline
  double deadline_sec = 0;
  int qp_state = -1;  // enum ibv_qp_state that its QPs came to; -1: none was made
  LinkLayers layers = {};
};
Diagnosis diagnose(const MissingPeer& seen, const Diagnosis* failure = nullptr);

// Two ends of which this is known don't come together, whatever else is seen of it later.
bool keeps_apart(Cause cause) noexcept;

// The transport's init failed.
struct FailedInit {
  int rc = 0;
  std::string verb = {};  // that failed inside; empty: none
};
// refusal: for which NCCL may not go on to another transport; null: it does.
Diagnosis diagnose(const FailedInit& seen, const Diagnosis* refusal = nullptr);

}  // namespace nnd::diagnosis
