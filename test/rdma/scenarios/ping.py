"""nccl-net-diag ping between the two machines (see hosts.py): NCCL's own IB transport over the kernel's RDMA."""
import json

from lab import fabric
from lab.agent import RemoteTool
from lab.events import expect
from lab.scenario import scenario
from lab.tool import Tool
from lab.two import greet

TOKEN = "a token of the rig, no secret"
LISTENER = "172.16.0.2"


def ping(lab, *arguments, environment=None, greeted=None):
    """Both sides of a ping with the same environment: the exit code and the result of the calling one, and the listener's exit."""
    variables = {"NCCL_NET_DIAG_TOKEN": TOKEN, **(environment or {})}
    for hca in greeted or fabric.HCAS:
        greet(hca)
    listener = RemoteTool(f"{lab.name}.B", ["ping", "--listen", LISTENER], variables)
    lab.callback(listener.end)
    caller = Tool(f"{lab.name}.A", ["ping", LISTENER, "--json", "--duration", "0.05", "--sizes", "64K",
                                    "--pair-deadline", "60", *arguments], variables)
    lab.callback(caller.end)
    code, out = caller.wait()
    try:
        return code, json.loads(out), listener.wait()[0]
    except json.JSONDecodeError:
        raise AssertionError(f"exit {code}: {out}") from None


def ends(pair):
    return pair["from"]["hca"], pair["to"]["hca"]


def subnet(hca):
    own = fabric.ipaddress.ip_interface(fabric.HCAS[hca][1])
    return str(own.network)


def check_reachable(pair):
    expect(pair["state"] == "reachable", "it does not talk", [pair])
    expect(pair["latency_us"]["p50"] > 0 and pair["latency_us"]["p99"] >= pair["latency_us"]["p50"], "no latency", [pair])
    expect(all(row["there_gb_per_s"] > 0 and row["back_gb_per_s"] > 0 for row in pair["bandwidth"]), "no bandwidth", [pair])
    expect(not pair["troubles"] and pair["policy"] == "fine", "it warns although nothing is wrong", [pair])


def check_ends(pair):
    for end, number in (("from", 1), ("to", 2)):
        told, hca = pair[end], pair[end]["hca"]
        address = fabric.HCAS[hca][1].split("/")[0][:-1] + str(number)
        expect(told["gid"] == fabric.gid_text(address) and told["subnet"] == subnet(hca), "another GID or subnet", [pair])


@scenario
def ping_matrix(lab):
    """ping --matrix: exactly the pairs that can talk are reachable, the others have the kernel's errno and their cause"""
    code, result, listened = ping(lab, "--matrix")
    expect(code == 0 and listened == 0, "not fine", [result])
    pairs = {ends(pair): pair for pair in result["pairs"]}
    expect(set(pairs) == {(one, other) for one in fabric.HCAS for other in fabric.HCAS}, "not all pairs", [result])
    for (one, other), pair in pairs.items():
        check_ends(pair)
        if one == other:
            check_reachable(pair)
            continue
        expect(pair["state"] == "unreachable" and pair["errno"] == 110 and pair["transition"] == "RTR", "another failure", [pair])
        expect(pair["cause"] == "SUB-RAIL" and pair["msg"] and pair["fix"], "another cause", [pair])
        expect(pair["policy"] == "warned" and pair["rules"][0]["rule"] == "pair.subnet", "another verdict", [pair])


@scenario
def ping_refused(lab):
    """the same where the policy enforces: the pairs that can't talk are refused, and the kernel is not asked"""
    code, result, _ = ping(lab, "--matrix", "--hca", "mlx5_0", environment={"NCCL_NET_DIAG_MODE": "enforce"})
    expect([pair["to"]["hca"] for pair in result["pairs"]] == ["mlx5_0", "mlx5_1"], "not its pairs", [result])
    for pair in result["pairs"]:
        if pair["to"]["hca"] == "mlx5_0":
            check_reachable(pair)
            continue
        expect(pair["state"] == "refused" and pair["errno"] == 113 and pair["cause"] == "SUB-RAIL", "not refused", [pair])
    refused = {hca["name"]: hca["rules"] for host in result["hosts"] for hca in host["check"]["hcas"] if hca["verdict"] == "refused"}
    expect(code == 0 and refused == {"mlx5_bond_0": ["hca.bond"]}, "the bond is not refused", [result])


@scenario
def ping_port_down(lab):
    """a port that is down is not pinged, and the call says why"""
    netdev, _ = fabric.HCAS["mlx5_1"]
    lab.callback(fabric.wait_state, "mlx5_1", "ACTIVE")
    lab.change([f"link set {netdev} down"], [f"link set {netdev} up"])
    fabric.wait_state("mlx5_1", "DOWN")
    code, result, listened = ping(lab, "--hca", "mlx5_1", greeted=("mlx5_0",))
    expect(code == 3 and listened == 3 and result["error"]["kind"] == "hca", "it is pinged", [result])
    expect("mlx5_1:1" in result["error"]["message"] and "DOWN" in result["error"]["message"], "it doesn't say why", [result])
