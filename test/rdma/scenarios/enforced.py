"""Faults that the policy knows, where it enforces: refused before NCCL or the kernel waits for anything, with the rule, the cause and a
sentence. What needs a peer on another machine is in two_hosts.py."""
from lab.events import expect, of, refused_pair, sentence
from lab.policy import enforce
from lab.scenario import scenario


def refused(lab, hca, rule, cause, rules="", environment=None, **more):
    """Whoever uses the network fails, since this HCA is the only one and the policy refuses it."""
    rank = lab.rank(hca, {**enforce(lab, rules), **(environment or {})}, **more)
    expect(rank.run("listen", context=rank.context, dev=0)["rc"] != 0, "listen did not fail")
    rank.exit()
    refusals = [event for event in of(rank.events(), "policy.refuse") if event["rule"] == rule]
    expect(len(refusals) == 1, f"not one refusal by {rule}", rank.events()[-4:])
    expect(refusals[0]["cause"] == cause and refusals[0]["sev"] == "error", "another cause or severity", refusals)
    sentence(refusals[0])
    expect(not of(rank.events(), "qp.create"), "a QP was made", of(rank.events(), "qp.create"))
    expect(of(rank.events(), "conn.fail")[0]["cause"] == cause, "the call's end has another cause", of(rank.events(), "conn.fail"))
    return rank, refusals[0]


def refused_hca(lab, hca, *rule, **more):
    rank, refusal = refused(lab, hca, *rule, **more)
    port, = of(rank.events(), "hca.port", dev=hca)
    expect(refusal["dev"]["name"] == hca and port["verdict"] == "refused", "another HCA", [refusal, port])


@scenario
def bond_refused(lab):
    """a bond, where the policy wants none"""
    refused_hca(lab, "mlx5_bond_0", "hca.bond", "DEV-BOND", '[hca]\nbond = "deny"\n')


@scenario
def lacp_bond_refused(lab):
    """a bond of 802.3ad: the same"""
    refused_hca(lab, "mlx5_bond_1", "hca.bond", "DEV-BOND", '[hca]\nbond = "deny"\n')


@scenario
def slave_of_a_bond_refused(lab):
    """an RDMA device on a bond's slave, which has the bond's GID: the same"""
    lab.hca_on_a_slave()
    refused_hca(lab, "mlx5_slave", "hca.bond", "DEV-BOND", '[hca]\nbond = "deny"\n')


@scenario
def rail_beside_a_bond(lab):
    """the built-in rules: of a rail and a bond that carries the default route NCCL sees the rail alone"""
    route = "default via 10.2.0.254 dev bond0"
    lab.change([f"route add {route}"], [f"route del {route}"])
    rank = lab.bare_rank("mlx5_0,mlx5_bond_0", enforce(lab))
    expect(rank.setup() == 1, "not one device")
    rank.exit()
    verdicts = {event["dev"]["name"]: event["verdict"] for event in of(rank.events(), "hca.port")}
    expect((verdicts["mlx5_0"], verdicts["mlx5_bond_0"]) == ("taken", "refused"), f"{verdicts}")


@scenario
def empty_gid_index_refused(lab):
    """a forced GID index that is empty"""
    refused_hca(lab, "mlx5_0", "roce.forced_gid", "GID-WRONG", environment={"NCCL_IB_GID_INDEX": "20"})


@scenario
def memlock_refused(lab):
    """a process that may lock 4 KiB"""
    limited = ["prlimit", "--memlock=4096:4096", "setpriv", "--bounding-set=-ipc_lock", "--"]
    refused(lab, "mlx5_0", "limits.memlock", "LIM-MEMLOCK", '[limits]\naction = "deny"\n', wrap=limited)


def mtu_refused(lab, *jumbo_ports):
    lab.jumbo(*jumbo_ports)
    connection = lab.greeted_pair("mlx5_0", "mlx5_2", enforce(lab, '[pair]\nmtu = "deny"\n'))
    connection.open_fails()
    refused_by = [rank for rank in lab.ranks if of(rank.events(), "policy.refuse")]
    expect(len(refused_by) == 1, "not refused at one end", [event for rank in lab.ranks for event in rank.events()[-2:]])
    refused_pair(refused_by[0], "pair.mtu", "MTU-DIFF", "mlx5_2", "::ffff:10.1.0.2", "::ffff:10.1.0.1")


@scenario
def smaller_sender_mtu_refused(lab):
    """the receiver has jumbo frames, the sender not"""
    mtu_refused(lab, "b0", "pb0")


@scenario
def larger_sender_mtu_refused(lab):
    """the sender has jumbo frames, the receiver not"""
    mtu_refused(lab, "a0", "pa0")
