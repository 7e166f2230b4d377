"""Whole NCCL jobs with one fault each, and what `nccl-net-diag report` says first of what they left."""
import json
import signal
import subprocess

from lab import fabric
from lab.events import expect, of
from lab.job import Job, greet_all
from lab.ranks import Options
from lab.scenario import scenario
from lab.shell import ip, wait_for
from lab.traffic import GIVES_UP, wait_event, wait_sent

HCAS = ["mlx5_0", "mlx5_2"]
SOON = {"NCCL_NET_DIAG_STALL_SEC": "2", **GIVES_UP}


def job(lab, *more, iterations=3):
    greet_all(HCAS)
    return Job(lab, HCAS, SOON, *more, iterations=iterations)


def report(ranks):
    logs = [f"{Options.logs}/{rank.name}" for rank in ranks]
    done = subprocess.run([f"{Options.build}/tools/cli/nccl-net-diag", "report", "--json", "--quiet", *logs], capture_output=True, text=True)
    expect(done.stdout, done.stderr)
    return json.loads(done.stdout)


def said(ranks, kinds, blame, *words):
    """The report's first line is this."""
    told = report(ranks)
    expect(told["kind"] in kinds and told["blame"] == blame, f"wanted {kinds}, {blame}", [told])
    for word in words:
        expect(word in told["verdict"], f"{word!r} is not in the first line", [told])


def stalled(rank, *kinds):
    """Waits until it has told one of these."""
    wait_for(f"{kinds} of {rank.name}", lambda: [event for event in of(rank.events(), "conn.stall") if event["kind"] in kinds])


def stalled_or_failed(rank):
    wait_for(f"trouble of {rank.name}", lambda: of(rank.events(), "wc.error") or of(rank.events(), "conn.stall", kind="nothing-came"))


@scenario
def healthy(lab):
    """no fault: healthy"""
    said(job(lab).wait(), ["healthy"], "nothing", "2 processes")


@scenario
def dead_process(lab):
    """rank 1 is killed in the middle of traffic: it died, and the network is not blamed"""
    running = job(lab, iterations=100000)
    wait_event(running.ranks[1], "conn.ready")
    wait_sent("mlx5_2", 50)
    running.ranks[1].signal(signal.SIGKILL)
    # A send that was under way fails; who only waits for data sees no more than that none comes.
    stalled_or_failed(running.ranks[0])
    said(running.ranks, ["lost", "hang"], "not the network", "rank 1", "died")


@scenario
def missing_rank(lab):
    """rank 1 leaves the last all-reduce out: it is named, with where it is"""
    running = job(lab, "--alone", "0:all_reduce:300000")
    stalled(running.ranks[0], "nothing-came")
    stalled(running.ranks[1], "idle")
    said(running.ranks, ["hang"], "not the network", "not the network: rank 1", "AllReduce #")


@scenario
def mismatched_collective(lab):
    """rank 0 is in an all-reduce, rank 1 in a reduce to rank 0: both are told"""
    running = job(lab, "--alone", "0:all_reduce:300000", "--alone", "1:reduce:300000")
    stalled(running.ranks[0], "nothing-came")
    stalled(running.ranks[1], "idle")  # a reduce asks nothing more of it
    said(running.ranks, ["hang"], "not the network", "mismatched collectives", "AllReduce #", "Reduce #")


@scenario
def paused_rank(lab):
    """rank 1 is stopped in the middle of traffic: it does not run"""
    running = job(lab, iterations=100000)
    wait_event(running.ranks[1], "conn.ready")
    wait_sent("mlx5_2", 50)
    running.ranks[1].signal(signal.SIGSTOP)
    stalled(running.ranks[0], "nothing-came", "no-receive")
    wait_for("its silence to be told", lambda: report(running.ranks)["blame"] == "not the network")
    said(running.ranks, ["hang"], "not the network", "rank 1", "does not run")


@scenario
def cut_cable(lab):
    """the cable of rank 0's HCA is pulled under traffic: the port went down, there"""
    running = job(lab, iterations=100000)
    wait_event(running.ranks[1], "conn.ready")
    wait_sent("mlx5_2", 50)
    lab.callback(fabric.wait_state, "mlx5_0", "ACTIVE")
    lab.callback(ip, "link set pa0 up", netns="sw")
    ip("link set pa0 down", netns="sw")
    for rank in running.wait():
        expect(not rank.result["done"], f"{rank.name} came to its end")
    said(running.ranks, ["failed"], "network", "mlx5_0 of", "ASYNC-PORT")
