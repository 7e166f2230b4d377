// Every cause that an event may name (field "cause"): its id, how bad it is by itself, and a title.
// What a cause means, how it is recognised and what to do is in docs/causes.md, made from this
// table and plugin/diagnosis/catalogue*. Ids are part of the contract: new ones may be added, none
// is renamed, or used again for something else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "nccl_net_diag/events.h"

namespace nccl_net_diag {

// Whether this library says it. Later: the facts are logged, nothing names the cause yet.
// Elsewhere: known from the field; here another id says it, or another layer.
enum class Named : std::uint8_t { kNow, kLater, kElsewhere };

// Whose fault a failure can be, by its cause alone. A cause that tells nothing of it is open, and
// so is an id that this table doesn't know: there the event has to tell, by the ends that it names.
enum class Reach : std::uint8_t {
  kLocal,  // this process, its HCA, port or settings
  kPeer,   // the other end
  kPair,   // this end, the other end, or what lies between
  kNode,   // this node: its limits, drivers, environment
  kJob,    // what the processes of the job don't have in common
  kEcho,   // it only says that something else has failed
  kOpen
};

constexpr std::string_view reach_name(Reach reach) {
  constexpr std::array<std::string_view, 7> kNames{"local", "peer", "pair", "node",
                                                   "job",   "echo", "open"};
  return kNames[static_cast<std::size_t>(reach)];
}

// X(enumerator, id, severity, named, reach, title)
// clang-format off
#define NCCL_NET_DIAG_CAUSES(X) \
  /* which HCAs NCCL uses */ \
  X(kDevBond, "DEV-BOND", kWarn, kNow, kLocal, "A bond among plain HCAs") \
  X(kDevMgmt, "DEV-MGMT", kWarn, kNow, kLocal, "The HCA of the management or storage network") \
  X(kDevDenied, "DEV-DENIED", kWarn, kNow, kLocal, "An HCA that the policy's lists keep out") \
  X(kDevDown, "DEV-DOWN", kWarn, kNow, kLocal, "A port whose link is not up") \
  X(kDevFallback, "DEV-FALLBACK", kError, kNow, kNode, "NCCL slides to TCP") \
  X(kDevPlugin, "DEV-PLUGIN", kWarn, kNow, kNode, "Another net plugin, or none, is in use") \
  X(kDevNoPci, "DEV-NOPCI", kError, kNow, kLocal, "An HCA without a device path in sysfs") \
  X(kGinNoDev, "GIN-NODEV", kError, kElsewhere, kNode, "NCCL 2.28.7 and 2.28.9 crash where no HCA is mlx5") \
  X(kDevPrefix, "DEV-PREFIX", kWarn, kNow, kNode, "NCCL_IB_HCA doesn't say what was meant") \
  X(kDevMerge, "DEV-MERGE", kWarn, kNow, kLocal, "Functions of one card may be fused") \
  X(kDevMixLl, "DEV-MIXLL", kError, kNow, kPair, "InfiniBand and RoCE are mixed") \
  X(kDevOrder, "DEV-ORDER", kWarn, kElsewhere, kJob, "The nodes number their HCAs differently") \
  X(kDevUnusable, "DEV-UNUSABLE", kWarn, kNow, kLocal, "An HCA is listed and can't be opened") \
  X(kDevSlow, "DEV-SLOW", kWarn, kNow, kLocal, "A link or a PCIe slot is slower than its siblings") \
  X(kDevOob, "DEV-OOB", kWarn, kNow, kNode, "Ranks meet by the wrong network interface") \
  X(kDevLimit, "DEV-LIMIT", kWarn, kNow, kNode, "More HCAs than NCCL takes") \
  /* addresses */ \
  X(kGidWrong, "GID-WRONG", kWarn, kNow, kLocal, "NCCL_IB_GID_INDEX names a bad GID") \
  X(kGidLinkLocal, "GID-LINKLOCAL", kWarn, kNow, kLocal, "NCCL uses a link-local GID") \
  X(kGidV1, "GID-V1", kWarn, kNow, kLocal, "NCCL uses a RoCE v1 GID") \
  X(kGidDiff, "GID-DIFF", kError, kNow, kPair, "The two ends chose GIDs of different kinds") \
  X(kGidChange, "GID-CHANGE", kWarn, kNow, kLocal, "The GID table changed while the job runs") \
  X(kGidCont, "GID-CONT", kError, kNow, kNode, "No GID can be read here") \
  X(kSubRail, "SUB-RAIL", kError, kNow, kPair, "NCCL connects across rails or subnets") \
  X(kSubDirect, "SUB-DIRECT", kWarn, kNow, kPair, "Each cable is a subnet of its own") \
  X(kSubSame, "SUB-SAME", kError, kNow, kPair, "Several interfaces of a node are in one subnet") \
  X(kSubIntra, "SUB-INTRA", kError, kNow, kPair, "HCAs of one node can't reach each other") \
  X(kRoceTc, "ROCE-TC", kWarn, kNow, kLocal, "Traffic runs in the wrong traffic class") \
  X(kMtuDiff, "MTU-DIFF", kWarn, kNow, kPair, "The MTUs differ") \
  X(kPkey, "PKEY", kError, kNow, kLocal, "No usable partition key where NCCL looks") \
  X(kIbFlid, "IB-FLID", kWarn, kNow, kPair, "InfiniBand ends in different subnets without a router's LID") \
  X(kIbNoSm, "IB-NOSM", kError, kNow, kLocal, "The subnet manager gave the port no LID") \
  /* making and moving a QP */ \
  X(kQp110, "QP-110", kError, kNow, kPair, "The peer's address did not resolve (ETIMEDOUT)") \
  X(kQp22, "QP-22", kError, kNow, kLocal, "An attribute of the QP doesn't fit the port (EINVAL)") \
  X(kQp19, "QP-19", kError, kNow, kLocal, "The interface behind the GID is gone (ENODEV)") \
  X(kQp61, "QP-61", kError, kNow, kLocal, "The GID's slot is empty now (ENODATA)") \
  X(kQp101, "QP-101", kError, kNow, kPair, "No route to the peer's GID (ENETUNREACH)") \
  X(kQp113, "QP-113", kError, kNow, kPair, "The peer's GID can't be reached (EHOSTUNREACH)") \
  X(kQp1, "QP-1", kError, kNow, kLocal, "The kernel doesn't permit the QP (EPERM)") \
  X(kQp13, "QP-13", kError, kNow, kLocal, "Access to the QP is denied (EACCES)") \
  X(kQp12, "QP-12", kError, kNow, kNode, "No memory to move the QP (ENOMEM)") \
  X(kQpErrno, "QP-ERRNO", kError, kNow, kOpen, "Making or moving a QP failed with another errno") \
  X(kQpRetry, "QP-RETRY", kWarn, kNow, kPair, "NCCL is told to repeat what can't work for long") \
  /* other verbs */ \
  X(kCq12, "CQ-12", kError, kElsewhere, kNode, "A completion queue found no memory (ENOMEM)") \
  X(kCqErrno, "CQ-ERRNO", kError, kNow, kLocal, "A verb on a completion queue failed") \
  X(kMr12, "MR-12", kError, kElsewhere, kNode, "A memory registration found no memory (ENOMEM)") \
  X(kMr14, "MR-14", kError, kNow, kLocal, "The memory to register isn't there (EFAULT)") \
  X(kMr22, "MR-22", kError, kNow, kLocal, "The HCA doesn't take this registration (EINVAL)") \
  X(kMrErrno, "MR-ERRNO", kError, kNow, kLocal, "A memory registration failed with another errno") \
  X(kPostErrno, "POST-ERRNO", kError, kNow, kLocal, "Posting a work request failed") \
  X(kVerbsErrno, "VERBS-ERRNO", kError, kNow, kLocal, "Another verb failed") \
  /* failed completions, by status */ \
  X(kWc1, "WC-1", kError, kNow, kLocal, "A message longer than the receiver takes (LOC_LEN_ERR)") \
  X(kWc2, "WC-2", kError, kNow, kLocal, "The HCA could not carry out its own request (LOC_QP_OP_ERR)") \
  X(kWc4, "WC-4", kError, kNow, kLocal, "The HCA could not reach local memory (LOC_PROT_ERR)") \
  X(kWc5, "WC-5", kError, kNow, kEcho, "Flushed: the QP had failed before (WR_FLUSH_ERR)") \
  X(kWc7, "WC-7", kError, kNow, kPair, "The peer answered what wasn't asked (BAD_RESP_ERR)") \
  X(kWc8, "WC-8", kError, kNow, kLocal, "Writing received data to local memory failed (LOC_ACCESS_ERR)") \
  X(kWc9, "WC-9", kError, kNow, kPeer, "The peer's HCA calls the request invalid (REM_INV_REQ_ERR)") \
  X(kWc10, "WC-10", kError, kNow, kPeer, "The peer's HCA denies access to memory (REM_ACCESS_ERR)") \
  X(kWc11, "WC-11", kError, kNow, kPeer, "The peer's HCA could not carry out the request (REM_OP_ERR)") \
  X(kWc12, "WC-12", kError, kNow, kPair, "The peer did not answer (RETRY_EXC_ERR)") \
  X(kWc13, "WC-13", kError, kNow, kPair, "The peer never had a receive ready (RNR_RETRY_EXC_ERR)") \
  X(kWc19, "WC-19", kError, kNow, kLocal, "The HCA gave up (FATAL_ERR)") \
  X(kWc21, "WC-21", kError, kNow, kOpen, "The HCA names no reason (GENERAL_ERR)") \
  X(kWcStatus, "WC-STATUS", kError, kNow, kOpen, "A completion failed with another status") \
  /* what happens to a device on its own */ \
  X(kAsyncFatal, "ASYNC-FATAL", kError, kNow, kLocal, "The HCA reports a fatal error") \
  X(kAsyncPort, "ASYNC-PORT", kWarn, kNow, kLocal, "A port went down") \
  X(kLinkFlap, "LINK-FLAP", kWarn, kNow, kPair, "The time for retransmissions doesn't fit") \
  X(kLinkErrors, "LINK-ERRORS", kWarn, kNow, kLocal, "A link spoils packets") \
  X(kDevSilent, "DEV-SILENT", kWarn, kNow, kLocal, "An HCA's driver does not answer") \
  X(kLongDistance, "LONG-DISTANCE", kWarn, kNow, kPair, "Retransmissions without a failure: congestion") \
  /* a call of NCCL's transport, where no verb tells more: ncclResult_t */ \
  X(kRc1, "RC-1", kError, kNow, kLocal, "The transport returned ncclUnhandledCudaError") \
  X(kRc2, "RC-2", kError, kNow, kOpen, "The transport returned ncclSystemError") \
  X(kRc3, "RC-3", kError, kNow, kEcho, "The transport returned ncclInternalError") \
  X(kRc4, "RC-4", kError, kNow, kLocal, "The transport returned ncclInvalidArgument") \
  X(kRc5, "RC-5", kError, kNow, kEcho, "The transport returned ncclInvalidUsage") \
  X(kRc6, "RC-6", kError, kNow, kEcho, "The transport returned ncclRemoteError") \
  X(kRcOther, "RC-OTHER", kError, kNow, kEcho, "The transport returned another result") \
  /* GPUDirect RDMA */ \
  X(kGdrNoMod, "GDR-NOMOD", kWarn, kNow, kNode, "There is no way for GPUDirect RDMA") \
  X(kGdrOff, "GDR-OFF", kWarn, kNow, kNode, "A variable turns GPUDirect RDMA off") \
  X(kGdrRegFail, "GDR-REGFAIL", kError, kNow, kLocal, "GPU memory could not be registered") \
  X(kGdrPeermemVsDmabuf, "GDR-PEERMEM-VS-DMABUF", kInfo, kNow, kNode, "Which way GPUDirect RDMA takes") \
  X(kGdrDist, "GDR-DIST", kInfo, kNow, kLocal, "GPU and HCA are too far apart for GPUDirect RDMA") \
  X(kGdrAcs, "GDR-ACS", kWarn, kNow, kNode, "ACS, an IOMMU or a virtual machine between GPU and HCA") \
  X(kGdrRo, "GDR-RO", kWarn, kNow, kNode, "Relaxed ordering, and a flush that is missing") \
  X(kGdrDd, "GDR-DD", kInfo, kLater, kNode, "Data Direct of newer HCAs") \
  X(kGdrCopy, "GDR-COPY", kInfo, kElsewhere, kNode, "GDRCopy is missing") \
  /* limits */ \
  X(kLimMemlock, "LIM-MEMLOCK", kError, kNow, kNode, "The limit on locked memory is too low") \
  X(kLimMemlock2, "LIM-MEMLOCK2", kError, kNow, kNode, "Out of memory, though locked memory isn't limited") \
  X(kLimNoFile, "LIM-NOFILE", kWarn, kNow, kNode, "Too few files may be open") \
  X(kLimUverbs, "LIM-UVERBS", kError, kElsewhere, kNode, "The verbs device node is out of reach") \
  X(kLimQpCount, "LIM-QPCOUNT", kWarn, kNow, kNode, "How many QPs are in use") \
  X(kLimShm, "LIM-SHM", kError, kElsewhere, kNode, "/dev/shm has no room for what NCCL shares") \
  X(kLimCpu, "LIM-CPU", kWarn, kElsewhere, kNode, "A rank has too few CPUs") \
  X(kLimNproc, "LIM-NPROC", kWarn, kElsewhere, kNode, "Too few threads may be started") \
  X(kLimFork, "LIM-FORK", kWarn, kElsewhere, kNode, "A process forked while it used RDMA") \
  /* what nodes or processes do not have in common */ \
  X(kIncEnv, "INC-ENV", kWarn, kNow, kJob, "A variable is not set everywhere") \
  X(kIncShm, "INC-SHM", kError, kElsewhere, kNode, "Ranks of one host don't share /dev/shm") \
  X(kIncVersion, "INC-VERSION", kWarn, kNow, kJob, "Different NCCL releases") \
  X(kIncNDevs, "INC-NDEVS", kError, kNow, kNode, "Fewer usable HCAs than there should be") \
  X(kIncFusion, "INC-FUSION", kWarn, kNow, kJob, "One end fuses HCAs, the other does not") \
  X(kIncQps, "INC-QPS", kWarn, kNow, kJob, "Different numbers of QPs per connection") \
  X(kIncIbTcp, "INC-IBTCP", kError, kNow, kJob, "One rank on InfiniBand, another on TCP") \
  X(kIncRanks, "INC-RANKS", kError, kElsewhere, kJob, "Two processes have one rank, or count different numbers of ranks") \
  X(kIncColl, "INC-COLL", kError, kElsewhere, kJob, "Ranks called different collectives, or other sizes") \
  X(kIncDriver, "INC-DRIVER", kWarn, kNow, kJob, "GPUDirect RDMA on some nodes only") \
  X(kEnvWrong, "ENV-WRONG", kWarn, kNow, kNode, "A variable of this library is misspelt or has a bad value") \
  X(kEnvTypo, "ENV-TYPO", kWarn, kNow, kNode, "A variable of NCCL's is misspelt") \
  X(kEnvOverride, "ENV-OVERRIDE", kWarn, kNow, kNode, "The environment overrides NCCL's configuration file") \
  /* waiting */ \
  /* GPUs: the network has no part in it */ \
  X(kDupGpu, "DUP-GPU", kError, kElsewhere, kNode, "Two ranks were given one GPU") \
  X(kCudaFail, "CUDA-FAIL", kError, kElsewhere, kLocal, "A call to CUDA failed") \
  X(kGpuNvls, "GPU-NVLS", kError, kElsewhere, kNode, "NVLink SHARP can't be set up") \
  X(kHangConnect, "HANG-CONNECT", kError, kNow, kPair, "The peer never connected") \
  X(kInitStuck, "INIT-STUCK", kWarn, kNow, kOpen, "A communicator waits for ranks that have not come") \
  X(kOobBlocked, "OOB-BLOCKED", kError, kNow, kPair, "Ranks can't reach each other's bootstrap address") \
  X(kOobClosed, "OOB-CLOSED", kInfo, kNow, kEcho, "Another rank closed NCCL's own connection to it") \
  X(kOobStore, "OOB-STORE", kError, kElsewhere, kOpen, "PyTorch's ranks don't meet at its store") \
  X(kOobPort, "OOB-PORT", kError, kElsewhere, kNode, "The port where ranks are to meet is taken") \
  X(kOobMesh, "OOB-MESH", kWarn, kElsewhere, kNode, "A service mesh's proxy stands between the ranks") \
  X(kHangRank, "HANG-RANK", kInfo, kNow, kOpen, "Everybody waits for a rank that waits for nobody") \
  X(kHangRing, "HANG-RING", kWarn, kNow, kOpen, "Ranks wait for each other in a ring") \
  X(kHangStopped, "HANG-STOPPED", kWarn, kNow, kOpen, "Everybody waits for a process that is stopped") \
  X(kHangEnded, "HANG-ENDED", kWarn, kNow, kOpen, "Everybody waits for a process that has ended") \
  X(kHangNode, "HANG-NODE", kWarn, kNow, kOpen, "Everybody waits for a node that does not answer") \
  X(kHangData, "HANG-DATA", kError, kNow, kPair, "Requests are outstanding for ever") \
  /* this library's own */ \
  X(kPolicy, "POLICY", kError, kNow, kNode, "The policy is wrong, or can't be enforced") \
  X(kLogLimit, "LOG-LIMIT", kWarn, kNow, kLocal, "The event log reached its size limit") \
  X(kLogDropped, "LOG-DROPPED", kWarn, kNow, kLocal, "Events were not written")
// clang-format on

enum class Cause : std::uint8_t {
#define NCCL_NET_DIAG_X(name, id, severity, named, reach, title) name,
  NCCL_NET_DIAG_CAUSES(NCCL_NET_DIAG_X)
#undef NCCL_NET_DIAG_X
};

struct CauseEntry {
  Cause cause;
  std::string_view id;
  Severity severity;
  Named named;
  Reach reach;
  std::string_view title;
};

inline constexpr auto kCauses = std::to_array<CauseEntry>({
#define NCCL_NET_DIAG_X(name, id, severity, named, reach, title) \
  {Cause::name, id, Severity::severity, Named::named, Reach::reach, title},
    NCCL_NET_DIAG_CAUSES(NCCL_NET_DIAG_X)
#undef NCCL_NET_DIAG_X
});

constexpr const CauseEntry& cause_entry(Cause cause) {
  return kCauses[static_cast<std::size_t>(cause)];
}
constexpr std::string_view cause_id(Cause cause) { return cause_entry(cause).id; }

// None: no such id.
constexpr std::optional<Cause> find_cause(std::string_view id) {
  for (const CauseEntry& entry : kCauses)
    if (entry.id == id) return entry.cause;
  return std::nullopt;
}

constexpr Reach reach_of_cause(std::string_view id) {
  const auto cause = find_cause(id);
  return cause ? cause_entry(*cause).reach : Reach::kOpen;
}

}  // namespace nccl_net_diag
