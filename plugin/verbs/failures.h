// What went wrong with a QP, diagnosed: evidence from what this layer and the node's facts know,
// and from what was said of the connection before. Each begins a failure, or goes on with one.
#pragma once

#include <cstdint>
#include <string>

#include "diagnosis/completion.h"
#include "diagnosis/path.h"
#include "facts/subnet.h"
#include "record/event.h"
#include "state/failure.h"
#include "state/qp.h"
#include "verbs/verbs_abi.h"

namespace nnd::verbs {

// "mlx5_0:1", or the device alone where the port isn't known.
std::string place_of(const state::QpInfo& qp);

struct FailedMove {
  int from = 0;  // enum ibv_qp_state
  int to = 0;
  int error = 0;
  unsigned attempt = 1;
  std::int64_t dur_us = 0;
  facts::SubnetVerdict ends;
  diagnosis::Path path;
};
// The sentence says what NCCL does next.
state::Failure register_failed_move(const state::QpInfo& qp, const FailedMove& move);

state::Failure register_failed_create(const state::QpInfo& qp, int error);

// completed: work requests of this QP before. age_us: since the last of them; -1: there was none.
state::Failure register_failed_completion(const state::QpInfo& qp, const ibv_wc& wc,
                                          std::uint64_t completed, std::int64_t age_us,
                                          const diagnosis::Path& path);

// The way to the peer as the kernel has it now, and as the events tell it.
diagnosis::Path path_of(const state::QpInfo& qp);
void add_path(record::Event& event, const diagnosis::Path& path);

// A verb of which no event tells by itself.
void register_failed_verb(const char* verb, int error) noexcept;

}  // namespace nnd::verbs
