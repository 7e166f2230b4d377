#!/usr/bin/env python3
"""examples/mpirun/run.sh as it stands, by a real mpirun, with a real NCCL job of eight ranks on as many emulated nodes:
mpirun_test.py TOOL ON_HOST PROGRAM PLUGIN. Played is all_reduce_perf alone: a program that reduces twice."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from real_job import NCCL, PLUGIN, ROOT, environment, script

ALL_REDUCE_PERF = """#!/bin/bash
set -eu
export RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE MEET=$PWD/meet
steps="open-global init reduce reduce destroy exit"
[ "$RANK" != "$RAISES" ] || steps="open-global init reduce raise destroy exit"
exec "$ON_HOST" "$SCENARIO" "node$RANK" "$FABRIC" "$PROGRAM" "$NCCL" $steps
"""


class Mpirun(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="nnd-mpirun-")
        self.addCleanup(scratch.cleanup)
        self.dir = pathlib.Path(scratch.name)
        for name in ("fabric", "meet"):
            (self.dir / name).mkdir()
        (self.dir / "hosts").write_text("localhost slots=8\n")
        script(self.dir / "all_reduce_perf", ALL_REDUCE_PERF)

    def run_job(self, raises=""):
        variables = environment(self.dir / "bin", "eight-nodes-8-hca-bond.toml", LD_LIBRARY_PATH=os.path.dirname(PLUGIN),
                                LOGS=str(self.dir / "logs"), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                FABRIC=str(self.dir / "fabric"), RAISES=raises)
        return subprocess.run(["bash", ROOT / "examples/mpirun/run.sh"], cwd=self.dir, env=variables, capture_output=True, text=True,
                              timeout=400, check=False)

    def test_one_that_goes_well(self):
        done = self.run_job()
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertEqual(done.stderr.count("the sum is right"), 16, done.stderr)
        self.assertEqual(len(list((self.dir / "logs").rglob("*.jsonl"))), 8)

    def test_one_of_which_a_rank_ends(self):
        done = self.run_job(raises="3")
        self.assertNotEqual(done.returncode, 0)
        # Whether the others were ended later than it is mpirun's affair.
        self.assertRegex(done.stdout, r"^(not fine: not the network: rank 3 \(node3\) died|not the network: 8 processes on 8 hosts ended together)")
        self.assertEqual(len(list((self.dir / "logs").rglob("*.jsonl"))), 8)


if __name__ == "__main__":
    if not NCCL.exists() or shutil.which("mpirun") is None:
        print(f"SKIPPED: no mpirun (openmpi-bin), or no {NCCL}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
