"""A job of ours that runs, and what the exporter says of it meanwhile."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from processes import is_below

TOOL = sys.argv[1]
SCENARIO = "two-nodes-8-hca-bond"
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
BOUND_SEC = 120  # of a busy machine


class Exported(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="nnd-exporter-")
        self.addCleanup(directory.cleanup)
        self.dir = pathlib.Path(directory.name)

    def call(self, *words, **more):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NCCL")}
        process = subprocess.Popen([TOOL, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment | {"TMPDIR": str(self.dir)} | more, start_new_session=True, text=True)
        self.addCleanup(lambda: process.poll() is None and os.killpg(process.pid, signal.SIGKILL))
        return process

    def start_job(self, scenario=SCENARIO):
        """A rehearsal that goes on until it is ended. Other jobs may run on this machine: ours has a number of its own."""
        self.job = str(os.getpid())
        return self.call("rehearse", "--scenario", scenario, "--json", "--quiet", "--iterations", "1000000", "--deadline", "3600",
                         "--logs", self.dir / "logs", SLURM_JOB_ID=self.job)

    def ranks(self):
        """{rank: its process}"""
        out, _ = self.call("top", "--json").communicate(timeout=BOUND_SEC)
        return {one["rank"]: one["pid"] for one in json.loads(out)["processes"] if is_below(one["pid"], self.process.pid)}

    def until(self, holds):
        end = time.monotonic() + BOUND_SEC
        while time.monotonic() < end:
            if found := holds():
                return found
            time.sleep(0.1)
        self.fail("it did not come to that")
