"""Two machines, each with its own kernel, addresses and routes, and HCAs of the same names."""
from lab import fabric
from lab.agent import Peer
from lab.events import expect, of, refused_pair, refused_rtr, silent, warned_pair
from lab.health import check_transitions
from lab.ranks import Connection
from lab.scenario import scenario, set_up
from lab.two import connected, remote


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


def broken(lab, hcas, addresses, errno, rule, cause, indexes=(None, None)):
    """A pair that can't talk, from the other machine's HCA to this one's. In `warn` the rule speaks before the kernel refuses, and its cause
    is the transition's; in `enforce` it is refused, and not tried again. indexes: GID indexes that are forced."""
    forced = [{"NCCL_IB_GID_INDEX": str(index)} if index is not None else {} for index in indexes]
    pairs = {}
    for mode in ("warn", "enforce"):
        sender = remote(lab, hcas[0], forced[0])
        own = {"NCCL_NET_DIAG_MODE": mode, **({"NCCL_IB_MQP_RETRY_CNT": "3"} if mode == "enforce" else {})}
        pairs[mode] = Connection(sender, lab.bare_rank(hcas[1], {**forced[1], **own}))
    there, here = (fabric.gid_text(address) for address in addresses)
    set_up([rank for connection in pairs.values() for rank in (connection.sender, connection.receiver)])
    for connection in pairs.values():
        connection.refused()
    warned = pairs["warn"]
    first = refused_rtr(warned.receiver, errno, hcas[1], here, there)
    expect(first["cause"] == cause, "another cause", [first])
    warned_pair(warned.receiver, rule, before=first)
    lost, = of(warned.sender.events(), "conn.fail")
    expect(lost["link"] == first["link"], "the ends don't tell the same link", [first, lost])
    refused_pair(pairs["enforce"].receiver, rule, cause, hcas[1], here, there)


@scenario
def rail_to_bond(lab):
    """the field's case between two machines: 110, and that rail and bond are in different subnets; refused in enforce"""
    broken(lab, ("mlx5_bond_0", "mlx5_0"), ("10.2.0.2", "10.1.0.1"), 110, "pair.subnet", "SUB-RAIL")


@scenario
def rail_to_rail(lab):
    """rail 1 to rail 0 without a route between them: the same"""
    broken(lab, ("mlx5_1", "mlx5_0"), ("10.1.1.2", "10.1.0.1"), 110, "pair.subnet", "SUB-RAIL")


def other_address(lab, address):
    """Of the other machine's rail 0; its GID index there."""
    Peer.current.ip(f"addr add {address} dev eth1 noprefixroute nodad")
    lab.callback(Peer.current.ip, f"addr del {address} dev eth1")
    return Peer.current.gid_index("mlx5_0", address.split("/")[0])


@scenario
def wrong_forced_gid_index(lab):
    """the other machine's rail 0 with a forced GID index of another subnet: the same"""
    Peer.current.setting(lab, "/proc/sys/net/ipv4/conf/eth1/arp_ignore", 2)  # strict rails: no answer to who is not of the subnet
    index = other_address(lab, "10.9.0.2/24")
    broken(lab, ("mlx5_0", "mlx5_0"), ("10.9.0.2", "10.1.0.1"), 110, "pair.subnet", "SUB-RAIL", (index, None))


@scenario
def on_link_without_a_route(lab):
    """the same where the other machine answers ARP requests from any subnet: without a route the kernel takes it to be on the link, so data
    moves; the rule speaks, since nothing but ARP keeps this pair alive"""
    index = other_address(lab, "10.9.0.2/24")
    connection = Connection(*set_up([remote(lab, "mlx5_0", {"NCCL_IB_GID_INDEX": str(index)}), lab.bare_rank("mlx5_0")])).open()
    connection.move(sizes=[1 << 20, 100], repeat=4)
    connection.finish()
    loud = [event for event in connection.receiver.events() if event["sev"] != "info"]
    expect([event.get("rule") for event in loud] == ["pair.subnet"], "not the subnet alone", loud)


@scenario
def ipv6_other_prefix(lab):
    """IPv6 GIDs of two prefixes: 101, and that they are in two subnets; refused in enforce"""
    there, own = "2001:db8:2::2", lab.address("eth1", "2001:db8:1::1/64")
    indexes = other_address(lab, f"{there}/64"), fabric.gid_index("mlx5_0", own)
    broken(lab, ("mlx5_0", "mlx5_0"), (there, own), 101, "pair.subnet", "SUB-RAIL", indexes)


@scenario
def mixed_families(lab):
    """an IPv6 GID there, an IPv4 one here: 22, and that the families differ; refused in enforce"""
    there = "2001:db8:1::2"
    indexes = other_address(lab, f"{there}/64"), fabric.gid_index("mlx5_0", "10.1.0.1")
    broken(lab, ("mlx5_0", "mlx5_0"), (there, "10.1.0.1"), 22, "pair.family", "GID-DIFF", indexes)


def crossing(lab, route=None):
    """From the other machine's rail 1 to this one's rail 0; route: how this one gets there."""
    if route:
        lab.change([f"route add {route}"], [f"route del {route}"])
    return Connection(*set_up([remote(lab, "mlx5_1"), lab.bare_rank("mlx5_0")]))


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
    connection = Connection(*set_up([remote(lab, "mlx5_0"), lab.bare_rank("mlx5_0")]))
    connection.refused()
    first = refused_rtr(connection.receiver, 110, "mlx5_0", "::ffff:10.1.0.1", "::ffff:10.1.0.2")
    expect(first["cause"] == "QP-110", "another cause", [first])
