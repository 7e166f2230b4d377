"""What happens to connections that are up."""
from lab import fabric
from lab.events import expect, failed_completion, grown, of, sentence, silent, transitions
from lab.scenario import scenario
from lab.shell import ip, read, wait_for, write
from lab.traffic import ENDLESS, GIVES_UP, IN_FLIGHT, wait_event, wait_sent

ACTIVE_SLAVE = fabric.ACTIVE_SLAVE


def must_move(connection, messages):
    replies = connection.finish_traffic()
    expect(all(reply["rc"] == 0 and reply["messages"] == messages for reply in replies.values()), f"data is missing: {replies}")


def gid_change_before(rank, error):
    changes = of(rank.events(), "port.event", event="GID_CHANGE")
    expect(changes and changes[0]["mono_ns"] < error["mono_ns"], "no GID change before the end", [*changes, error])
    expect(changes[0]["dev"]["name"] == error["dev"]["name"], "the change is another device's", changes)


def remove_address(device):
    netdev, address = fabric.HCAS[device]
    ip(f"addr del {address} dev {netdev}")


def add_address(device):
    netdev, address = fabric.HCAS[device]
    ip(f"addr add {address} dev {netdev} noprefixroute", *fabric.own_routes(netdev, address))
    fabric.gid_index(device, address.split("/")[0])


def renew(device):
    """When nothing uses its GID any more, the address gets its old index again."""
    remove_address(device)
    wait_for("the GID to go", lambda: len(fabric.gids(device)) == 1)
    add_address(device)


def path_mtus(connection):
    """The sender's and the receiver's."""
    return tuple(transitions(rank.events(), "RTR")[0]["qp"]["path_mtu"] for rank in (connection.sender, connection.receiver))


@scenario
def idle_peer_killed(lab):
    """the receiver is killed while it waits; the next send ends with status 12"""
    connection = lab.connected("mlx5_0", "mlx5_2", GIVES_UP)
    connection.start_traffic(sizes=[4096], repeat=1, only="recv")
    wait_sent("mlx5_2", 1)  # its "clear to send"
    connection.receiver.kill()
    connection.start_traffic(sizes=[4096], repeat=1, only="send")
    connection.traffic_fails()
    error = failed_completion(connection.sender, 12, "mlx5_0")
    expect(error["peer"]["gid"] == "::ffff:10.1.0.2", "wrong peer", [error])
    expect(not of(connection.receiver.events(), "summary"), "a killed process wrote a summary")


@scenario
def busy_peer_killed(lab):
    """the receiver is killed in the middle of traffic: status 12, or 10 while the kernel is still taking its memory away"""
    connection = lab.connected("mlx5_0", "mlx5_2", GIVES_UP)
    connection.move()
    connection.start_traffic(**IN_FLIGHT)
    wait_sent("mlx5_0", 100)
    connection.receiver.kill()
    connection.traffic_fails()
    error = failed_completion(connection.sender, (10, 12), "mlx5_0")
    expect(error["wc"]["history"] == "worked, then died", "wrong history", [error])


@scenario
def link_down_and_up(lab):
    """the cable is pulled and put back under traffic: both told, and counted by the port; all data arrives"""
    connection = lab.connected("mlx5_0", "mlx5_2")
    connection.start_traffic(sizes=[1 << 16], repeat=200)
    wait_sent("mlx5_0", 100)
    ip("link set pa0 down", netns="sw")
    fabric.wait_state("mlx5_0", "DOWN")
    down = wait_event(connection.sender, "port.event", event="PORT_ERR")
    ip("link set pa0 up", netns="sw")
    fabric.wait_state("mlx5_0", "ACTIVE")
    up = wait_event(connection.sender, "port.event", event="PORT_ACTIVE")
    must_move(connection, 200)
    connection.finish()
    summary, = of(connection.sender.events(), "summary")
    expect(grown(summary, "mlx5_0").get("link_downed") == 1, "the port did not count it", [summary])
    expect(down["sev"] == "warn" and down["dev"]["name"] == "mlx5_0" and up["sev"] == "info", "wrong port events", [down, up])
    expect(not of(connection.sender.events(), "wc.error"), "a completion failed", of(connection.sender.events(), "wc.error"))


def survives_loss_of(lab, watched, slave):
    """The bond's slave that slave() names loses its link under traffic, in which the HCA `watched` has sent: no alarm, all data arrives."""
    connection = lab.connected("mlx5_bond_0", "mlx5_bond_1")
    connection.start_traffic(sizes=[1 << 16], repeat=200)
    wait_sent(watched, 100)
    lost = slave()
    lab.change([f"link set p{lost} down"], [f"link set p{lost} up"], netns="sw")
    wait_for("the bond to see it", lambda: read(f"/sys/class/net/{lost}/bonding_slave/mii_status") == "down")
    must_move(connection, 200)
    connection.finish()
    silent(connection.sender)
    silent(connection.receiver)


@scenario
def backup_slave_fails(lab):
    """a bond's slave that carries nothing loses its link under traffic: no alarm, all data arrives"""
    survives_loss_of(lab, "mlx5_bond_0", lambda: "s1" if read(ACTIVE_SLAVE) == "s0" else "s0")


@scenario
def lacp_slave_fails(lab):
    """the slave of an 802.3ad bond that carries the traffic loses its link: no alarm, all data arrives by the other"""
    sent = "/sys/class/net/{}/statistics/tx_packets"
    survives_loss_of(lab, "mlx5_bond_1", lambda: max(fabric.BONDS["bond1"][1:], key=lambda slave: int(read(sent.format(slave)))))


def first_told(connection):
    """What first tells that the connection is lost: (the rank, a failed completion or a stall that names a cause of this end)."""
    def told():
        for rank in (connection.sender, connection.receiver):
            for event in rank.events():
                if event["ev"] == "wc.error" or (event["ev"] == "conn.stall" and event["sev"] == "warn"):
                    return rank, event
        return None
    return wait_for("a failed completion or a stall", told)


def lost_with_its_gid(rank, event):
    """The sender's GID went. By when it sends, rxe ends its QP with an error (2; 12 while it retries; 5 with none before), or sends no
    more and ends nothing: then only the age of the requests tells. The GID change is the cause, where it was known."""
    if event["ev"] == "conn.stall":
        expect(event["kind"] == "stuck-send" and event["dev"]["name"] == "mlx5_bond_0", "another stall", [event])
        sentence(event)
    else:
        event = failed_completion(rank, (2, 5, 12), "mlx5_bond_0")
    change = of(rank.events(), "port.event", event="GID_CHANGE")[0]
    # Two threads are told of them: a completion that fails at the same moment may be judged first.
    if event["mono_ns"] - change["mono_ns"] > 1e9:
        expect(event["cause"] == "GID-CHANGE", "the GID change is not the cause", [change, event])
    else:
        expect(event["cause"] in ("GID-CHANGE", f"WC-{event['wc']['status']}"), "another cause", [change, event])


@scenario
def bond_fails_over(lab):
    """the active slave of a bond loses its link under traffic: rxe makes the bond's GIDs anew, so the QP is lost, which is told as well as
    the GID change; a new connection works and is silent"""
    lab.callback(renew, "mlx5_bond_0")
    connection = lab.connected("mlx5_bond_0", "mlx5_bond_1", {**GIVES_UP, "NCCL_NET_DIAG_STALL_SEC": "5"})
    connection.start_traffic(**ENDLESS)
    wait_sent("mlx5_bond_0", 100)
    active = read(ACTIVE_SLAVE)
    lab.change([f"link set p{active} down"], [f"link set p{active} up"], netns="sw")
    change = wait_event(connection.sender, "port.event", event="GID_CHANGE")
    rank, told = first_told(connection)
    connection.end()
    expect(read(ACTIVE_SLAVE) not in ("", active), "no fail-over")
    expect(change["dev"]["name"] == "mlx5_bond_0", "the change is another device's", [change, told])
    if rank is connection.sender:
        lost_with_its_gid(rank, told)
    else:
        failed_completion(rank, 12, "mlx5_bond_1")  # it can no longer answer
    again = lab.connected("mlx5_bond_0", "mlx5_bond_1")
    again.move()
    again.finish()
    silent(again.sender)
    silent(again.receiver)


@scenario
def gid_removed_and_added(lab):
    """an address goes and comes back while connected, at another index: the QP is lost (status 2), the GID changes told before"""
    lab.callback(renew, "mlx5_0")
    connection = lab.connected("mlx5_0", "mlx5_2")
    connection.move()
    index = fabric.gid_index("mlx5_0", "10.1.0.1")
    remove_address("mlx5_0")
    wait_event(connection.sender, "port.event", event="GID_CHANGE")
    add_address("mlx5_0")
    expect(fabric.gid_index("mlx5_0", "10.1.0.1") != index, "the index is the same: this is no test of it")
    connection.start_traffic()
    connection.traffic_fails()
    error = failed_completion(connection.sender, 2, "mlx5_0")
    expect(error["cause"] == "GID-CHANGE", "the GID change is not the cause", [error])
    gid_change_before(connection.sender, error)
    again = lab.connected("mlx5_0", "mlx5_2")
    again.move()
    again.finish()
    silent(again.sender)


@scenario
def smaller_sender_mtu(lab):
    """the receiver has jumbo frames, the sender not: both take the smaller MTU, it works, and the policy tells the difference"""
    lab.jumbo("b0", "pb0")
    connection = lab.connected("mlx5_0", "mlx5_2")
    connection.move()
    connection.finish()
    expect(path_mtus(connection) == (1024, 1024), f"path MTUs: {path_mtus(connection)}")
    silent(connection.sender)
    loud = [event for event in connection.receiver.events() if event["sev"] != "info"]
    expect([event.get("rule") for event in loud] == ["pair.mtu"], "not the MTU alone", loud)


@scenario
def larger_sender_mtu(lab):
    """the sender has jumbo frames, the receiver not: NCCL gives the receiver the sender's MTU, the sender the smaller one, and the
    first message of several packets ends with status 9"""
    lab.jumbo("a0", "pa0")
    connection = lab.connected("mlx5_0", "mlx5_2")
    connection.start_traffic()
    connection.traffic_fails()
    expect(path_mtus(connection) == (1024, 4096), f"path MTUs: {path_mtus(connection)}")
    port = of(connection.sender.events(), "hca.port", dev="mlx5_0")[0]
    expect(port["dev"]["mtu"] == 4096, "wrong MTU of the port", [port])
    failed_completion(connection.sender, 9, "mlx5_0")


@scenario
def mtu_beyond_the_path(lab):
    """both HCAs have jumbo frames, a link between them has not: small messages pass, large ones end with status 12"""
    lab.jumbo("a0", "pa0")
    lab.jumbo("b0")
    connection = lab.connected("mlx5_0", "mlx5_2", GIVES_UP)
    connection.move(sizes=[64], repeat=4)
    connection.start_traffic(sizes=[1 << 16], repeat=1)
    connection.traffic_fails()
    expect(path_mtus(connection) == (4096, 4096), f"path MTUs: {path_mtus(connection)}")
    failed_completion(connection.sender, 12, "mlx5_0")


@scenario
def arp_flux(lab):
    """another NIC of the peer, in the same subnet, answers for its address: RTR passes, then status 12"""
    fabric.plug({"b2": "br0"})
    lab.callback(lambda: ip("link del b2"))
    ip("link set b2 up", "addr add 10.1.0.3/24 dev b2 noprefixroute")
    write("/proc/sys/net/ipv4/conf/b2/accept_local", 1)  # and arp_ignore 0, as hosts have it by default
    lab.change(["link set b0 arp off"], ["link set b0 arp on"])
    connection = lab.pair("mlx5_0", "mlx5_2", GIVES_UP)
    # The receiver asks for the sender's address properly; the sender gets the wrong answer.
    ip("neigh replace 10.1.0.1 lladdr " + read("/sys/class/net/a0/address") + " dev b0")
    connection.open()
    expect(not transitions(connection.sender.events(), "RTR", failed=True), "RTR failed")
    connection.start_traffic(sizes=[4096], repeat=1)
    connection.traffic_fails()
    error = failed_completion(connection.sender, 12, "mlx5_0")
    expect(error["peer"]["gid"] == "::ffff:10.1.0.2", "wrong peer", [error])


@scenario
def slave_of_a_bond(lab):
    """an RDMA device on a bond's slave has the bond's GID, but gets no data: status 12 at who sends to it first"""
    lab.hca_on_a_slave()
    fabric.greet("bond0", "10.2.0.2")
    fabric.greet("bond1", "10.2.0.1")
    connection = lab.pair("mlx5_slave", "mlx5_bond_1", GIVES_UP).open()
    connection.start_traffic(sizes=[4096], repeat=1)
    connection.traffic_fails(at="receiver")  # its "clear to send" doesn't arrive
    error = failed_completion(connection.receiver, 12, "mlx5_bond_1")
    expect(error["peer"]["gid"] == "::ffff:10.2.0.1", "wrong peer", [error])
    connection.sender.end()
    port = of(connection.sender.events(), "hca.port", dev="mlx5_slave")[0]
    expect(port["dev"]["netdev"] == "bond0", "the GID's netdev is not the bond", [port])
