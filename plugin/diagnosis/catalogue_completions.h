// Catalogue: failed completions, and what happens to a device on its own. Included by catalogue.cc
// only. A vendor error is the HCA's own number; those of mlx5 are given.
#pragma once

#include "diagnosis/catalogue.h"

namespace nnd::diagnosis::catalogue {

using nccl_net_diag::EventId;

inline constexpr Explanation kWc1{
    "A message is longer than what the QP or the posted receive takes: MTUs that differ, or two "
    "NCCL "
    "releases that disagree.",
    "A completion with status 1.",
    "The message doesn't fit the QP: compare the MTU of both ends and the NCCL versions.",
    EventId::kWcError,
    "mlx5_0:1 10.0.1.2: QP 12 towards 10.0.1.9 failed with status 1 LOC_LEN_ERR, vendor error 105 "
    "(0x69); it had worked: 812 work requests completed, the last 2 ms ago."};

inline constexpr Explanation kWc2{
    "The HCA found the QP itself unfit for the request: the address that it sends from is gone "
    "from "
    "the GID table, an MTU doesn't fit, or the state of the QP is inconsistent.",
    "A completion with status 2.",
    "Look for a GID change of this port (port.event) and compare the MTU of both ends; the QP has "
    "to "
    "be made anew.",
    EventId::kWcError,
    "mlx5_0:1 10.0.1.2: QP 12 towards 10.0.1.9 failed with status 2 LOC_QP_OP_ERR, vendor error 0 "
    "(0x0); it had worked: 96 work requests completed, the last 10 ms ago."};

inline constexpr Explanation kWc4{
    "The HCA may not reach the memory that the request names. With GPU memory: PCIe ACS or an "
    "IOMMU "
    "between GPU and HCA, a virtual machine without ATS. With host memory: a registration that is "
    "gone.",
    "A completion with status 4 (vendor error 81, 0x51).",
    "The HCA could not reach local memory: with GPU memory usually PCIe ACS or an IOMMU that "
    "translates. Disable ACS, set iommu=pt; NCCL_NET_GDR_LEVEL=LOC shows whether GPUDirect is the "
    "reason.",
    EventId::kWcError,
    "mlx5_0:1 10.0.1.2: QP 12 towards 10.0.1.9 failed with status 4 LOC_PROT_ERR, vendor error 81 "
    "(0x51); no work request ever completed on it."};

inline constexpr Explanation kWc5{
    "The QP was in the error state, and the HCA hands back what was queued. It is a consequence; "
    "where this process saw the first error, the event carries that one's cause.",
    "A completion with status 5 (vendor error 249, 0xf9) and no error before it on this "
    "connection.",
    "A flush is a consequence: the QP had left its working state before. Look for the first error "
    "of "
    "the peer, of the device, or of another QP of this connection.",
    EventId::kWcError,
    "mlx5_0:1 10.0.1.2: QP 12 towards 10.0.1.9 failed with status 5 WR_FLUSH_ERR, vendor error 249 "
    "(0xf9); it had worked: 96 work requests completed, the last 31 ms ago."};

inline constexpr Explanation kWc7{
    "The answer does not belong to any request: packets of another QP, or a fault of the HCA.",
    "A completion with status 7.",
    "Look in the kernel's logs (dmesg) of both nodes for the drivers' reason, and compare firmware "
    "versions.",
    EventId::kWcError,
    "mlx5_0:1 10.0.1.2: QP 12 towards 10.0.1.9 failed with status 7 BAD_RESP_ERR, vendor error 0 "
    "(0x0); it had worked: 96 work requests completed, the last 31 ms ago."};

inline constexpr Explanation kWc8{
    "Received data could not be written to local memory, for the reasons of WC-4.",
    "A completion with status 8.",
    "The HCA could not reach local memory: with GPU memory usually PCIe ACS or an IOMMU that "
    "translates. Disable ACS, set iommu=pt; NCCL_NET_GDR_LEVEL=LOC shows whether GPUDirect is the "
    "reason.",
    EventId::kWcError,
    "mlx5_0:1 10.0.1.2: QP 12 towards 10.0.1.9 failed with status 8 LOC_ACCESS_ERR, vendor error "
    "82 "
    "(0x52); no work request ever completed on it."};

inline constexpr Explanation kWc9{
    "The peer's HCA takes the request for malformed: memory that is no longer registered, a QP "
    "without the right to write, a message beyond its limits, MTUs that differ.",
    "A completion with status 9 (vendor error 138, 0x8a).",
    "The peer's HCA refused the request: compare the MTU of both ends and the NCCL versions of all "
    "ranks, and read the peer's log.",
    EventId::kWcError,
    "mlx5_0:1 10.0.1.2: QP 12 towards 10.0.1.9 failed with status 9 REM_INV_REQ_ERR, vendor error "
    "138 "
    "(0x8a); it had worked: 5120 work requests completed, the last 2 ms ago."};

inline constexpr Explanation kWc10{
    "The peer's memory registration is gone or doesn't allow the access: a buffer that was freed "
    "while a collective was under way, or ranks that disagree.",
    "A completion with status 10 (vendor error 136, 0x88).",
    "The peer's HCA refused the request: its memory registration is gone or doesn't allow it. Look "
    "at the peer's log, and that all ranks run the same NCCL version.",
    EventId::kWcError,
    "mlx5_0:1 10.0.1.2: QP 12 towards 10.0.1.9 failed with status 10 REM_ACCESS_ERR, vendor error "
    "136 "
    "(0x88); it had worked: 5120 work requests completed, the last 2 ms ago."};

inline constexpr Explanation kWc11{
    "The peer's HCA took the request and could not complete it: a fault over there.",
    "A completion with status 11 (vendor error 137, 0x89).",
    "Look at the peer's log and at the kernel's log (dmesg) of its node.", EventId::kWcError,
    "mlx5_0:1 10.0.1.2: QP 12 towards 10.0.1.9 failed with status 11 REM_OP_ERR, vendor error 137 "
    "(0x89); it had worked: 5120 work requests completed, the last 2 ms ago."};

inline constexpr Explanation kWc12{
    "The HCA sent the same packet until its retries were used up, and no answer came. Never "
    "worked: "
    "there is no path, by address, VLAN, MTU, traffic class or partition. Worked, then died: a "
    "link, "
    "the peer's process or its node went.",
    "A completion with status 12 (vendor error 129, 0x81). The sentence says which of the two, by "
    "the "
    "work requests that had completed.",
    "Look for a link that flapped, a peer process or node that died, and the switch ports between "
    "the "
    "two. The side that reports isn't necessarily the faulty one: read the peer's log first.",
    EventId::kWcError,
    "mlx5_1:1 10.0.1.2: QP 753 towards 10.0.1.9 failed with status 12 RETRY_EXC_ERR, vendor error "
    "129 "
    "(0x81); it had worked: 118402 work requests completed, the last 30400 ms ago."};

inline constexpr Explanation kWc13{
    "The peer had no receive posted for longer than the retries last. NCCL asks for endless "
    "retries, "
    "so the QP was set up otherwise.",
    "A completion with status 13.",
    "The peer had no receive posted and NCCL's endless RNR retry wasn't in force: look at the "
    "effective rnr_retry of this QP.",
    EventId::kWcError,
    "mlx5_0:1 10.0.1.2: QP 12 towards 10.0.1.9 failed with status 13 RNR_RETRY_EXC_ERR, vendor "
    "error "
    "135 (0x87); it had worked: 96 work requests completed, the last 31 ms ago."};

inline constexpr Explanation kWc19{
    "The HCA or its driver stopped working for this QP.", "A completion with status 19.",
    "Look in the kernel's log (dmesg) of this node for the driver's reason; reset the HCA before "
    "the "
    "next job.",
    EventId::kWcError,
    "mlx5_0:1 10.0.1.2: QP 12 towards 10.0.1.9 failed with status 19 FATAL_ERR, vendor error 0 "
    "(0x0); "
    "it had worked: 96 work requests completed, the last 31 ms ago."};

inline constexpr Explanation kWc21{
    "The driver reports an error without a status of its own.", "A completion with status 21.",
    "Look in the kernel's logs (dmesg) of both nodes for the drivers' reason.", EventId::kWcError,
    "mlx5_0:1 10.0.1.2: QP 12 towards 10.0.1.9 failed with status 21 GENERAL_ERR, vendor error 0 "
    "(0x0); no work request ever completed on it."};

inline constexpr Explanation kWcStatus{
    "A work request failed with a status that has no entry of its own here. Logs of earlier "
    "versions "
    "call it WC- and the number.",
    "The event's field wc.status has the number, wc.status_name its name.",
    "Look in the kernel's logs (dmesg) of both nodes for the drivers' reason.", EventId::kWcError,
    "mlx5_0:1 10.0.1.2: QP 12 towards 10.0.1.9 failed with status 20 RESP_TIMEOUT_ERR, vendor "
    "error 0 "
    "(0x0); no work request ever completed on it."};

inline constexpr Explanation kAsyncFatal{
    "The HCA reports a catastrophic error of the device, of a QP or of a completion queue. NCCL "
    "ends the communicator.",
    "The asynchronous events DEVICE_FATAL, CQ_ERR, SRQ_ERR, QP_FATAL, QP_REQ_ERR, QP_ACCESS_ERR "
    "and "
    "PATH_MIG_ERR.",
    "NCCL treats this as fatal. Look in the kernel's log (dmesg) of this node for the driver's "
    "reason.",
    EventId::kPortEvent, "mlx5_0 reported device fatal."};

inline constexpr Explanation kAsyncPort{
    "A link went down. Connections survive where it is back before their retries are used up, some "
    "30 s with NCCL's defaults.",
    "The asynchronous event PORT_ERR. That the port came back is an info event.",
    "Look at the cable, the transceiver and the switch port of this link; connections on it fail "
    "unless it is back within their retry time.",
    EventId::kPortEvent, "mlx5_3:1 went down."};

inline constexpr Explanation kLinkFlap{
    "How long a QP retransmits is 4.096 us times 2 to the power of NCCL_IB_TIMEOUT, times "
    "NCCL_IB_RETRY_CNT: 30 s with NCCL's defaults. Less, and a short flap of a link ends the job; "
    "for "
    "ever, and a dead peer is never noticed. The fields have three and five bits.",
    "NCCL_IB_TIMEOUT and NCCL_IB_RETRY_CNT.",
    "NCCL_IB_TIMEOUT=20 and NCCL_IB_RETRY_CNT=7 give 30 s.", EventId::kEnvLint,
    "Retransmissions end after 3.8 s: a short flap of a link fails the job."};

inline constexpr Explanation kLongDistance{
    "Packets are lost or late and sent again, and everything still completes: congestion, a bad "
    "cable, a long way. The job is slow.",
    "A port's counters within half a minute: packets sent again or dropped are a hundredth of "
    "those moved, or ten acknowledgements were late. They count for all processes of the port.",
    "Look at flow control and congestion control of the switches on the way, and at the cables.",
    EventId::kPortEvent,
    "mlx5_0:1 has counted packet_seq_err +5210 within 30 s, in which it moved 182034 packets; a "
    "port "
    "counts for all who use it."};

inline constexpr Explanation kLinkErrors{
    "The cable, its transceivers or a switch port damage packets. What is damaged is sent again, "
    "until a QP runs out of retries.",
    "The port's counters of symbol errors, link errors and checksums grew by ten within half a "
    "minute.",
    "Clean or replace the cable and its transceivers, and look at the switch port's counters.",
    EventId::kPortEvent,
    "mlx5_0:1 has counted symbol_error +214 within 30 s; a port counts for all who use it."};

inline constexpr Explanation kDevSilent{
    "A file of the HCA's in sysfs is being read and the read doesn't return: mostly its firmware "
    "does not answer the driver any more.",
    "Reading the port's counters has taken ten seconds.",
    "Look in the kernel's log (dmesg) for the driver's words on commands and health, and reset or "
    "drain the node.",
    EventId::kPortEvent, "Reading the counters of mlx5_0:1 has not ended for 12 s."};

}  // namespace nnd::diagnosis::catalogue
