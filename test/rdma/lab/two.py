"""Ranks on two machines."""
from lab import fabric
from lab.agent import Peer, RemoteRank
from lab.ranks import Connection


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
