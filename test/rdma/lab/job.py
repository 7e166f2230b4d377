"""Whole NCCL jobs without GPUs (nnd-job), one rank a node."""
import json
import os
import signal
import subprocess

from lab import fabric
from lab.ranks import PATIENCE, Options, environment_of
from lab.shell import read


class JobRank:
    """A rank of a job, by what it leaves."""

    def __init__(self, name):
        self.name, self.result = name, None
        self.log_file = f"{Options.logs}/{name}/log.jsonl"
        os.mkdir(f"{Options.logs}/{name}")

    @property
    def nccl_log(self):
        """NCCL's own lines. The job's error is only the last of them, and not always the first one's cause."""
        return read(f"{Options.logs}/{self.name}/nccl.log")

    def events(self):
        """So far."""
        if not os.path.exists(self.log_file):
            return []
        with open(self.log_file) as log:
            return [json.loads(line) for line in log if line.endswith("\n")]

    def signal(self, number):
        os.kill(self.events()[0]["pid"], number)


class Job:
    """An all-reduce whose data is checked, one rank for each HCA (or list of them). more: of nnd-job's options."""

    def __init__(self, lab, hcas, environment=None, *more, iterations=3):
        gpu = sorted(os.listdir("/sys/bus/pci/devices"))[-4]
        self.ranks = [JobRank(f"{lab.name}.{rank}") for rank in range(len(hcas))]
        command = [f"{Options.build}/tools/emulation/nnd-job", "--nccl", Options.nccl, "--nodes", str(len(hcas)), "--gpus", "1",
                   "--gpu-pci", gpu, "--size", "300000", "--iterations", str(iterations), "--deadline", "240", "--json",
                   "--env", "NCCL_DEBUG=INFO", *more]
        for number, (rank, hca) in enumerate(zip(self.ranks, hcas)):
            command += ["--rank-env", f"{number}:NCCL_IB_HCA=={hca}", "--rank-env", f"{number}:RANK={number}",
                        "--rank-env", f"{number}:NCCL_NET_DIAG_FILE={rank.log_file}",
                        "--rank-env", f"{number}:NCCL_DEBUG_FILE={Options.logs}/{rank.name}/nccl.log"]
        environment = environment_of("", hcas[0], environment)
        for variable in ("NCCL_IB_HCA", "NCCL_NET_DIAG_FILE"):
            del environment[variable]
        self._file = f"{Options.logs}/{self.ranks[0].name}/job.json"
        with open(self._file, "w") as file:
            self._process = subprocess.Popen(command, env=environment, stdout=file, stderr=subprocess.STDOUT)
        lab.callback(self.end)

    def wait(self):
        """Until it ends by itself: its ranks, with their results."""
        self._process.wait(timeout=PATIENCE + 60)
        for rank, result in zip(self.ranks, json.loads(read(self._file))["ranks"]):
            rank.result = result
        return self.ranks

    def end(self):
        """Its ranks end with it."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()


def run_job(lab, hcas, environment=None):
    return Job(lab, hcas, environment).wait()


def greet_all(hcas):
    for own in set(hcas):
        for other in set(hcas) - {own}:
            fabric.greet(fabric.HCAS[own][0], fabric.HCAS[other][1].split("/")[0])
