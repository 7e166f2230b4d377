// Catalogue: which HCAs NCCL uses. Included by catalogue.cc only.
#pragma once

#include "diagnosis/catalogue.h"

namespace nnd::diagnosis::catalogue {

using nccl_net_diag::EventId;

inline constexpr Explanation kDevBond{
    "A bond (LAG) is an active RoCE device like any other, so NCCL takes it. Where the other HCAs "
    "are "
    "plain, it is mostly the storage or front-end network: slower, in another subnet, and no peer "
    "can be reached over it. The job hangs, or dies with errno 110 or status 12.",
    "The HCA's interface is a bond or enslaved to one, the node's compute HCAs are none, and it "
    "differs from them in speed, subnet, nearness to the GPUs or by the default route. A fleet of "
    "bonds is left alone. Also where the policy denies bonds.",
    "Leave it out: NCCL_IB_HCA=^=mlx5_bond_0, or the list that the event proposes; "
    "NCCL_NET_DIAG_MODE=enforce does it by itself.",
    EventId::kPolicyWarn,
    "mlx5_bond_0 is over the bond bond0 (eno1, eno2) and unlike the 8 plain HCAs: 25 Gbit/s where "
    "most have 400 Gbit/s, the default route. It is probably the storage or front-end bond."};

inline constexpr Explanation kDevMgmt{
    "Every active port is a candidate for NCCL, that of the storage, management or cloud network "
    "too. Rings over it are slow or broken.",
    "It differs from the compute HCAs (docs/policy.md) in two of these or more: speed, subnet and "
    "no route, default route, nearness to the GPUs, being no bond. One alone is told and never "
    "refused.",
    "Leave it out with NCCL_IB_HCA, or allow it in the policy where it is meant.",
    EventId::kPolicyWarn,
    "mlx5_8:1 is not one of the 8 compute HCAs: 200 Gbit/s where most have 400 Gbit/s, subnet "
    "172.16.0.0/16 where the others are in 10.200.0.0/16. It is probably the storage or front-end "
    "network's."};

inline constexpr Explanation kDevDenied{
    "The site's policy does not want this HCA for NCCL: by name, or by the subnet of its address.",
    "hca.deny names it, hca.allow does not, or the GID that NCCL picks is in none of roce.subnets.",
    "Leave it out with NCCL_IB_HCA, or change the policy file.", EventId::kPolicyRefuse,
    "mlx5_3 is denied by the policy."};

inline constexpr Explanation kDevDown{
    "A port that is not up. NCCL skips one that isn't ACTIVE without a word, and the node then has "
    "fewer rails than its peers. A port can also be ACTIVE while its link is not; that one is "
    "used.",
    "The port is ACTIVE and its physical state is not LinkUp; or it is not ACTIVE and was meant to "
    "be: "
    "it is beside a GPU that has fewer rails than most, as the same port of its siblings is beside "
    "theirs; its interface has an address as all its siblings of the same make do, one subnet a "
    "port; no HCA is beside a GPU, as in virtual machines, and with it there is one of its make "
    "for "
    "each GPU; or it is InfiniBand whose link is up. Other ports that NCCL skips have the state "
    "among the reasons of their hca.port event.",
    "Look at the cable, the module and the switch port. Until then run jobs without the node, or "
    "leave the rail out on every node (NCCL_IB_HCA): else NCCL pairs the node's rails with others.",
    EventId::kPolicyWarn, "mlx5_4:1 is ACTIVE, and its physical state is Polling: NCCL takes it."};

inline constexpr Explanation kDevFallback{
    "NCCL found no HCA that it can use, or its transport failed to start, and goes on over TCP: "
    "the "
    "job runs at a fraction of its speed, and nothing but a line at INFO says so.",
    "RDMA hardware is on the PCI bus, in sysfs or in verbs' list, and NCCL can use none of it; "
    "NCCL_IB_DISABLE or NCCL_NET=Socket is set although there are HCAs; the transport's init "
    "failed.",
    "Give the container /dev/infiniband and rdma-core, or look at the ports.", EventId::kPolicyWarn,
    "8 RDMA-capable functions are on the PCI bus and no RDMA device: NCCL will run over TCP."};

inline constexpr Explanation kDevPlugin{
    "NCCL uses another net plugin than was meant, or this one wraps nothing: HPC-X and cloud "
    "images "
    "bring a libnccl-net.so, NCCL 2.28.3 to 2.29.7 forget a plugin between communicators, and an "
    "NCCL that is newer than this library has a net API that it doesn't know.",
    "plugin.load finds no transport to wrap, or an NCCL that forgets the plugin while "
    "NCCL_NET_PLUGIN_REF_COUNT is not 1.",
    "Set NCCL_NET_PLUGIN_REF_COUNT=1 in the job's environment; name what is to be wrapped in "
    "NCCL_NET_DIAG_INNER.",
    EventId::kPluginLoad,
    "NCCL 2.28.9 forgets its net plugin when the last communicator is destroyed; the next "
    "communicator then runs without it"};

inline constexpr Explanation kDevNoPci{
    "The HCA's device link in sysfs leads nowhere, as with software RDMA and in some containers. "
    "NCCL 2.20 to 2.23 compare PCI paths without a check and crash in their own init.",
    "/sys/class/infiniband/<hca>/device does not resolve, NCCL would take the HCA, and the release "
    "is "
    "one of those.",
    "Exclude it with NCCL_IB_HCA, mount /sys, or use NCCL 2.24 or newer.", EventId::kPolicyWarn,
    "rxe0 has no device path in sysfs, and NCCL 2.22 crashes on such a device."};

inline constexpr Explanation kGinNoDev{
    "NCCL 2.28.7 and 2.28.9 choose a backend for GPU-initiated networking in a way that crashes "
    "where no HCA is an mlx5 one. Under this library the choice is its own, and does not crash.",
    "Not here: the process would have ended before a line was written.",
    "Without this library: NCCL_GIN_TYPE=2, or NCCL 2.29 and newer."};

inline constexpr Explanation kDevPrefix{
    "Names in NCCL_IB_HCA are prefixes unless the list starts with =, and ^ and = count only once, "
    "at the start of the whole list. What doesn't match is dropped silently.",
    "The variable is read as NCCL reads it, and compared with the HCAs of the node: an entry that "
    "matches more than its name, or nothing; a second ^ or =; a space.",
    "Write NCCL_IB_HCA==mlx5_0,mlx5_1 for exact names, NCCL_IB_HCA=^=mlx5_bond_0 to exclude.",
    EventId::kEnvLint, "\"mlx5_1\" also matches mlx5_10, mlx5_11: names are prefixes."};

inline constexpr Explanation kDevMerge{
    "NCCL fuses the ports of one card into one device, and takes a physical and a virtual function "
    "of the same card for such ports. Peers that fuse otherwise are paired wrongly.",
    "A virtual function is used beside its physical one; one that has no address in this network "
    "namespace, where the other has, is not meant. Or NCCL_IB_MERGE_NICS is 0 for NCCL 2.24 or "
    "2.25, which then fail where a card has two ports.",
    "Exclude one of the two with NCCL_IB_HCA, or set NCCL_IB_MERGE_NICS=0 (NCCL 2.24 and 2.25: "
    "NCCL_NET_MERGE_LEVEL=LOC, too).",
    EventId::kPolicyWarn,
    "mlx5_8 is a virtual function of mlx5_0, and both are used: NCCL may fuse them."};

inline constexpr Explanation kDevMixLl{
    "InfiniBand and RoCE ports are used together, and NCCL may pair one with the other: such a "
    "pair "
    "can never talk. From 2.19 NCCL refuses it at connect, before only the QP fails.",
    "The link layers of the HCAs that NCCL takes differ; or those of the two ends of a connection, "
    "by the handle that the peer sent or by how NCCL addresses it.",
    "Select HCAs of one link layer with NCCL_IB_HCA.", EventId::kPolicyRefuse,
    "mlx5_0:1 is InfiniBand, the peer's port is Ethernet."};

inline constexpr Explanation kDevOrder{
    "Device 2 of one node is on another rail than device 2 of the next: other names, one NIC more, "
    "another order of the PCI bus. Pairs by number then cross rails.",
    "Compare the hca.port events of the nodes: name, speed and subnet by index.",
    "Cable equal numbers to one rail on every node; or leave out with NCCL_IB_HCA what makes the "
    "difference. The order in which NCCL_IB_HCA names them changes nothing."};

inline constexpr Explanation kDevUnusable{
    "verbs lists the HCA and can't open it: the container has sysfs of all HCAs and the device "
    "node "
    "of some. A container that was simply given the others is not reported.",
    "ibv_open_device failed with an errno; the state of /dev/infiniband/uverbsN says why.",
    "Give the container /dev/infiniband, or exclude the device with NCCL_IB_HCA.",
    EventId::kPolicyWarn,
    "mlx5_5 is listed but can't be opened (Operation not permitted); the device cgroup keeps its "
    "device node from this process."};

inline constexpr Explanation kDevSlow{
    "A link that trained at a lower rate, or a card in a narrow or slow PCIe slot. Collectives run "
    "at the speed of the slowest rail.",
    "Less than three quarters (hca.slow_percent) of the siblings' median rate; less than the "
    "policy asks for; a PCIe link below its maximum and below the siblings'. One that is beside "
    "its own GPU, as the others are beside theirs, is a rail whatever else is odd about it.",
    "Look at the cable, the module, the switch port or the slot. Until then run jobs without the "
    "node, or leave the rail out on every node (NCCL_IB_HCA): else NCCL pairs the node's rails "
    "with others.",
    EventId::kPolicyWarn,
    "mlx5_2:1 runs at 200 Gbit/s, its siblings at 400 Gbit/s: the node is a rail short, and NCCL "
    "may pair its rails with other rails of whole nodes."};

inline constexpr Explanation kDevOob{
    "Ranks first meet over TCP by an interface that NCCL picks by name and order: a container "
    "bridge, a VPN, a virtual machine's network. Its address means nothing on another node.",
    "NCCL_SOCKET_IFNAME names such an interface, or none that is here; or it is unset and NCCL's "
    "own "
    "choice is such an interface.",
    "Name the interface that joins the nodes in NCCL_SOCKET_IFNAME.", EventId::kEnvLint,
    "docker0 is a container, bridge or VPN interface: peers may not reach it."};

inline constexpr Explanation kDevLimit{
    "NCCL stops after 32 devices (16 in 2.18) and does not say which it left out.",
    "More ports are usable than NCCL's limit; those beyond it are skipped in hca.port.",
    "Name the devices that are meant in NCCL_IB_HCA.", EventId::kHcaPort,
    "NCCL stops at 32 devices, and leaves out mlx5_33 and what follows."};

}  // namespace nnd::diagnosis::catalogue
