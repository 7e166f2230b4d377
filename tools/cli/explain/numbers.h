// What a number or its name stands for: an errno, the status of a completion, a result of NCCL's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nccl_net_diag/causes.h"

namespace nnd::cli {

struct Meaning {
  std::string text;                           // "errno 110 (ETIMEDOUT, Connection timed out)"
  std::vector<nccl_net_diag::Cause> own;      // named after it
  std::vector<nccl_net_diag::Cause> related;  // that it may come from as well
};

enum class NumberOf : std::uint8_t { kAny, kErrno, kStatus, kResult };

// All that it may be; none: nothing of ours.
std::vector<Meaning> meanings_of(int number, NumberOf of);
// "ETIMEDOUT", "RETRY_EXC_ERR", "IBV_WC_RETRY_EXC_ERR", "ncclSystemError", in any letter case.
std::vector<Meaning> meanings_of(std::string_view name);
// Of errnos whose text, as programs print it, stands in a line: "Connection timed out".
std::vector<Meaning> meanings_within(std::string_view lower_case_line);

// Names that the second takes, for a typo.
const std::vector<std::string>& number_names();

}  // namespace nnd::cli
