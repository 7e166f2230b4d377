#include "diagnosis/completion_status.h"

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>

namespace nnd::diagnosis {

namespace {

constexpr auto kStatuses = [] {
  std::array<std::string_view, IBV_WC_TM_RNDV_INCOMPLETE + 1> names;
#define NND_STATUS(name) names[IBV_WC_##name] = #name
  NND_STATUS(SUCCESS);
  NND_STATUS(LOC_LEN_ERR);
  NND_STATUS(LOC_QP_OP_ERR);
  NND_STATUS(LOC_EEC_OP_ERR);
  NND_STATUS(LOC_PROT_ERR);
  NND_STATUS(WR_FLUSH_ERR);
  NND_STATUS(MW_BIND_ERR);
  NND_STATUS(BAD_RESP_ERR);
  NND_STATUS(LOC_ACCESS_ERR);
  NND_STATUS(REM_INV_REQ_ERR);
  NND_STATUS(REM_ACCESS_ERR);
  NND_STATUS(REM_OP_ERR);
  NND_STATUS(RETRY_EXC_ERR);
  NND_STATUS(RNR_RETRY_EXC_ERR);
  NND_STATUS(LOC_RDD_VIOL_ERR);
  NND_STATUS(REM_INV_RD_REQ_ERR);
  NND_STATUS(REM_ABORT_ERR);
  NND_STATUS(INV_EECN_ERR);
  NND_STATUS(INV_EEC_STATE_ERR);
  NND_STATUS(FATAL_ERR);
  NND_STATUS(RESP_TIMEOUT_ERR);
  NND_STATUS(GENERAL_ERR);
  NND_STATUS(TM_ERR);
  NND_STATUS(TM_RNDV_INCOMPLETE);
#undef NND_STATUS
  return names;
}();
static_assert(std::ranges::none_of(kStatuses, [](std::string_view name) { return name.empty(); }));

}  // namespace

std::span<const std::string_view> completion_statuses() noexcept { return kStatuses; }

std::string_view completion_status_name(int status) noexcept {
  const auto at = static_cast<std::size_t>(status);  // a negative one is beyond the last
  return at < kStatuses.size() ? kStatuses[at] : "UNKNOWN";
}

}  // namespace nnd::diagnosis
