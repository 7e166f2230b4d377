#include "foreign/nccl_sayings.h"

namespace nnd::foreign {

// test/foreign compares the releases with the official libraries.
const std::vector<Saying>& nccl_sayings() {
  static const std::vector<Saying> table{
      // clang-format off
      {Says::kRank, "comm %p rank %d nranks %d cudaDev %d nvmlDev %d busId %lx commId 0x%llx - Init START", ".rn....", 21803, 21903, "src/init.cc"},
      {Says::kRank, "ncclCommInitRank comm %p rank %d nranks %d cudaDev %d nvmlDev %d busId %lx commId 0x%llx - Init START", ".rn....", 22105, 22105, "src/init.cc"},
      {Says::kRank, "%s comm %p rank %d nranks %d cudaDev %d nvmlDev %d busId %lx commId 0x%llx - Init START", "..rn....", 22304, 22809, "src/init.cc"},
      {Says::kRank, "[Rank %d] %s comm %p rank %d nranks %d cudaDev %d nvmlDev %d busId %lx commId 0x%llx - Init START", "...rn....", 22902, 0, "src/init.cc"},
      {Says::kHcas, "NET/IB : Using%s %s; OOB %s:%s", "xx..", 21803, 0, "src/transport/net_ib.cc"},
      {Says::kHcaPath, "NET/IB: [%d] %s:%s:%d/%s provider=%s speed=%d context=%p pciPath=%s ar=%d oooRqSize=%d", ".d.p....x..", 23003, 0, "src/transport/net_ib/init.cc"},
      {Says::kHcaPath, "NET/IB: [%d] %s:%s:%d/%s provider=%s speed=%d context=%p pciPath=%s ar=%d", ".d.p....x.", 22707, 22907, "src/transport/net_ib.cc"},
      {Says::kNetwork, "Using network %s", "x", 21803, 0, "src/net.cc"},
      {Says::kNoDevice, "NET/IB : No device found.", "", 21803, 0, "src/transport/net_ib.cc"},
      {Says::kNoInterface, "NET/IB : No IP interface found.", "", 21803, 0, "src/transport/net_ib.cc"},

      {Says::kMoveFailed, "Call to ibv_modify_qp failed with %d %s, %s, retrying %d/%d after %u msec of sleep", "etm...", 22501, 0, "src/misc/ibvwrap.cc"},
      {Says::kMoveFailed, "Call to ibv_modify_qp failed with error %s errno %d", "te", 21903, 22304, "src/misc/ibvwrap.cc"},
      {Says::kMoveFailed, "Call to ibv_modify_qp failed with error %s", "t", 21803, 21803, "src/misc/ibvwrap.cc"},
      {Says::kMoveFailed, "Call to ibv_modify_qp failed with %d %s, %s", "etm", 22501, 0, "src/misc/ibvwrap.cc"},
      {Says::kNoQp, "Call to ibv_create_qp failed with error %s", "t", 21803, 0, "src/misc/ibvwrap.cc"},
      {Says::kNoCq, "Call to ibv_create_cq failed with error %s", "t", 21803, 0, "src/misc/ibvwrap.cc"},
      {Says::kRegistration, "Call to ibv_reg_mr_iova2 failed with error %s", "t", 21803, 0, "src/misc/ibvwrap.cc"},
      {Says::kRegistration, "Call to ibv_reg_dmabuf_mr failed with error %s", "t", 21803, 0, "src/misc/ibvwrap.cc"},
      {Says::kRegistration, "Call to ibv_reg_mr failed with error %s", "t", 21803, 0, "src/misc/ibvwrap.cc"},
      {Says::kNoGid, "Call to ibv_query_gid failed with error %s errno %d", "te", 21903, 0, "src/misc/ibvwrap.cc"},
      {Says::kNoGid, "Call to ibv_query_gid failed with error %s", "t", 21803, 21803, "src/misc/ibvwrap.cc"},
      {Says::kCantOpen, "NET/IB : Unable to open device %s", "d", 21803, 0, "src/transport/net_ib.cc"},

      {Says::kCompletion, "NET/IB : Got completion from peer %s with error %d, opcode %d, len %d, vendor err %d (%s)%s%s%s%s", "as........", 21803, 21903, "src/transport/net_ib.cc"},
      {Says::kCompletion, "NET/IB : Got completion from peer %s with status=%d opcode=%d len=%d vendor err %d (%s)%s%s%s%s", "as........", 22105, 22105, "src/transport/net_ib.cc"},
      {Says::kCompletion, "NET/IB: Got completion from peer %s with status=%d opcode=%d len=%d vendor err %d (%s)%s%s%s%s hca %s", "as........d", 22304, 22304, "src/transport/net_ib.cc"},
      {Says::kCompletion, "NET/IB: Got completion from peer %s with status=%d opcode=%d len=%u vendor err %u (%s)%s%s%s%s hca %s", "as........d", 22501, 22803, "src/transport/net_ib.cc"},
      {Says::kCompletion, "NET/IB: Got completion from peer %s with status=%s(%d) opcode=%s(%d) reqSize=%d vendor_err=%u req_type=%s%s%s%s%s hca %s", "a.s.........d", 22809, 22809, "src/transport/net_ib.cc"},
      {Says::kCompletion, "NET/IB: Got completion from peer %s with status=%s(%d) opcode=%s(%d) vendor_err=%u %s%s%s%s hca %s", "a.s.......d", 22902, 23007, "src/transport/net_ib/p2p.cc"},
      {Says::kCompletion, "NET/IB: Got completion from peer %s with status=%s(%d) opcode=%s(%d) vendor_err=%u qp_num=%u %s%s%s%s hca %s", "a.s........d", 23203, 0, "src/transport/net_ib/p2p.cc"},

      {Says::kDeviceEvent, "NET/IB : Got async event : %s", "x", 21803, 21903, "src/transport/net_ib.cc"},
      {Says::kDeviceEvent, "NET/IB : %s:%d Got async event : %s", "dpx", 22105, 22105, "src/transport/net_ib.cc"},
      {Says::kDeviceEvent, "NET/IB : %s:%d Got async error event: %s", "dpx", 22304, 22803, "src/transport/net_ib.cc"},
      {Says::kDeviceEvent, "NET/IB : %s:%d Got non-fatal async event: %s(%d)", "dpx.", 22809, 0, "src/transport/net_ib.cc"},
      {Says::kFatalEvent, "NET/IB : %s:%d async fatal event: %s", "dpx", 22304, 0, "src/transport/net_ib.cc"},
      {Says::kFatalEvent, "NET/IB : %s:%d async fatal event on QP (%p): %s", "dp.x", 22304, 23003, "src/transport/net_ib.cc"},
      {Says::kFatalEvent, "NET/IB : %s:%d async fatal event on CQ (%p): %s", "dp.x", 22304, 23003, "src/transport/net_ib.cc"},
      {Says::kGidTable, "NET/IB : %s:%d GID table changed", "dp", 22803, 23007, "src/transport/net_ib.cc"},

      {Says::kConnect, "socketStartConnect: Connect to %s failed : %s", "at", 21803, 22304, "src/misc/socket.cc"},
      {Says::kConnect, "socketPollConnect: Connect to %s returned %d(%s) errno %d(%s)", "ae..." , 22105, 22304, "src/misc/socket.cc"},
      {Says::kConnect, "%s: Connect to %s failed : %s", ".at", 22501, 22602, "src/misc/socket.cc"},
      {Says::kConnect, "%s: connect to %s failed : %s", ".at", 22707, 0, "src/misc/socket.cc"},
      {Says::kConnect, "%s: connect to %s returned %s, exceeded error retry count after %d attempts", ".at.", 22707, 0, "src/misc/socket.cc"},
      {Says::kClosed, "socketProgress: Connection closed by remote peer %s", "a", 21803, 0, "src/misc/socket.cc"},
      {Says::kTruncated, "Message truncated : received %d bytes instead of %d", "..", 21803, 0, "src/bootstrap.cc"},
      {Says::kVersions, "Mismatched NCCL version detected : rank %d version %d rank %d version %d", "....", 22304, 0, "src/init.cc"},
      {Says::kVersions, "NCCL version mismatch with remote peer %s (local: %d, remote %d)", "a..", 22501, 22907, "src/ras/ras.cc"},
      {Says::kVersions, "NCCL version mismatch with remote peer %s (local: %s, remote %s)", "a..", 23003, 0, "src/ras/ras.cc"},
      {Says::kLinkLayers, "NET/IB : Attempted to connect incompatible devices: [%d]%s:%d/%s and [%d]%s:%d/%s. Try selecting NICs of only one link type using NCCL_IB_HCA", ".dp.....", 22602, 0, "src/transport/net_ib.cc"},
      {Says::kLinkLayers, "NET/IB : Remote %s device is incompatible with the local [%d]%s:%d/%s. Try selecting NICs of only one link type using NCCL_IB_HCA", "..dp.", 22602, 0, "src/transport/net_ib.cc"},
      {Says::kAborted, "comm %p rank %d nRanks %d cudaDev %d busId %lx - Abort START", ".....", 22803, 23007, "src/init.cc"},
      {Says::kAborted, "comm %p rank %d nRanks %d cudaDev %d busId %lx commId 0x%lx - Abort START", "......", 23203, 0, "src/init.cc"},
      {Says::kAborted, "comm %p rank %d nranks %d cudaDev %d busId %lx - Abort COMPLETE", ".....", 21803, 22105, "src/init.cc"},
      // clang-format on
  };
  return table;
}

}  // namespace nnd::foreign
