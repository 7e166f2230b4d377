// Catalogue: making and moving a QP, registering memory, other verbs. Included by catalogue.cc
// only.
#pragma once

#include "diagnosis/catalogue.h"

namespace nnd::diagnosis::catalogue {

using nccl_net_diag::EventId;

inline constexpr Explanation kQp110{
    "On the way to RTR the kernel resolves the peer's address to a MAC, and nobody answered: a "
    "VLAN, "
    "a firewall, a port that is down on the far side, a peer that is gone. Nothing that is known "
    "of "
    "the two addresses explains it, else the cause would be SUB-RAIL or GID-DIFF.",
    "ibv_modify_qp to RTR failed with errno 110.",
    "The kernel could not resolve the remote GID's address. Check that the remote address answers "
    "from this HCA's interface (ping -I <netdev> <remote address>): VLAN, firewall, a port that is "
    "down on the far side. Where rails aren't connected to each other, set NCCL_CROSS_NIC=0 and "
    "use "
    "the same HCAs on every node.",
    EventId::kQpTransition,
    "mlx5_1:1 10.0.1.2: QP 30 could not go from INIT to RTR towards 10.0.1.9: errno 110 "
    "(Connection "
    "timed out) after 1026 ms, attempt 1. NCCL will try again 34 times, which takes a minute or "
    "more."};

inline constexpr Explanation kQp22{
    "The kernel or the HCA rejects an attribute: an index without a GID, GIDs of different "
    "families, "
    "an MTU that is larger than the port's, InfiniBand addressed without a global route where it "
    "needs one.",
    "ibv_modify_qp or the creation of a QP failed with errno 22.",
    "An attribute doesn't fit the port: most often a forced GID index. Unset NCCL_IB_GID_INDEX "
    "(NCCL 2.21 and newer choose well), and compare the GID families and MTU of both ends.",
    EventId::kQpTransition,
    "mlx5_0:1: QP 17 could not go from INIT to RTR: errno 22 (Invalid argument) after 0 ms, "
    "attempt "
    "1. NCCL gives up now."};

inline constexpr Explanation kQp19{
    "The GID's network interface is in another network namespace or no longer there.",
    "ibv_modify_qp to RTR failed with errno 19.",
    "The network interface behind this GID is gone or in another network namespace. Give the "
    "container the interface (RDMA network attachment or host networking), or exclude this HCA "
    "with "
    "NCCL_IB_HCA.",
    EventId::kQpTransition,
    "mlx5_0:1: QP 17 could not go from INIT to RTR: errno 19 (No such device) after 0 ms, attempt "
    "1. "
    "NCCL gives up now."};

inline constexpr Explanation kQp61{
    "The slot of the GID table that NCCL chose has been emptied since: the interface lost its "
    "address "
    "or got another one.",
    "ibv_modify_qp to RTR failed with errno 61.",
    "The GID table slot is empty now: the interface lost or changed its address. Unset "
    "NCCL_IB_GID_INDEX, and find what re-configures the interface (DHCP, NetworkManager).",
    EventId::kQpTransition,
    "mlx5_0:1: QP 17 could not go from INIT to RTR: errno 61 (No data available) after 0 ms, "
    "attempt "
    "1. NCCL gives up now."};

inline constexpr Explanation kQp101{
    "The kernel has no route to the peer's address by this interface.",
    "ibv_modify_qp to RTR failed with errno 101, and the facts of this node do not show why.",
    "There is no route from this HCA's interface to the remote GID. Add the route, or keep NCCL on "
    "one rail: NCCL_CROSS_NIC=0 and the same HCAs on every node.",
    EventId::kQpTransition,
    "mlx5_0:1 10.0.1.2: QP 17 could not go from INIT to RTR towards 10.0.4.9: errno 101 (Network "
    "is "
    "unreachable) after 0 ms, attempt 1. NCCL gives up now."};

inline constexpr Explanation kQp113{
    "There is a route, and the peer or the router on the way doesn't answer for it.",
    "ibv_modify_qp to RTR failed with errno 113, and the facts of this node do not show why.",
    "The remote GID can't be reached from this HCA's interface. Check route and neighbour entry, "
    "or "
    "keep NCCL on one rail: NCCL_CROSS_NIC=0 and the same HCAs on every node.",
    EventId::kQpTransition,
    "mlx5_0:1 10.0.1.2: QP 17 could not go from INIT to RTR towards 10.0.4.9: errno 113 (No route "
    "to "
    "host) after 3070 ms, attempt 1. NCCL gives up now."};

inline constexpr Explanation kQp1{
    "The kernel does not let this process make or move the QP.",
    "A verb on a QP failed with errno 1.",
    "Check capabilities and the container's device rules for /dev/infiniband.", EventId::kQpCreate,
    "mlx5_0: a QP could not be created: errno 1 (Operation not permitted)."};

inline constexpr Explanation kQp13{
    "Access control keeps the QP from this process, SELinux for instance.",
    "A verb on a QP failed with errno 13.",
    "Check SELinux and the container's device rules for /dev/infiniband.", EventId::kQpTransition,
    "mlx5_0:1: QP 17 could not go from RESET to INIT: errno 13 (Permission denied) after 0 ms, "
    "attempt 1. NCCL gives up now."};

inline constexpr Explanation kQp12{
    "The kernel or the HCA had no memory left to move a QP that exists. A QP that can't be created "
    "for want of memory is LIM-MEMLOCK or LIM-MEMLOCK2.",
    "ibv_modify_qp failed with errno 12.",
    "Free memory on this node, or use fewer QPs (NCCL_IB_QPS_PER_CONNECTION, fewer channels); the "
    "kernel's log (dmesg) has the driver's reason.",
    EventId::kQpTransition,
    "mlx5_0:1: QP 17 could not go from INIT to RTR: errno 12 (Cannot allocate memory) after 0 ms, "
    "attempt 1. NCCL gives up now."};

inline constexpr Explanation kQpErrno{
    "A QP could not be made or moved, with an errno that has no entry of its own here. Logs of "
    "earlier versions call it QP- and the number.",
    "The event's field errno has the number.",
    "Look in the kernel's log (dmesg) of this node for the driver's reason.",
    EventId::kQpTransition,
    "mlx5_0:1: QP 17 could not go from RTR to RTS: errno 5 (Input/output error) after 0 ms, "
    "attempt "
    "1. NCCL gives up now."};

inline constexpr Explanation kQpRetry{
    "From 2.24 NCCL repeats a failed move of a QP, 34 times within a minute by default. A variable "
    "makes it more, or makes it repeat errors that no time mends: a dead job looks hung for "
    "longer.",
    "NCCL_IB_MQP_RETRY_ALL, NCCL_IB_MQP_RETRY_CNT and NCCL_IB_MQP_RETRY_SLEEP_MSEC.",
    "Unset it: the default retries for a minute.", EventId::kEnvLint,
    "A QP that can't be connected is retried for 183 s before NCCL says so."};

inline constexpr Explanation kCq12{
    "A completion queue could not be created for want of memory.",
    "Named LIM-MEMLOCK or LIM-MEMLOCK2 here, by the limit on locked memory; CQ-12 where only "
    "NCCL's "
    "log is there, which doesn't tell the limit.",
    "ulimit -l in the job's own shell, and for the daemon that starts it: where that isn't "
    "unlimited, "
    "see LIM-MEMLOCK. Where it is, look at MemFree, and at the kernel's log."};

inline constexpr Explanation kCqErrno{
    "A completion queue could not be made, polled or destroyed. Logs of earlier versions call it "
    "CQ- "
    "and the number.",
    "The event's fields verb and errno.",
    "Look in the kernel's log (dmesg) of this node for the driver's reason.", EventId::kConnFail,
    "The transport's connect returned 2 after 3 ms: ibv_create_cq failed with errno 22 (Invalid "
    "argument)."};

inline constexpr Explanation kMr12{
    "A registration found no memory.",
    "Named LIM-MEMLOCK or LIM-MEMLOCK2 here for host memory, GDR-REGFAIL for a GPU's; MR-12 where "
    "only NCCL's log is there, which doesn't tell the limit.",
    "ulimit -l in the job's own shell, and for the daemon that starts it: where that isn't "
    "unlimited, "
    "see LIM-MEMLOCK. Where it is, memory can't be pinned: look at MemFree, and at the kernel's "
    "log."};

inline constexpr Explanation kMr14{
    "The address to register is not mapped, or not as host memory: GPU memory that nobody "
    "announced "
    "as such, or memory that was freed.",
    "Registering host memory failed with errno 14.",
    "Look at who frees or remaps the buffer; GPU memory needs nvidia-peermem or DMA-BUF.",
    EventId::kMrRegister,
    "mlx5_0: registering 4096 bytes of host memory failed in ibv_reg_mr: errno 14 (Bad address)."};

inline constexpr Explanation kMr22{
    "The driver rejects the registration: size, alignment, or access flags that it doesn't know.",
    "Registering host memory failed with errno 22.",
    "Look in the kernel's log (dmesg) of this node for the driver's reason; "
    "NCCL_IB_PCI_RELAXED_ORDERING=0 takes the one optional flag away.",
    EventId::kMrRegister,
    "mlx5_0: registering 4096 bytes of host memory failed in ibv_reg_mr: errno 22 (Invalid "
    "argument)."};

inline constexpr Explanation kMrErrno{
    "Host memory could not be registered, with an errno that has no entry of its own here. Logs of "
    "earlier versions call it MR- and the number.",
    "The event's field errno has the number.",
    "Look in the kernel's log (dmesg) of this node for the driver's reason.", EventId::kMrRegister,
    "mlx5_0: registering 4096 bytes of host memory failed in ibv_reg_mr: errno 5 (Input/output "
    "error)."};

inline constexpr Explanation kPostErrno{
    "ibv_post_send or ibv_post_recv returned an error: the queue is full, or the QP has left its "
    "working state.",
    "The event's fields verb and errno.",
    "Look for the first error of this connection; the kernel's log (dmesg) may have the driver's "
    "reason.",
    EventId::kConnFail,
    "The transport's isend returned 2 after 80 ms; ibv_post_send failed with errno 12 (Cannot "
    "allocate memory)."};

inline constexpr Explanation kVerbsErrno{
    "A verb that is about neither QPs, CQs nor memory failed, while NCCL made a connection.",
    "The event's fields verb and errno.",
    "Look in the kernel's log (dmesg) of this node for the driver's reason.", EventId::kConnFail,
    "The transport's connect returned 2 after 1 ms; ibv_query_gid failed with errno 5 "
    "(Input/output "
    "error)."};

}  // namespace nnd::diagnosis::catalogue
