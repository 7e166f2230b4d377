#include "cli/explain/sayings.h"

namespace nnd::cli {

using nccl_net_diag::Cause;

// Of NCCL 2.18 to 2.32 (src/transport/net_ib*, src/misc/socket.cc, src/misc/ibvwrap.cc,
// src/bootstrap.cc, src/plugin/net.cc, src/init.cc: ncclGetErrorString), and of PyTorch's
// ProcessGroupNCCL.
const std::vector<Saying>& sayings() {
  static const std::vector<Saying> table{
      // verbs
      {"call to ibv_modify_qp",
       {Cause::kQp110, Cause::kQp22, Cause::kQp19, Cause::kQp101, Cause::kQp113, Cause::kQp61,
        Cause::kSubRail, Cause::kGidDiff, Cause::kGidWrong, Cause::kQpErrno, Cause::kQpRetry}},
      {"call to ibv_create_qp",
       {Cause::kLimMemlock, Cause::kLimMemlock2, Cause::kQp1, Cause::kQp22, Cause::kQpErrno}},
      {"call to ibv_create_cq", {Cause::kCq12, Cause::kLimMemlock, Cause::kCqErrno}},
      {"call to ibv_poll_cq", {Cause::kCqErrno}},
      {"call to ibv_reg_mr",
       {Cause::kLimMemlock, Cause::kMr14, Cause::kGdrRegFail, Cause::kMr12, Cause::kMr22,
        Cause::kMrErrno}},
      {"call to ibv_reg_dmabuf_mr", {Cause::kGdrRegFail, Cause::kGdrNoMod}},
      {"call to mlx5dv_reg_dmabuf_mr", {Cause::kGdrRegFail, Cause::kGdrDd}},
      {"ibv_post_send() failed", {Cause::kPostErrno}},
      {"ibv_post_recv() failed", {Cause::kPostErrno}},
      {"call to ibv_open_device", {Cause::kDevUnusable, Cause::kLimUverbs}},
      {"unable to open device", {Cause::kDevUnusable, Cause::kLimUverbs}},
      {"call to ibv_query_gid", {Cause::kGidWrong, Cause::kGidCont}},
      {"ncclibrocegetversionnum", {Cause::kGidCont}},
      {"failed to open libibverbs", {Cause::kDevFallback, Cause::kLimUverbs}},
      // completions and events
      {"got completion from peer",
       {Cause::kWc12, Cause::kWc5, Cause::kWc4, Cause::kWc13, Cause::kWc10, Cause::kWc9,
        Cause::kWc11, Cause::kWc1, Cause::kWc2, Cause::kWcStatus}},
      {"gid table changed", {Cause::kGidChange}},
      {"non-fatal async event: port error", {Cause::kAsyncPort}},
      {"got async event : port error", {Cause::kAsyncPort}},
      {"async fatal event", {Cause::kAsyncFatal}},
      {"local catastrophic error", {Cause::kAsyncFatal}},
      // HCAs
      {"no device found", {Cause::kDevFallback, Cause::kIncNDevs, Cause::kDevPrefix}},
      {"using network socket", {Cause::kDevFallback, Cause::kIncIbTcp}},
      {"initialized net plugin socket", {Cause::kDevFallback, Cause::kIncIbTcp}},
      {"failed to initialize net plugin", {Cause::kDevFallback, Cause::kDevPlugin}},
      {"failed to initialize any net plugin", {Cause::kDevFallback, Cause::kDevPlugin}},
      {"plugin: could not find", {Cause::kDevPlugin}},
      {"failed to find ncclnetplugin", {Cause::kDevPlugin}},
      {"attempted to connect incompatible devices", {Cause::kDevMixLl, Cause::kIncIbTcp}},
      {"device is incompatible with the local", {Cause::kDevMixLl, Cause::kIncIbTcp}},
      {"attempted to merge incompatible devices", {Cause::kDevMixLl, Cause::kDevMerge}},
      {"has a different number of devices", {Cause::kIncFusion, Cause::kDevMerge}},
      {"there are mismatched physical devices", {Cause::kDevOrder, Cause::kDevMerge}},
      {"could not find real path of", {Cause::kDevNoPci}},
      {"flid configured as zero", {Cause::kIbFlid}},
      {"gpu direct rdma disabled", {Cause::kGdrNoMod, Cause::kGdrOff, Cause::kGdrDist}},
      {"mlx5dv_get_data_direct_sysfs_path", {Cause::kGdrDd}},
      {"too many open files", {Cause::kLimNoFile}},
      // how ranks meet
      {"no socket interface found", {Cause::kDevOob}},
      {"no ip interface found", {Cause::kDevOob}},
      {"no usable listening interface found", {Cause::kDevOob}},
      {"no interface found in the same subnet", {Cause::kDevOob}},
      {"socketstartconnect", {Cause::kDevOob, Cause::kHangConnect}},
      {"socketpollconnect", {Cause::kDevOob, Cause::kHangConnect}},
      {"socketfinalizeconnect", {Cause::kDevOob, Cause::kHangConnect, Cause::kRc6}},
      {"socketfinalizeaccept",
       {Cause::kDevOob, Cause::kIncVersion, Cause::kHangConnect, Cause::kIncIbTcp}},
      {"wrong type 4 != 3", {Cause::kIncIbTcp}},  // enum ncclSocketType, v2.28.9-1 socket.h
      {"wrong type 3 != 4", {Cause::kIncIbTcp}},
      {"connect to", {Cause::kDevOob, Cause::kHangConnect}},
      {"socketprogress", {Cause::kRc6, Cause::kHangConnect}},
      {"exceeded error retry count", {Cause::kDevOob, Cause::kHangConnect}},
      {"connection closed by remote peer", {Cause::kOobClosed, Cause::kRc6, Cause::kHangConnect}},
      {"failed to execute operation connect", {Cause::kHangConnect, Cause::kRc6, Cause::kRc2}},
      // what ranks don't have in common
      {"message truncated", {Cause::kIncEnv, Cause::kIncVersion, Cause::kWc1}},
      {"nccl version mismatch", {Cause::kIncVersion}},
      {"mismatched nccl version", {Cause::kIncVersion}},
      {"mismatch in info from procs", {Cause::kIncEnv, Cause::kIncVersion}},
      {"posted incorrect receive info", {Cause::kIncEnv, Cause::kIncVersion}},
      // results, as NCCL puts them in words
      {"unhandled cuda error", {Cause::kRc1}},
      {"unhandled system error", {Cause::kRc2}},
      {"internal error - please report this issue", {Cause::kRc3}},
      {"invalid argument (run with nccl_debug", {Cause::kRc4}},
      {"invalid usage", {Cause::kRc5}},
      {"remote process exited or there was a network error", {Cause::kRc6}},
      // waiting
      {"watchdog caught collective operation timeout", {Cause::kHangData, Cause::kHangConnect}}};
  return table;
}

}  // namespace nnd::cli
