// The events qp.create, qp.transition and qp.destroy.
#pragma once

#include <cstdint>

#include "state/qp_table.h"
#include "verbs/library.h"

namespace nnd::verbs {

// One call of ibv_modify_qp.
struct Move {
  int from = 0;  // enum ibv_qp_state
  int to = 0;
  unsigned attempt = 1;  // of this from -> to, in a row
  int last_errno = 0;    // of the attempt before
  bool by_recovery = false;
  bool refused = false;  // by policy: the real verb was not called
  int rc = 0;
  int error = 0;
  std::int64_t dur_us = 0;
  // What the device made of the attributes, where this move read them back.
  bool has_effective = false;
  ibv_qp_attr effective{};
};

void tell_create(const state::QpInfo& qp, int type, const ibv_qp_cap& cap, int error,
                 std::int64_t dur_us);

// A repeated attempt is told at 1, 2, 4, 8 ..., when its errno changes, when it succeeds, and when
// it is the last that NCCL makes.
void tell_move(const state::QpInfo& qp, const ibv_qp_attr& attr, int mask, const Move& move);

// The effective timeout, retry counts, MTU and traffic class of a QP that is in RTS now: asked of
// the device once per context and attribute set, since it is a firmware command.
void read_back(const Library& lib, ibv_qp& qp, const ibv_qp_attr& attr, const state::QpInfo& info,
               Move& move);
void forget_read_back(const ibv_context* context);

void tell_destroy(state::Qp& record, int error, std::int64_t dur_us);

}  // namespace nnd::verbs
