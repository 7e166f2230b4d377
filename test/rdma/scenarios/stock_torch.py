"""Jobs of test/torch over NCCL's own IB transport and rxe, on two nodes of which each has an HCA of its own. Without torchrun,
which imports PyTorch once more on each node."""
import json
import os
import re
import subprocess

from lab import fabric
from lab.events import expect, of
from lab.job import greet_all
from lab.ranks import Options, environment_of
from lab.scenario import scenario
from lab.shell import ip, read, wait_for
from lab.traffic import GIVES_UP, wait_sent

HCAS = ["mlx5_0", "mlx5_2"]
JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../torch/job.py")
DEADLINE_SEC = 600  # of a machine that shares its cores
NODE = f'case $NODE_RANK in 0) hca={HCAS[0]} ;; *) hca={HCAS[1]} ;; esac; export NCCL_IB_HCA="=$hca"; exec "$@"'


class Torch:
    """A job of two nodes."""

    def __init__(self, lab, job, environment=None):
        greet_all(HCAS)
        self._own = f"{Options.logs}/{lab.name}"
        os.mkdir(self._own)
        unset = dict.fromkeys(("NCCL_IB_HCA", "NCCL_NET_DIAG_FILE", "NCCL_NET_PLUGIN"))
        environment = environment_of(None, None, {**unset, "NCCL_DEBUG": "WARN", "PYTHONPATH": Options.packages, **(environment or {})})
        command = [f"{Options.build}/tools/cli/nccl-net-diag", "rehearse", "--json", "--nodes", "2", "--logs", f"{self._own}/logs",
                   "--deadline", str(DEADLINE_SEC), "--", "sh", "-c", NODE, "sh", Options.python, JOB, job]
        with open(f"{self._own}/answer", "w") as answer, open(f"{self._own}/printed", "w") as printed:
            self._process = subprocess.Popen(command, env=environment, stdout=answer, stderr=printed)
        lab.callback(self.end)

    def events(self):
        """So far."""
        for folder, _, files in os.walk(f"{self._own}/logs"):
            for file in sorted(files):
                if file.endswith(".jsonl"):
                    with open(os.path.join(folder, file)) as log:
                        yield from (json.loads(line) for line in log if line.endswith("\n"))

    def wait(self):
        """Until it ends by itself: its exit code, what report says, what it printed, its events."""
        code = self._process.wait(timeout=DEADLINE_SEC + 120)
        answer, printed = read(f"{self._own}/answer"), read(f"{self._own}/printed")
        expect(answer, printed[-4000:])
        return code, json.loads(answer).get("report", {}), printed, list(self.events())

    def end(self):
        """It ends its ranks itself."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait()


def check_paths(events):
    """Two ranks, each over its node's HCA."""
    ranks = {event["proc"]: event["launch"]["rank"] for event in of(events, "plugin.load")}
    ready = of(events, "conn.ready")
    seen = {(ranks[event["proc"]], event["dev"]["name"]) for event in ready}
    expect(seen == set(enumerate(HCAS)), f"other connections: {seen}", ready[:2])


@scenario
def healthy_training(lab):
    """every kind of communication of a training step: right data in both ranks, no warning, healthy"""
    code, report, printed, events = Torch(lab, "healthy").wait()
    expect(code == 0, f"exit code {code}: {printed[-4000:]}")
    expect(set(re.findall(r"rank (\d+): all data right", printed)) == {"0", "1"}, f"data: {printed[-4000:]}")
    loud = [event for event in events if event["sev"] != "info"]
    expect(not loud, "a warning although nothing is wrong", loud)
    check_paths(events)
    expect((report["kind"], report["blame"]) == ("healthy", "nothing"), f"report: {report['verdict']}")


@scenario
def rank_that_exits(lab):
    """sys.exit(3) in rank 1 between two steps: rank 1 is named, and the network is not blamed"""
    code, report, printed, events = Torch(lab, "system_exit").wait()
    expect(code != 0, f"exit code {code}: {printed[-4000:]}")
    check_paths(events)
    expect(report["blame"] == "not the network", f"report: {report['verdict']}")
    named = re.search(r"[Rr]anks? (\d+)", report["verdict"])
    expect(named and named[1] == "1", f"rank 1 is not the first in: {report['verdict']}")


@scenario
def cut_cable(lab):
    """the cable of node 0's HCA is pulled between two steps: the network is blamed, and the HCA named"""
    running = Torch(lab, "steps", GIVES_UP)
    wait_for("connections", lambda: of(running.events(), "conn.ready"), DEADLINE_SEC)
    wait_sent(HCAS[0], 50)
    lab.callback(fabric.wait_state, HCAS[0], "ACTIVE")
    lab.callback(ip, "link set pa0 up", netns="sw")
    ip("link set pa0 down", netns="sw")
    code, report, printed, events = running.wait()
    expect(code != 0, f"exit code {code}: {printed[-4000:]}")
    check_paths(events)
    expect(report["blame"] == "network" and HCAS[0] in report["verdict"], f"report: {report['verdict']}")
