"""Whole NCCL jobs over both machines, one rank on each (see hosts.py), as nccl-net-diag rehearse runs them under a launcher."""
import json

from lab import fabric
from lab.agent import RemoteTool
from lab.events import expect
from lab.scenario import scenario
from lab.tool import Tool
from lab.two import greet

AT_ONCE = {"NCCL_IB_MQP_RETRY_CNT": "0"}  # by default NCCL repeats a refused transition for more than a minute


def rehearse(lab, *environments):
    """Task 0 here, task 1 on the other machine, with these variables: task 0's exit code and result. Each prints the whole result."""
    for hca in fabric.HCAS:
        greet(hca)
    arguments = ["rehearse", "--json", "--quiet", "--size", "300000", "--iterations", "3", "--deadline", "200"]
    tools = []
    for task, (make, environment) in enumerate(zip((Tool, RemoteTool), environments)):
        launcher = {"RANK": str(task), "WORLD_SIZE": "2", "LOCAL_RANK": "0", "GROUP_RANK": str(task), "LOCAL_WORLD_SIZE": "1",
                    "MASTER_ADDR": "172.16.0.1", "MASTER_PORT": "29400", "NCCL_NET_DIAG_TOKEN": "a token of the test"}
        tools.append(make(f"{lab.name}.{'AB'[task]}", arguments, {**launcher, **environment}))
        lab.callback(tools[-1].end)
    (code, out), (other, _) = (tool.wait() for tool in tools)
    expect(code == other, f"the tasks end with {code} and {other}: {out}")
    return code, json.loads(out)


def rules(result):
    return [(event.get("rule"), event["cause"], event["dev"]["name"]) for event in result["troubles"]]


def carriers(result):
    """The HCAs that carried data, both ends."""
    carrying = [path for path in result["paths"] if path["bytes"] > 0]
    expect(all(path["channels"] for path in carrying), "it carries for no channel", carrying)
    return {hca for path in carrying for hca in (path["hca"], path["peer"]["hca"])}


@scenario
def job_over_a_rail(lab):
    """an all-reduce over a rail: verified data, no warning"""
    code, result = rehearse(lab, *2 * [{"NCCL_IB_HCA": "=mlx5_0"}])
    expect(code == 0 and result["networks"] == ["IB"] and not result["failures"] and not result["troubles"], f"{code}", [result])
    expect(carriers(result) == {"mlx5_0:1"}, "not over the rail", result["paths"])


@scenario
def job_of_rail_and_bond(lab):
    """the field's case as a job: the other machine takes its bond. It fails, and the first word on it is that the subnets differ"""
    code, result = rehearse(lab, {"NCCL_IB_HCA": "=mlx5_0", **AT_ONCE}, {"NCCL_IB_HCA": "=mlx5_bond_0", **AT_ONCE})
    expect(code == 1 and result["failures"], f"{code}", [result])
    told = [event for event in result["troubles"] if event["ev"] == "policy.warn"]
    expect(told and {(event["rule"], event["cause"]) for event in told} == {("pair.subnet", "SUB-RAIL")}, "another rule", result["troubles"])
    refused = [event for event in result["troubles"] if event["ev"] == "qp.transition"]
    expect(refused, "no refused transition", result["troubles"])
    for event in refused:
        ends = {event["dev"]["gid"], event["peer"]["gid"]}
        expect(ends == {"::ffff:10.1.0.1", "::ffff:10.2.0.2"} and event["errno"] == 110 and event["cause"] == "SUB-RAIL", "another end", [event])
        before = [warning for warning in told if warning["proc"] == event["proc"] and warning["mono_ns"] <= event["mono_ns"]]
        expect(before, "the rule did not speak first", result["troubles"])


@scenario
def job_without_the_bond(lab):
    """the same two machines, all HCAs left to NCCL and the built-in rules enforced: the bond is refused on both, the job runs on the rails"""
    code, result = rehearse(lab, *2 * [{"NCCL_NET_DIAG_MODE": "enforce"}])
    expect(code == 0 and not result["failures"], "it failed", [result])
    expect(rules(result) == 2 * [("hca.bond", "DEV-BOND", "mlx5_bond_0")], "not the bond alone", result["troubles"])
    # NCCL 2.28 merges the two rails, which have one PCI place for it.
    expect(carriers(result) == {"mlx5_0+mlx5_1:1"}, "not over the rails", result["paths"])
