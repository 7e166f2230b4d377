// The releases of NCCL, and what differs between them: the one table of it. Then what the table of
// each version of the net API looks like in memory. Checked on the official libraries 2.18.1
// ... 2.32.3 (x86_64) and 2.28.9, 2.32.3 (aarch64), and on the sources v2.18.3-1 ... v2.30.7-1:
// src/include/nccl_net.h, later src/include/plugin/nccl_net.h (the typedef ncclNet_t),
// src/transport/net_ib.cc, later src/transport/net_ib/*, and src/transport/net_socket.cc (the slots
// that are null).
#pragma once

#include <cstdint>
#include <string_view>

namespace nccl_abi {

inline constexpr int kOldestNet = 6;
inline constexpr int kNewestNet = 12;
inline constexpr int kNewestProfiler = 7;

// NCCL_VERSION_CODE from 2.9 on: 22809 is 2.28.9.
constexpr int nccl_code(int major, int minor, int patch) {
  return major * 10000 + minor * 100 + patch;
}

// The first code after the releases that are known here; patch releases of the last one are known.
inline constexpr int kAfterKnown = nccl_code(2, 33, 0);

// Releases of which something holds: from one code to another, both included. A code of 0 (not
// told) counts as the newest.
struct Releases {
  int first;
  int last = kAfterKnown;  // as it is: the newest have it too

  constexpr bool has(int code) const {
    return code == 0 ? last == kAfterKnown : code >= first && (code <= last || last == kAfterKnown);
  }
};

// The net API of NCCL's own transports, which is also the newest that it asks a plugin for
// (src/include/nccl_net.h, later src/include/plugin/nccl_net.h, typedef ncclNet_t), and the newest
// profiler API (src/include/plugin/nccl_profiler.h; 0: it has none). Each row holds up to the next.
struct Apis {
  int from;
  int net;
  int profiler;
};
inline constexpr Apis kApis[] = {
    {nccl_code(2, 18, 0), 6, 0},  {nccl_code(2, 19, 0), 7, 0},  {nccl_code(2, 20, 0), 8, 0},
    {nccl_code(2, 23, 0), 8, 1},  {nccl_code(2, 24, 0), 9, 2},  {nccl_code(2, 26, 0), 10, 3},
    {nccl_code(2, 27, 0), 10, 4}, {nccl_code(2, 28, 0), 11, 5}, {nccl_code(2, 29, 0), 11, 6},
    {nccl_code(2, 30, 0), 12, 6}, {nccl_code(2, 31, 0), 12, 7},
};

// 0 for a release that is not known here.
constexpr Apis apis_of(int code) {
  Apis apis{};
  for (const Apis& row : kApis)
    if (row.from <= code && code < kAfterKnown) apis = row;
  return apis;
}
constexpr int net_version_of(int code) { return apis_of(code).net; }
static_assert(net_version_of(nccl_code(2, 17, 1)) == 0);
static_assert(net_version_of(nccl_code(2, 18, 3)) == 6);
static_assert(net_version_of(nccl_code(2, 23, 4)) == 8);
static_assert(net_version_of(nccl_code(2, 32, 3)) == 12);
static_assert(net_version_of(nccl_code(2, 33, 0)) == 0);

// Bytes of /dev/shm that a rank which uses the network takes, once a communicator, for the queue to
// its proxy (src/proxy.cc, struct ncclProxyOpsPool). Seen, rounded down to MiB: official libraries
// 2.18.3, 2.23.4, 2.26.2, 2.27.7, 2.28.3, 2.29.2, 2.29.7, 2.30.3, 2.32.3.
struct ProxyPool {
  int from;
  std::uint64_t mib;
};
inline constexpr ProxyPool kProxyPools[] = {{nccl_code(2, 18, 0), 4},
                                            {nccl_code(2, 23, 0), 10},
                                            {nccl_code(2, 26, 0), 31},
                                            {nccl_code(2, 28, 0), 32},
                                            {nccl_code(2, 32, 0), 65}};
constexpr std::uint64_t proxy_pool_bytes(int code) {  // 0: the newest
  std::uint64_t mib = 0;
  for (const ProxyPool& row : kProxyPools)
    if (code == 0 || row.from <= code) mib = row.mib;
  return mib << 20;
}

// MAX_IB_DEVS (src/transport/net_ib.cc, later net_ib/common.h): 16, then 32.
inline constexpr Releases kTakes32Devices{nccl_code(2, 19, 0)};
// Picks a RoCE GID where NCCL_IB_GID_INDEX is unset (net_ib.cc, ncclIbGetGidIndex); before, index
// 0.
inline constexpr Releases kPicksGid{nccl_code(2, 21, 0)};
// Crashes on an NCCL_IB_ADDR_RANGE without a '/' (net_ib.cc, envIbAddrRange).
inline constexpr Releases kNeedsSlashInRange{nccl_code(2, 21, 0), nccl_code(2, 22, 99)};
// Looks for an InfiniBand GID with a routable FLID (net_ib.cc, NCCL_IB_ROUTABLE_FLID_GID_INDEX).
inline constexpr Releases kRoutableFlid{nccl_code(2, 22, 0)};
// Goes on where a GID's type can't be read for EINVAL (net_ib.cc, ncclIbRoceGetVersionNum).
inline constexpr Releases kToleratesUnreadableGidType{nccl_code(2, 26, 0)};
// Calls a failed ibv_modify_qp again, NCCL_IB_MQP_RETRY_CNT times (src/misc/ibvwrap.cc).
inline constexpr Releases kRetriesModifyQp{nccl_code(2, 24, 0)};
// Compares the PCI paths of HCAs by strcmp without a check for null: a device that has none in
// sysfs crashes it (net_ib.cc, ncclIbGetPciPath and ncclIbInit).
inline constexpr Releases kCrashesWithoutPciPath{nccl_code(2, 20, 0), nccl_code(2, 23, 99)};
// Makes one device of two ports or functions of a card, inside its own init (net_ib.cc,
// ncclIbFindMatchingDev). Later releases leave that to core.
inline constexpr Releases kMergesInInit{nccl_code(2, 20, 0), nccl_code(2, 23, 99)};
// Leaves them apart on a node where not all can be merged alike (the same, build_ib_list).
inline constexpr Releases kMergesAllOrNone{nccl_code(2, 22, 0), nccl_code(2, 23, 99)};
// Counts the ports of a card by a common beginning of their PCI paths (net_ib.cc,
// ncclIbMatchVfPath); before, by equal paths.
inline constexpr Releases kMatchesPathPrefix{nccl_code(2, 24, 0)};
// Shows core the PCI path with the function's own digits; others put 0 there (net_ib.cc,
// ncclIbGetPciPath).
inline constexpr Releases kKeepsFunctionInPath{nccl_code(2, 24, 0), nccl_code(2, 26, 99)};
// Orders its devices by PCI address (net_ib/init.cc, NCCL_IB_DEVICE_PCI_ORDER).
inline constexpr Releases kSortsByPci{nccl_code(2, 29, 7)};
// One answer about DMA-BUF, that for device 0, counts for all devices (net_ib.cc,
// ncclIbDmaBufSupport: a static variable).
inline constexpr Releases kOneDmabufAnswer{nccl_code(2, 18, 0), nccl_code(2, 22, 99)};
// Knows mlx5's data direct (net_ib.cc, NCCL_IB_DATA_DIRECT): first beside the plain device; then 1
// replaces that one, and only 2 shows both; then any number above 0 replaces it, and an unexpected
// errno of mlx5dv_get_data_direct_sysfs_path fails init.
inline constexpr Releases kDataDirectBeside{nccl_code(2, 27, 0), nccl_code(2, 27, 5)};
inline constexpr Releases kDataDirectInstead{nccl_code(2, 27, 6)};
inline constexpr Releases kDataDirectAnyNumber{nccl_code(2, 28, 0)};
// Asks for a flush after data direct's writes (getProperties, forceFlush; gone in the branch dev,
// 2.31.0, and in 2.31.2).
inline constexpr Releases kFlushesDataDirect{nccl_code(2, 27, 0), nccl_code(2, 30, 99)};
// Picks each device's GID in init, which fails with it (seen: 2.31.2, 2.32.3).
inline constexpr Releases kPicksGidInInit{nccl_code(2, 31, 0)};
// A number of its environment without a digit counts as unset (seen: 2.32.3); before, as 0.
inline constexpr Releases kIgnoresNonNumbers{nccl_code(2, 32, 0)};
// Reads speeds beyond 8 bits (XDR), and asks ibv_query_port_speed.
inline constexpr Releases kReadsXdr{nccl_code(2, 27, 6)};
inline constexpr Releases kAsksPortSpeed{nccl_code(2, 30, 7)};
// NCCL_IB_TIMEOUT is 20, 18 before.
inline constexpr Releases kTimeout20{nccl_code(2, 23, 0)};
// NCCL_IB_TC and NCCL_IB_SL: -1 stands for unset.
inline constexpr Releases kUnsetTrafficClass{nccl_code(2, 26, 0)};
// NCCL_IB_FIFO_TC, the receiver's traffic class: first 0 stands for unset, then -1.
inline constexpr Releases kFifoTrafficClass{nccl_code(2, 22, 0)};
inline constexpr Releases kUnsetFifoTrafficClass{nccl_code(2, 24, 0)};
// Forgets the plugin's name when the last communicator goes, unless NCCL_NET_PLUGIN_REF_COUNT is 1
// (v2.28.9-1 src/plugin/net.cc, ncclNetPluginUnload).
inline constexpr Releases kForgetsPlugin{nccl_code(2, 28, 3), nccl_code(2, 29, 7)};
// Core fuses the ports of a card also where NCCL_IB_MERGE_NICS=0 forbids the transport to, gets an
// error for it, and init fails (v2.24.3-1 and v2.25.1-1 src/graph/topo.cc, ncclTopoMakeVnic; seen:
// both crash on the way out). From 2.26 on it goes on without.
inline constexpr Releases kInsistsOnFusion{nccl_code(2, 24, 0), nccl_code(2, 25, 99)};
// Tries to connect again where the host can't be reached (v2.24.3-1 src/misc/socket.cc,
// socketConnectCheck); before, only where it is refused or timed out.
inline constexpr Releases kRetriesUnreachable{nccl_code(2, 24, 0)};
// The bootstrap's root answers a rank as soon as the next one has come (v2.23.4-1
// src/bootstrap.cc, bootstrapRoot); before, when all have.
inline constexpr Releases kRootAnswersInPairs{nccl_code(2, 23, 0)};
// Has no RMA with any external net plugin (seen).
inline constexpr Releases kLosesRma{nccl_code(2, 29, 2), nccl_code(2, 29, 3)};
// Has a profiler API and finds no profiler in its net plugin (v2.27.7-1 and v2.28.3-1
// src/plugin/profiler.cc, ncclProfilerPluginLoad).
inline constexpr Releases kNeedsProfilerName{nccl_code(2, 23, 0), nccl_code(2, 28, 2)};
// Takes ncclGinPlugin_v11 from the net library and has it built in (v2.28.7-1
// src/plugin/net/net_v11.cc, v2.29.3-1 the same). From 2.29.7 on src/plugin/gin.cc decides.
inline constexpr Releases kForwardsGin{nccl_code(2, 28, 7), nccl_code(2, 29, 3)};
// Opens the library that NCCL_IBVERBS_LIB names first (src/misc/ibvsymbols.cc).
inline constexpr Releases kReadsIbverbsLib{nccl_code(2, 30, 3)};
// Entries of NCCL_IB_HCA are name[:port[:rail[:plane]]] (net_ib/init.cc).
inline constexpr Releases kRailsInHcaList{nccl_code(2, 30, 7)};
// The files that are a sign of peer memory to it, any one (net_ib.cc, ncclIbGdrSupport, later
// net_ib/gdr.cc): /sys/kernel/mm/memory_peers/nv_mem/version in all releases, ...
inline constexpr Releases kSeesNvidiaPeermemClient{
    nccl_code(2, 18, 0), nccl_code(2, 21, 99)};                     // memory_peers/nvidia-peermem
inline constexpr Releases kSeesNvMemNc{nccl_code(2, 22, 0)};        // memory_peers/nv_mem_nc
inline constexpr Releases kSeesPeermemModule{nccl_code(2, 23, 0)};  // /sys/module/nvidia_peermem
static_assert(!kForgetsPlugin.has(nccl_code(2, 27, 7)) && kForgetsPlugin.has(nccl_code(2, 29, 7)));
static_assert(!kForgetsPlugin.has(0) && kRetriesModifyQp.has(0));
static_assert(kSeesPeermemModule.has(nccl_code(2, 34, 1)));

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

// ncclGinIbProxy, ncclGinIbGdaki (ncclGin_v11_t):
// their slots after the name (v2.28.9-1 src/transport/net_ib.cc, v2.29.3-1
// src/transport/net_ib/gin.cc).
inline constexpr std::string_view kGinProxySlots = "FFFFF0FFF0FFFFF00F";
inline constexpr std::string_view kGinGdakiSlots = "FFFFFFF0FFFF000FFF";

}  // namespace nccl_abi
