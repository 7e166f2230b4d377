"""Ranks on two machines."""
from lab import fabric
from lab.agent import Peer, RemoteRank
from lab.ranks import Connection
from lab.scenario import set_up


def remote(lab, hca, environment=None):
    rank = RemoteRank(f"{lab.name}.B{len(lab.remote_ranks)}", hca, environment)
    lab.remote_ranks.append(rank)
    lab.callback(rank.end)
    return rank


def greet(hca):
    """Resolves the neighbours of an HCA on both machines; its addresses here and there."""
    netdev, address = fabric.HCAS[hca]
    here = address.split("/")[0]
    there = here[:-1] + "2"
    fabric.greet(netdev, there)
    Peer.current.greet(netdev, here)
    return here, there


def connected(lab, hca, environment=None):
    """From here to there, both ends on the HCA of this name."""
    here, there = greet(hca)
    ranks = set_up([lab.bare_rank(hca, environment), remote(lab, hca, environment)])
    return Connection(*ranks).open(), here, there
