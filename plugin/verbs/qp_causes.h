// Why a QP could not be made or moved: cause, sentence, remedy. Says only what is known.
#pragma once

#include <cstdint>
#include <string>

#include "facts/subnet.h"
#include "state/qp_table.h"

namespace nnd::verbs {

struct Blame {
  std::string cause;  // id of the failure catalogue
  std::string msg;
  std::string fix;
};

struct FailedMove {
  int from = 0;  // enum ibv_qp_state
  int to = 0;
  int error = 0;
  unsigned attempt = 1;
  std::int64_t dur_us = 0;
  facts::SubnetVerdict ends;
};

Blame blame_move(const state::QpInfo& qp, const FailedMove& move);
Blame blame_create(const std::string& device, int error);

// Whether NCCL won't repeat a call of ibv_modify_qp that failed like this, the attempt-th in a row.
bool is_last_attempt(int error, unsigned attempt) noexcept;

// NCCL's version as ncclGetVersion codes it (22809), 0: unknown. Decides what NCCL does next.
void set_nccl_version(int version) noexcept;

}  // namespace nnd::verbs
