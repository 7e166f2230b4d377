// Which NCCL uses which version of the net API for its own transports, and what the table of each
// version looks like in memory. Checked on the official libraries 2.18.1 ... 2.32.3 (x86_64) and
// 2.28.9, 2.32.3 (aarch64), and on the sources v2.18.3-1 ... v2.30.7-1: src/include/nccl_net.h,
// later src/include/plugin/nccl_net.h (the typedef ncclNet_t), src/transport/net_ib.cc, later
// src/transport/net_ib/*, and src/transport/net_socket.cc (the slots that are null).
#pragma once

#include <string_view>

namespace nccl_abi {

inline constexpr int kOldestNet = 6;
inline constexpr int kNewestNet = 12;

// NCCL_VERSION_CODE from 2.9 on: 22809 is 2.28.9.
constexpr int nccl_code(int major, int minor, int patch) {
  return major * 10000 + minor * 100 + patch;
}

// The newest release whose own net API is known here, patch releases of it included.
inline constexpr int kNewestKnownMinor = 32;

// The net API of NCCL's own transports, which is also the newest that it asks a plugin for; 0 for a
// release that is not known here.
constexpr int net_version_of(int code) {
  const int minor = code / 100 - 200;
  if (code < nccl_code(2, 18, 0) || minor > kNewestKnownMinor) return 0;
  if (minor >= 30) return 12;
  if (minor >= 28) return 11;
  if (minor >= 26) return 10;
  if (minor >= 24) return 9;
  if (minor >= 20) return 8;
  return minor == 19 ? 7 : 6;
}
static_assert(net_version_of(nccl_code(2, 17, 1)) == 0);
static_assert(net_version_of(nccl_code(2, 18, 3)) == 6);
static_assert(net_version_of(nccl_code(2, 23, 4)) == 8);
static_assert(net_version_of(nccl_code(2, 32, 3)) == 12);
static_assert(net_version_of(nccl_code(2, 33, 0)) == 0);

// The slots of ncclNetIb after the name: F a function, 0 null (getDeviceMr and irecvConsumed).
// Empty for a version that is not known.
constexpr std::string_view ib_slots(int net_version) {
  switch (net_version) {
    case 6:
      return "FFFFFFFFFFFFFFFF";
    case 7:
    case 8:
      return "FFFFFFFFFFFFFFFF00";
    case 9:
    case 10:
      return "FFFFFFFFFFFFFFFF00F";
    case 11:
    case 12:
      return "FFFFFFFFFFFFFFFF00FFF";
    default:
      return {};
  }
}

// The same of ncclNetSocket, which has no regMrDmaBuf, makeVDevice and setNetAttr.
constexpr std::string_view socket_slots(int net_version) {
  switch (net_version) {
    case 6:
      return "FFFFFFF0FFFFFFFF";
    case 7:
    case 8:
      return "FFFFFFF0FFFFFFFF00";
    case 9:
    case 10:
      return "FFFFFFF0FFFFFFFF000";
    case 11:
    case 12:
      return "FFFFFFF0FFFFFFFF000F0";
    default:
      return {};
  }
}

// ncclGinIbProxy, ncclGinIbGdaki (ncclGin_v11_t): releases that take ncclGinPlugin_v11 from the net
// library and have it built in (v2.28.7-1 src/plugin/net/net_v11.cc, v2.29.3-1 the same). From
// 2.29.7 on src/plugin/gin.cc decides.
constexpr bool gin_v11_forwarded(int code) {
  return code >= nccl_code(2, 28, 7) && code <= nccl_code(2, 29, 3);
}

// Their slots after the name (v2.28.9-1 src/transport/net_ib.cc, v2.29.3-1
// src/transport/net_ib/gin.cc).
inline constexpr std::string_view kGinProxySlots = "FFFFF0FFF0FFFFF00F";
inline constexpr std::string_view kGinGdakiSlots = "FFFFFFF0FFFF000FFF";

}  // namespace nccl_abi
