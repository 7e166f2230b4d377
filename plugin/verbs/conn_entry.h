// What a connection's entry in the table is told of its QPs.
#pragma once

#include "state/connections.h"
#include "state/qp.h"

namespace nnd::verbs {

// The entry of the QP's connection; null: it has none, or is gone.
state::Connection* entry_of(const state::QpInfo& qp) noexcept;

// Gives a new QP its place.
void add_to_entry(state::QpInfo& qp) noexcept;

// Subnets and interface of the QP's GIDs, as far as the node's facts are still true of them.
void learn_subnets(state::QpInfo& qp);

// While one ibv_modify_qp is inside the real verb. `to`: enum ibv_qp_state.
void begin_in_entry(const state::QpInfo& qp, int to, unsigned attempt);
// `state`: what the QP is in now.
void end_in_entry(const state::QpInfo& qp, int state) noexcept;

}  // namespace nnd::verbs
