"""Two machines, each with its own kernel, addresses and routes, and HCAs of the same names."""
from lab import fabric
from lab.agent import Peer
from lab.events import expect, of, refused_rtr, silent, transitions
from lab.health import check_transitions
from lab.ranks import Connection
from lab.scenario import Lab, scenario
from lab.two import connected, remote

EHOSTUNREACH = 113  # NCCL neither repeats it nor blames the GID index for it


@scenario
def same_names(lab):
    """mlx5_0 here and mlx5_0 there: verified data, every QP INIT RTR RTS, no warning on either machine"""
    connection, here, there = connected(lab, "mlx5_0")
    connection.move(sizes=[1 << 20, 100], repeat=4)
    connection.finish()
    check_transitions(connection.sender, "mlx5_0", here, there, "10.1.0.0/24")
    check_transitions(connection.receiver, "mlx5_0", there, here, "10.1.0.0/24")
    silent(connection.sender)
    silent(connection.receiver)


@scenario
def rail_to_bond(lab):
    """the field's case between two machines: 110, and the cause is that rail and bond are in different subnets"""
    sender = remote(lab, "mlx5_bond_0")
    receiver = lab.rank("mlx5_0")
    sender.setup()
    connection = Connection(sender, receiver)
    connection.refused()
    first = refused_rtr(receiver, 110, "mlx5_0", "::ffff:10.1.0.1", "::ffff:10.2.0.2")
    expect(first["cause"] == "SUB-RAIL", "another cause", [first])
    lost, = of(sender.events(), "conn.fail")
    expect(lost["link"] == first["link"], "the ends don't tell the same link", [first, lost])


def crossing(lab, route=None):
    """From the other machine's rail 1 to this one's rail 0; route: how this one gets there."""
    if route:
        lab.change([f"route add {route}"], [f"route del {route}"])
    sender, receiver = remote(lab, "mlx5_1"), lab.rank("mlx5_0")
    sender.setup()
    return Connection(sender, receiver)


@scenario
def rail_to_rail(lab):
    """rail 1 to rail 0 without a route between them: 110, and the same cause"""
    connection = crossing(lab)
    connection.refused()
    first = refused_rtr(connection.receiver, 110, "mlx5_0", "::ffff:10.1.0.1", "::ffff:10.1.1.2")
    expect(first["cause"] == "SUB-RAIL", "another cause", [first])


@scenario
def rail_to_rail_by_a_router(lab):
    """the same with a router between the rails and routes by it: verified data, no warning on either machine"""
    near, far = lab.router()
    back = f"10.1.0.0/24 via {far} dev eth2 metric 100"
    lab.callback(Peer.current.ip, f"route del {back}")
    Peer.current.ip(f"route add {back}")
    Peer.current.greet("eth2", far)
    fabric.greet("eth1", near)
    connection = crossing(lab, f"10.1.1.0/24 via {near} dev eth1 metric 100").open()
    connection.move(sizes=[1 << 20, 100], repeat=4)
    connection.finish()
    silent(connection.sender)
    silent(connection.receiver)


@scenario
def rail_to_rail_by_a_dead_gateway(lab):
    """the same with a route by a router that is not there: 110, and the route is named"""
    connection = crossing(lab, "10.1.1.0/24 via 10.1.0.253 dev eth1 metric 100")
    connection.refused()
    first = refused_rtr(connection.receiver, 110, "mlx5_0", "::ffff:10.1.0.1", "::ffff:10.1.1.2")
    expect(first["cause"] == "SUB-RAIL" and "a route via 10.1.0.253 leaves by eth1" in first["msg"], "another cause", [first])


@scenario
def nobody_at_the_address(lab):
    """the same subnet, but the wire is cut: 110, and no word of subnets"""
    lab.change(["link set weth1 nomaster"], ["link set weth1 master br0"], netns="sw")
    sender, receiver = remote(lab, "mlx5_0"), lab.rank("mlx5_0")
    sender.setup()
    connection = Connection(sender, receiver)
    connection.refused()
    first = refused_rtr(receiver, 110, "mlx5_0", "::ffff:10.1.0.1", "::ffff:10.1.0.2")
    expect(first["cause"] == "QP-110", "another cause", [first])


def from_six(lab, there, here=None):
    """From an IPv6 address of the other machine's rail 0 to this one's: from one GID index to another, forced where one is given."""
    Peer.current.ip(f"addr add {there} dev eth1 noprefixroute nodad")
    lab.callback(Peer.current.ip, f"addr del {there} dev eth1")
    own = lab.address("eth1", here) if here else "10.1.0.1"
    indexes = [Peer.current.gid_index("mlx5_0", there.split("/")[0]), fabric.gid_index("mlx5_0", own)]
    sender, receiver = (make(lab, "mlx5_0", {"NCCL_IB_GID_INDEX": str(index)}) for make, index in zip((remote, Lab.rank), indexes))
    sender.setup()
    connection = Connection(sender, receiver)
    connection.refused()
    return receiver


@scenario
def mixed_families(lab):
    """an IPv6 GID there, an IPv4 one here: 22, and that the families differ"""
    receiver = from_six(lab, "2001:db8:1::2/64")
    first = refused_rtr(receiver, 22, "mlx5_0", "::ffff:10.1.0.1", "2001:db8:1::2")
    expect(first["cause"] == "GID-DIFF", "another cause", [first])


@scenario
def ipv6_other_prefix(lab):
    """IPv6 GIDs of two prefixes: 101, and that they are in two subnets"""
    receiver = from_six(lab, "2001:db8:2::2/64", "2001:db8:1::1/64")
    first = refused_rtr(receiver, 101, "mlx5_0", "2001:db8:1::1", "2001:db8:2::2")
    expect(first["cause"] == "SUB-RAIL", "another cause", [first])


@scenario
def rail_to_bond_refused(lab):
    """the same where the receiver enforces: refused before the kernel looks for the peer, and not tried again"""
    sender = remote(lab, "mlx5_bond_0")
    receiver = lab.rank("mlx5_0", {"NCCL_NET_DIAG_MODE": "enforce", "NCCL_IB_MQP_RETRY_CNT": "3"})
    sender.setup()
    Connection(sender, receiver).refused()
    moves = transitions(receiver.events(), "RTR")
    expect(len(moves) == 1 and moves[0]["errno"] == EHOSTUNREACH, "not one refusal", moves)
    expect(moves[0]["peer"]["gid"] == "::ffff:10.2.0.2" and moves[0]["dev"]["name"] == "mlx5_0", "another pair", moves)
    refusals = of(receiver.events(), "policy.refuse")
    expect(len(refusals) == 1 and refusals[0]["rule"] == "pair.subnet" and refusals[0]["sev"] == "error", "not its rule", refusals)
