// Names of verbs' numbers, as the log writes them.
#pragma once

#include <string_view>

#include "verbs/verbs_abi.h"

namespace nnd::verbs {

std::string_view qp_type_name(int type) noexcept;  // enum ibv_qp_type: "RC"
std::string_view event_kind(int event) noexcept;   // enum ibv_event_type: "PORT_ERR"
int mtu_bytes(int mtu) noexcept;                   // enum ibv_mtu: 4096; 0: unknown

}  // namespace nnd::verbs
