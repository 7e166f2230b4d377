// The events conn.listen, conn.open, conn.ready, conn.fail and conn.close, and of each request
// req.*. Control path, but for the last.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nccl_abi/common.h"
#include "state/connections.h"
#include "state/failure.h"

namespace nnd::net {

using state::Connection;

// How a call into the transport ended, with the verb that failed inside it, where the verbs layer
// saw one (state::current(), to be read while the call's Scope is alive).
struct Outcome {
  nccl_abi::Result rc = nccl_abi::Result::kSuccess;
  const char* verb = nullptr;
  int verb_errno = 0;
  int wc_status = 0;  // of the completion that made the transport's test fail; 0: none was seen

  static Outcome of(nccl_abi::Result rc) noexcept;
};

void tell_listen(int api, const state::Identity& about, bool trailer, std::uint64_t dur_ns);
void tell_open(int api, const state::Identity& about);
void tell_conn_ready(const Connection& c);
// stage: the call that failed. These end with the sentence at WARN: the last that NCCL's logger
// gets before the error is returned, so that ncclGetLastError has it.
void tell_fail(int api, const state::Identity& about, std::string_view stage,
               const Outcome& outcome, std::uint64_t age_ns, std::uint64_t polls);
// A call that the transport never gets, since the policy refuses the network.
void tell_refused(int api, const state::Identity& about, std::string_view stage,
                  const state::Failure& refusal);
// A connect or accept that is over the policy's deadline.
void tell_late(const Connection& c, std::string_view call, double deadline_sec);
// A registration failed, which NCCL may do without.
void tell_reg_fail(const Connection& c, std::string_view stage, const Outcome& outcome);
// NCCL gave the attempt up.
void tell_abandoned(int api, const state::Identity& about, std::string_view stage,
                    std::uint64_t age_ns, std::uint64_t polls);
void tell_close(Connection& c, nccl_abi::Result rc, std::uint64_t dur_ns);

}  // namespace nnd::net
