"""Two machines, each with its own kernel, addresses and routes, and HCAs of the same names."""
from lab import fabric
from lab.agent import Peer, RemoteRank
from lab.events import expect, of, refused_rtr, silent, transitions
from lab.health import check_transitions
from lab.ranks import Connection
from lab.scenario import scenario

EHOSTUNREACH = 113  # NCCL neither repeats it nor blames the GID index for it


def remote(lab, hca, environment=None):
    rank = RemoteRank(f"{lab.name}.B", hca, environment)
    lab.callback(rank.end)
    return rank


def connected(lab, hca, environment=None):
    """From here to there, both ends on the HCA of this name."""
    netdev, address = fabric.HCAS[hca]
    here = address.split("/")[0]
    there = here[:-1] + "2"
    fabric.greet(netdev, there)
    Peer.current.greet(netdev, here)
    receiver = remote(lab, hca, environment)
    sender = lab.rank(hca, environment)
    receiver.setup()
    return Connection(sender, receiver).open(), here, there


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
