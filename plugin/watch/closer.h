// What kernel and HCA say of a wait that NCCL alone can't tell apart: whether TCP or NCCL's
// metadata is missing, whether NCCL holds a send back, whether a flush is stuck.
#pragma once

#include <optional>

#include "diagnosis/stall.h"
#include "facts/tcp.h"
#include "state/connection.h"

namespace nnd::watch {

// The wait itself where they say nothing else. The table is read where it is needed and wasn't.
diagnosis::Wait look_closer(const state::Connection& c, diagnosis::Wait wait,
                            std::optional<facts::TcpTable>& tcp);

}  // namespace nnd::watch
