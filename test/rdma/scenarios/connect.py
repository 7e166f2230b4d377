"""Connections that the kernel refuses at INIT to RTR. The receiver moves its QPs first, so it is the one that fails; the sender
waits for an answer that never comes. Those whose cause depends on the peer being another machine are in two_hosts.py."""
from lab import fabric
from lab.events import expect, of, refused_rtr, transitions
from lab.scenario import scenario

A0, B0, B1, BOND1 = "10.1.0.1", "10.1.0.2", "10.1.1.2", "10.2.0.2"


def refuse(connection, errno, dev, local, remote):
    """Opens it: the receiver is refused, and says so with its connection's end; so does the sender, which knows less. The first
    refused transition."""
    connection.refused()
    receiver = connection.receiver
    first = refused_rtr(receiver, errno, dev, fabric.gid_text(local), fabric.gid_text(remote))
    ends = of(receiver.events(), "conn.fail")
    expect(len(ends) == 1 and ends[0]["sev"] == "error" and ends[0]["conn"] == first["conn"], "no end of it", ends)
    expect(ends[0]["errno"] == errno and ends[0]["dev"]["name"] == dev, "the end has another errno or device", ends)
    expect(ends[0]["mono_ns"] > first["mono_ns"], "the cause came after the end", [first, *ends])
    lost = of(connection.sender.events(), "conn.fail")
    expect(len(lost) == 1 and lost[0]["link"] == first["link"], "the sender did not tell the end of the same link", lost)
    expect(not transitions(connection.sender.events(), "RTR", failed=True), "the sender was refused too")
    return first


@scenario
def rail_to_bond(lab):
    """the field's case, rail to bond: 110, named before NCCL's first attempt has ended"""
    connection = lab.pair("mlx5_0", "mlx5_bond_1", {"NCCL_IB_MQP_RETRY_CNT": "3"})
    first = refuse(connection, 110, "mlx5_bond_1", BOND1, A0)
    failed = transitions(connection.receiver.events(), "RTR", failed=True)
    expect(failed[-1]["qp"]["attempt"] == 4, "the last attempt is not the fourth", failed)
    expect(first["dev"]["subnet"] == "10.2.0.0/24" and first["peer"]["subnet"] == "10.1.0.0/24", "no subnets", [first])
    expect(first["dev"]["netdev"] == "bond1", "wrong netdev", [first])
    began_ns = first["mono_ns"] - first["dur_us"] * 1000
    warned = [event for event in of(connection.receiver.events(), "policy.warn") if event.get("failure") == first["failure"]]
    expect(warned and warned[0]["mono_ns"] - began_ns < 1e9, "no warning within a second of the first attempt", [*warned, first])
    expect(warned[0]["dev"]["name"] == "mlx5_bond_1" and warned[0]["peer"]["gid"] == fabric.gid_text(A0) and warned[0]["fix"],
           "the warning does not name both ends and what to do", warned)


@scenario
def bond_to_rail(lab):
    """the same the other way"""
    refuse(lab.pair("mlx5_bond_1", "mlx5_0"), 110, "mlx5_0", A0, BOND1)


@scenario
def no_route(lab):
    """rail 0 to rail 1, nothing between them: 110"""
    refuse(lab.pair("mlx5_3", "mlx5_0"), 110, "mlx5_0", A0, B1)


@scenario
def route_by_another_nic(lab):
    """the route to the peer leaves by another NIC than the GID's: 110"""
    lab.change(["route add 10.2.0.0/24 dev a1 table 101"], ["route del 10.2.0.0/24 dev a1 table 101"])
    refuse(lab.pair("mlx5_bond_1", "mlx5_0"), 110, "mlx5_0", A0, BOND1)


@scenario
def peer_interface_down(lab):
    """the peer's interface goes down after its GID was sent: 110"""
    connection = lab.pair("mlx5_2", "mlx5_0")
    lab.netdev_down("b0")
    refuse(connection, 110, "mlx5_0", A0, B0)


@scenario
def own_interface_down(lab):
    """the own interface goes down before the connection: 101"""
    connection = lab.pair("mlx5_2", "mlx5_0")
    lab.netdev_down("a0")
    refuse(connection, 101, "mlx5_0", A0, B0)


@scenario
def ipv6_other_prefix(lab):
    """IPv6 GIDs of two prefixes: 101 at once"""
    own, other = lab.address("a0", "2001:db8:1::1/64"), lab.address("b0", "2001:db8:2::1/64")
    indexes = tuple({"NCCL_IB_GID_INDEX": str(fabric.gid_index(*ends))} for ends in (("mlx5_2", other), ("mlx5_0", own)))
    first = refuse(lab.pair("mlx5_2", "mlx5_0", indexes), 101, "mlx5_0", own, other)
    attempts = [event for event in of(lab.ranks[1].events(), "qp.transition") if event["rc"] != 0]
    expect(len(attempts) == 1, "NCCL retried what is not ETIMEDOUT", attempts)
    expect(first["dev"]["gid_index"] == int(indexes[1]["NCCL_IB_GID_INDEX"]), "wrong GID index", [first])


@scenario
def empty_gid_index(lab):
    """a forced GID index that is empty: 61"""
    connection = lab.pair("mlx5_2", "mlx5_0", ({}, {"NCCL_IB_GID_INDEX": "20"}))
    connection.refused()
    first = refused_rtr(connection.receiver, 61, "mlx5_0", None, fabric.gid_text(B0))
    expect(first["dev"]["gid_index"] == 20, "wrong GID index", [first])
