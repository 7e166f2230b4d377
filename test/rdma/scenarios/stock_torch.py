"""Jobs of test/torch over NCCL's own IB transport and rxe, on two nodes of which each has an HCA of its own. Without torchrun,
which imports PyTorch once more on each node."""
import json
import os
import re
import subprocess

from lab.events import expect, of
from lab.job import greet_all
from lab.ranks import Options, environment_of
from lab.scenario import scenario
from lab.shell import read

HCAS = ["mlx5_0", "mlx5_2"]
JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../torch/job.py")
DEADLINE_SEC = 600  # of a machine that shares its cores
NODE = f'case $NODE_RANK in 0) hca={HCAS[0]} ;; *) hca={HCAS[1]} ;; esac; export NCCL_IB_HCA="=$hca"; exec "$@"'


def play(lab, job):
    """A job of two nodes: its answer, what it printed, and its events."""
    greet_all(HCAS)
    own = f"{Options.logs}/{lab.name}"
    os.mkdir(own)
    environment = environment_of(None, None, {"NCCL_IB_HCA": None, "NCCL_NET_DIAG_FILE": None, "NCCL_NET_PLUGIN": None, "NCCL_DEBUG": "WARN",
                                              "PYTHONPATH": Options.packages})
    command = [f"{Options.build}/tools/cli/nccl-net-diag", "rehearse", "--json", "--nodes", "2", "--logs", own, "--deadline", str(DEADLINE_SEC),
               "--", "sh", "-c", NODE, "sh", Options.python, JOB, job]
    with open(f"{own}/stderr", "w") as stderr:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True, timeout=DEADLINE_SEC + 120)
    printed = read(f"{own}/stderr")
    expect(done.stdout, printed[-4000:])
    answer = json.loads(done.stdout)
    events = []
    for file in sorted(os.listdir(answer["logs"])):
        if file.endswith(".jsonl"):
            with open(os.path.join(answer["logs"], file)) as log:
                events += [json.loads(line) for line in log]
    return done.returncode, answer.get("report", {}), printed, events


def check_paths(events):
    """Two ranks, each over its node's HCA."""
    ranks = {event["proc"]: event["launch"]["rank"] for event in of(events, "plugin.load")}
    ready = of(events, "conn.ready")
    seen = {(ranks[event["proc"]], event["dev"]["name"]) for event in ready}
    expect(seen == set(enumerate(HCAS)), f"other connections: {seen}", ready[:2])


@scenario
def healthy_training(lab):
    """every kind of communication of a training step: right data in both ranks, no warning, healthy"""
    code, report, printed, events = play(lab, "healthy")
    expect(code == 0, f"exit code {code}: {printed[-4000:]}")
    expect(set(re.findall(r"rank (\d+): all data right", printed)) == {"0", "1"}, f"data: {printed[-4000:]}")
    loud = [event for event in events if event["sev"] != "info"]
    expect(not loud, "a warning although nothing is wrong", loud)
    check_paths(events)
    expect((report["kind"], report["blame"]) == ("healthy", "nothing"), f"report: {report['verdict']}")


@scenario
def rank_that_exits(lab):
    """sys.exit(3) in rank 1 between two steps: rank 1 is named, and the network is not blamed"""
    code, report, printed, events = play(lab, "system_exit")
    expect(code != 0, f"exit code {code}: {printed[-4000:]}")
    check_paths(events)
    expect(report["blame"] == "not the network", f"report: {report['verdict']}")
    named = re.search(r"[Rr]anks? (\d+)", report["verdict"])
    expect(named and named[1] == "1", f"rank 1 is not the first in: {report['verdict']}")
