#include "verbs/names.h"

#include <array>
#include <cstddef>

namespace nnd::verbs {

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
  const auto at = static_cast<std::size_t>(event);  // a negative one is beyond the last
  return at < kNames.size() ? kNames[at] : "UNKNOWN";
}

int mtu_bytes(int mtu) noexcept { return mtu < IBV_MTU_256 || mtu > IBV_MTU_4096 ? 0 : 128 << mtu; }

}  // namespace nnd::verbs
