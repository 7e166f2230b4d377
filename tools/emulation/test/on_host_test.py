#!/usr/bin/env python3
"""on_host_test.py NND_ON_HOST PROGRAM SCENARIOS: a program with a stock libnccl on two emulated hosts, over NCCL's own IB transport."""
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import unittest

ON_HOST, PROGRAM, SCENARIOS = sys.argv[1:4]
del sys.argv[1:4]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))) / "nccl-net-diag/nccl"
NCCL = pathlib.Path(os.environ.get("NND_NCCL_DIR", CACHE)) / platform.machine() / "2.28.9/libnccl.so.2"
SCENARIO = f"{SCENARIOS}/two-nodes-8-hca-bond.toml"


class OnHost(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="nnd-on-host.")
        self.addCleanup(folder.cleanup)
        self.fabric, self.meet = (pathlib.Path(folder.name) / name for name in ("fabric", "meet"))
        self.fabric.mkdir()
        self.meet.mkdir()

    def test_two_hosts_reduce_over_their_hcas(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NCCL_")}
        ranks = []
        for rank in range(2):
            environment = dict(kept, MEET=str(self.meet), RANK=str(rank), WORLD_SIZE="2", NCCL_DEBUG="INFO")
            ranks.append(subprocess.Popen([ON_HOST, SCENARIO, f"node{rank}", self.fabric, PROGRAM, NCCL, "open-global", "init", "reduce", "destroy", "exit"],
                                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
            self.addCleanup(ranks[-1].kill)
        for rank, process in enumerate(ranks):
            said = process.communicate(timeout=240)[0]
            self.assertEqual(process.returncode, 0, said[-3000:])
            self.assertIn(f"rank {rank}: the sum is right", said)
            self.assertIn("via NET/IB/", said)

    def test_a_host_that_the_scenario_has_not(self):
        wrong = subprocess.run([ON_HOST, SCENARIO, "nobody", self.fabric, "true"], capture_output=True, text=True)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn('there is no host "nobody"', wrong.stderr)


if __name__ == "__main__":
    if not NCCL.exists():
        print(f"SKIPPED: {NCCL} is not there (test/nccl/fetch-nccl 2.28.9)")
        sys.exit(77)
    unittest.main()
