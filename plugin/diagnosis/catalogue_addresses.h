// Catalogue: GIDs, subnets, MTU, partitions. Included by catalogue.cc only.
#pragma once

#include "diagnosis/catalogue.h"

namespace nnd::diagnosis::catalogue {

using nccl_net_diag::EventId;

inline constexpr Explanation kGidWrong{
    "NCCL_IB_GID_INDEX is copied from somewhere else, and at this index the port has no GID, a "
    "link-local one or a RoCE v1 one. The index of an address differs between nodes, and changes.",
    "The port's GID table at the forced index.",
    "Unset NCCL_IB_GID_INDEX: NCCL finds a good GID by itself from 2.21 on.", EventId::kEnvLint,
    "There is no GID at this index on mlx5_4:1."};

inline constexpr Explanation kGidLinkLocal{
    "No GID fits what NCCL looks for (IPv4 and RoCE v2 by default), so it stays at index 0, which "
    "is "
    "link-local: good within one Ethernet segment, and nowhere else.",
    "The GID that NCCL picks is in fe80::/10 (or 169.254/16) and was not forced.",
    "Give the interface an IP address; where the fabric is IPv6, NCCL_IB_ADDR_FAMILY=AF_INET6.",
    EventId::kPolicyWarn,
    "mlx5_3:1: NCCL uses the link-local GID fe80::ba59:9fff:fe2d:3bb2 at index 0 (no GID fits)."};

inline constexpr Explanation kGidV1{
    "RoCE v1 has no IP header: it works within one VLAN and is not routed. A v2 peer doesn't hear "
    "it.",
    "The type of the GID that NCCL picks, in gid_attrs/types.",
    "Look at NCCL_IB_GID_INDEX and NCCL_IB_ROCE_VERSION_NUM; give the interface an IP address.",
    EventId::kPolicyWarn,
    "mlx5_3:1: NCCL uses the RoCE v1 GID ::ffff:10.200.3.1 at index 2 (forced)."};

inline constexpr Explanation kGidDiff{
    "One end sends from an IPv4 GID and the other from an IPv6 or link-local one, or one is RoCE "
    "v1 "
    "and the other v2. The kernel rejects the QP, or no packet arrives.",
    "Both GIDs of a QP that goes to RTR; the RoCE version also by the peer's handle.",
    "Give every HCA an address of the same family, set NCCL_IB_ADDR_FAMILY and "
    "NCCL_IB_ROCE_VERSION_NUM alike, and leave NCCL_IB_GID_INDEX unset.",
    EventId::kPolicyRefuse,
    "local mlx5_0:1 10.0.1.2/24, remote fe80::1: the address families differ, one end picked "
    "another "
    "kind of GID."};

inline constexpr Explanation kGidChange{
    "An address of the interface went, came, or moved to another index. QPs keep the index that "
    "they "
    "were made with: they fail, at once or minutes later, or move nothing more.",
    "The HCA's GID change event.",
    "Find what re-configures the interface's addresses (DHCP, NetworkManager, container start and "
    "stop) and stop it while jobs run.",
    EventId::kPortEvent,
    "The GID table of mlx5_2:1 changed; QPs that use a GID index whose address moved will fail."};

inline constexpr Explanation kGidCont{
    "In this network namespace the HCA has no GID, or NCCL can't read the GID's type: the "
    "container's network is not the RDMA device's, or /sys is not mounted.",
    "The GID table is empty, the slot that NCCL looks at is, or reading gid_attrs fails.",
    "Give the container a network of its own RDMA device or the host's network, and mount /sys.",
    EventId::kPolicyWarn, "mlx5_0:1 has no GID here (0 of 255)."};

inline constexpr Explanation kSubRail{
    "The two ends of a connection are in different subnets, and the kernel has no way from this "
    "HCA's interface to the peer. NCCL pairs HCAs without a look at subnets: one node is a rail "
    "short (a port that is down, a slow link or slot) and uses others than its peers, an address "
    "or "
    "a mask is wrong, the nodes number their HCAs differently, an odd HCA took part, or NCCL "
    "crosses "
    "rails. NCCL alone retries for a minute and then reports errno 110.",
    "The two GIDs at the move to RTR, the prefix of the local address and all routes by its "
    "interface. Also where two known rails differ and the policy forbids it.",
    "Compare the two nodes, by `nccl-net-diag check` on each and `nccl-net-diag ping` between "
    "them: "
    "leave an HCA that one of them lacks, or has at less speed, out on every node with "
    "NCCL_IB_HCA; "
    "correct the address or the mask that is not like the other rails'; cable and number alike. "
    "Only "
    "where they are alike: the same number of GPUs on each, and NCCL_CROSS_NIC=0. Or route between "
    "these subnets.",
    EventId::kPolicyWarn,
    "local mlx5_1:1 10.0.1.2/24, remote 10.0.4.9: another subnet, and no route leaves by ens2."};

inline constexpr Explanation kSubDirect{
    "Nodes are joined by cables without a switch, and each cable is a subnet. NCCL pairs by index.",
    "Two ends have no route to each other, and every HCA of this node is in a subnet of its own "
    "with "
    "two addresses (/30, /31). Wider subnets are SUB-RAIL.",
    "NCCL_IB_SUBNET_AWARE_ROUTING=1 where NCCL has it (2.30.7); before, name with NCCL_IB_HCA on "
    "both "
    "nodes the HCA of one cable alone, or cable equal numbers.",
    EventId::kPolicyWarn,
    "local mlx5_0:1 10.77.0.1/30, remote 10.77.1.2: another subnet, and no route leaves by ens1, "
    "and "
    "the peer is in the subnet of mlx5_1:1."};

inline constexpr Explanation kSubSame{
    "Several interfaces of one node are in one subnet. With arp_ignore=0 Linux answers ARP for any "
    "of "
    "them, and the answer of the wrong one sends traffic to the wrong port; with rp_filter=1 all "
    "but "
    "one answer nobody.",
    "A QP could not go to RTR with errno 110, 101 or 113, or failed with status 12 and had never "
    "worked; both ends and another HCA's interface are in one subnet; and the settings of this "
    "node, "
    "which the peer is assumed to have too, are so. No warning where nothing failed: one flat "
    "network "
    "works with them.",
    "Set arp_ignore=1, arp_announce=2 and rp_filter=2 for these interfaces on all nodes, with a "
    "routing rule for each; or give each rail a subnet.",
    EventId::kQpTransition,
    "mlx5_0:1 10.200.0.1: QP 30 could not go from INIT to RTR towards 10.200.0.3: errno 110 "
    "(Connection timed out) after 1012 ms, attempt 1; eth0, eth1 are all in 10.200.0.0/24, with "
    "arp_ignore=0 on eth0."};

inline constexpr Explanation kSubIntra{
    "NCCL goes through the network within one node, and the node's HCAs can't reach each other, as "
    "where each rail is a network of its own, or a bond of another network takes part.",
    "Both GIDs of a QP that goes to RTR are this node's own, and they are in different subnets "
    "with "
    "no route by the local one's interface; or such a QP fails; or pair.local forbids such a pair.",
    "Where the GPUs reach each other by P2P or shared memory, NCCL_NET_DISABLE_INTRA=1; where "
    "these "
    "are turned off (NCCL_P2P_DISABLE, NCCL_SHM_DISABLE), turn them on. Else keep NCCL to HCAs "
    "that "
    "reach each other (NCCL_IB_HCA), or route between their subnets.",
    EventId::kPolicyWarn,
    "local mlx5_0:1 10.0.1.1/24, remote this node's own mlx5_bond_0:1 (bond0 over eno1, eno2) "
    "10.9.9.1 in 10.9.9.0/24: another subnet, and no route leaves by ens1."};

inline constexpr Explanation kRoceTc{
    "RoCE needs the traffic class that the switches treat as lossless. In another one it works "
    "until "
    "there is load, and then stalls and fails with status 12.",
    "The traffic class that NCCL asks for at RTR against the policy's roce.traffic_class. Without "
    "that key nothing here knows the right one; conn.ready has it of each QP, and ends of a "
    "connection that don't have the same say so (NCCL_NET_DIAG_PEERS=on).",
    "Set NCCL_IB_TC as the fabric's operator says.", EventId::kPolicyWarn,
    "mlx5_0:1 sends to 10.0.1.9 in traffic class 0, and the policy asks for 106."};

inline constexpr Explanation kMtuDiff{
    "The ports of a job do not have one MTU. NCCL takes the smaller one, which costs bandwidth; "
    "where "
    "a release gets it wrong, or a switch has less, large messages fail (status 1, 2 or 9) or "
    "hang.",
    "A port's MTU against most of its siblings' or the policy's; the MTU that NCCL asks for at RTR "
    "against the port's.",
    "Give every HCA and switch the same MTU.", EventId::kPolicyWarn,
    "mlx5_0:1 has an MTU of 4096, this connection of 1024: the port of this peer, or of one that "
    "NCCL "
    "met before it, has a smaller one."};

inline constexpr Explanation kPkey{
    "InfiniBand ends talk only where both have the same partition key and at least one is a full "
    "member. NCCL uses the one at index NCCL_IB_PKEY, 0 by default.",
    "The port's key table: that index is empty, or holds a limited member's key.",
    "Set NCCL_IB_PKEY to the index of a full member's key, or ask the subnet manager for full "
    "membership.",
    EventId::kPolicyWarn, "mlx5_0:1: the partition key at index 0 is 0x7fff, a limited member."};

inline constexpr Explanation kIbFlid{
    "The ends are in different InfiniBand subnets and the peer's router LID is zero: NCCL falls "
    "back "
    "to the plain LID, which the router doesn't forward.",
    "Both GIDs of a QP that goes to RTR: their prefixes differ, and the peer's has no FLID in it.",
    "Configure the router's FLIDs in the subnet manager, or keep the job in one subnet.",
    EventId::kPolicyWarn,
    "local mlx5_0:1 is in fec0:0:0:1::/64, remote fec0:0:0:2:25e:0:1:0 in another InfiniBand "
    "subnet, "
    "and it has no FLID: NCCL addresses it by its plain LID, which no router forwards."};

inline constexpr Explanation kIbNoSm{
    "An InfiniBand port without a LID can't be addressed: no subnet manager has configured it.",
    "The port is ACTIVE and its LID is 0.", "Look for the subnet manager (sminfo).",
    EventId::kPolicyWarn, "mlx5_0:1 is active and has no LID."};

}  // namespace nnd::diagnosis::catalogue
