"""Whole NCCL jobs without GPUs (tools/emulation/softcuda), one rank a node, over NCCL's own IB transport and rxe. Those over two machines are in
rehearse.py."""
import json

from lab.events import expect, of, silent, transitions
from lab.job import greet_all, run_job
from lab.policy import enforce
from lab.scenario import scenario


def works(lab, hcas):
    greet_all(hcas)
    ranks = run_job(lab, hcas)
    for rank, hca in zip(ranks, hcas):
        expect(rank.result["done"], f"{rank.name}: {json.dumps(rank.result)}")
        silent(rank)
        expect({event["dev"]["name"] for event in of(rank.events(), "conn.ready")} == {hca}, "not over its HCA", rank.events()[-2:])
        expect(not transitions(rank.events(), "RTR", failed=True), "an RTR failed")


@scenario
def all_reduce_of_two(lab):
    """all-reduce of two ranks: verified data, no warning"""
    works(lab, ["mlx5_0", "mlx5_2"])


@scenario
def all_reduce_of_four(lab):
    """all-reduce of four ranks, two on each HCA: the same"""
    works(lab, ["mlx5_0", "mlx5_2", "mlx5_0", "mlx5_2"])


@scenario
def rail_and_bond_without_us(lab):
    """a job whose second rank takes the bond, without the shim: NCCL fails with its own line, and nothing else is told"""
    # NCCL 2.28.9's own choice of GIN crashes where no HCA is an mlx5: 2 is its proxy.
    ranks = run_job(lab, ["mlx5_0", "mlx5_bond_1"], {"NCCL_NET_PLUGIN": "none", "NCCL_GIN_TYPE": "2"})
    expect(not any(rank.result["done"] or rank.result.get("signal") for rank in ranks), f"{[rank.result for rank in ranks]}")
    expect(any("ibv_modify_qp failed with 110" in rank.nccl_log for rank in ranks), f"{[rank.result for rank in ranks]}")
    expect(not any(rank.events() for rank in ranks), "a log without the shim")


@scenario
def bond_denied(lab):
    """the second rank could take its rail or the bond; a policy that denies bonds is enforced, and the job runs on the rails"""
    greet_all(["mlx5_0", "mlx5_2"])
    ranks = run_job(lab, ["mlx5_0", "mlx5_2,mlx5_bond_1"], enforce(lab, '[hca]\ndeny = ["mlx5_bond_*"]\n'))
    expect(all(rank.result["done"] for rank in ranks), f"{[rank.result for rank in ranks]}")
    events = ranks[1].events()
    expect({event["dev"]["name"] for event in of(events, "conn.ready")} == {"mlx5_2"}, "not over the rail", events[-2:])
    port, = of(events, "hca.port", dev="mlx5_bond_1")
    expect(port["verdict"] == "refused", "the bond was not refused", [port])
