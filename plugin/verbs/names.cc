#include "verbs/names.h"

#include <array>
#include <cstddef>

namespace nnd::verbs {
namespace {

template <std::size_t N>
std::string_view pick(const std::array<std::string_view, N>& names, int index) noexcept {
  return index < 0 || static_cast<std::size_t>(index) >= N ? "UNKNOWN"
                                                           : names[static_cast<std::size_t>(index)];
}

}  // namespace

std::string_view qp_type_name(int type) noexcept {
  switch (type) {
    case IBV_QPT_RC:
      return "RC";
    case IBV_QPT_UC:
      return "UC";
    case IBV_QPT_UD:
      return "UD";
    case IBV_QPT_RAW_PACKET:
      return "RAW_PACKET";
    case IBV_QPT_XRC_SEND:
      return "XRC_SEND";
    case IBV_QPT_XRC_RECV:
      return "XRC_RECV";
    case IBV_QPT_DRIVER:
      return "DRIVER";
    default:
      return "UNKNOWN";
  }
}

std::string_view status_name(int status) noexcept {
  static constexpr std::array<std::string_view, 24> kNames = {"SUCCESS",
                                                              "LOC_LEN_ERR",
                                                              "LOC_QP_OP_ERR",
                                                              "LOC_EEC_OP_ERR",
                                                              "LOC_PROT_ERR",
                                                              "WR_FLUSH_ERR",
                                                              "MW_BIND_ERR",
                                                              "BAD_RESP_ERR",
                                                              "LOC_ACCESS_ERR",
                                                              "REM_INV_REQ_ERR",
                                                              "REM_ACCESS_ERR",
                                                              "REM_OP_ERR",
                                                              "RETRY_EXC_ERR",
                                                              "RNR_RETRY_EXC_ERR",
                                                              "LOC_RDD_VIOL_ERR",
                                                              "REM_INV_RD_REQ_ERR",
                                                              "REM_ABORT_ERR",
                                                              "INV_EECN_ERR",
                                                              "INV_EEC_STATE_ERR",
                                                              "FATAL_ERR",
                                                              "RESP_TIMEOUT_ERR",
                                                              "GENERAL_ERR",
                                                              "TM_ERR",
                                                              "TM_RNDV_INCOMPLETE"};
  return pick(kNames, status);
}

std::string_view event_kind(int event) noexcept {
  static constexpr std::array<std::string_view, 20> kNames = {"CQ_ERR",
                                                              "QP_FATAL",
                                                              "QP_REQ_ERR",
                                                              "QP_ACCESS_ERR",
                                                              "COMM_EST",
                                                              "SQ_DRAINED",
                                                              "PATH_MIG",
                                                              "PATH_MIG_ERR",
                                                              "DEVICE_FATAL",
                                                              "PORT_ACTIVE",
                                                              "PORT_ERR",
                                                              "LID_CHANGE",
                                                              "PKEY_CHANGE",
                                                              "SM_CHANGE",
                                                              "SRQ_ERR",
                                                              "SRQ_LIMIT_REACHED",
                                                              "QP_LAST_WQE_REACHED",
                                                              "CLIENT_REREGISTER",
                                                              "GID_CHANGE",
                                                              "WQ_FATAL"};
  return pick(kNames, event);
}

int mtu_bytes(int mtu) noexcept { return mtu < IBV_MTU_256 || mtu > IBV_MTU_4096 ? 0 : 128 << mtu; }

}  // namespace nnd::verbs
