#!/usr/bin/env python3
"""examples/slurm/job.sbatch as it stands, by a real Slurm, with a real NCCL job on two emulated nodes:
slurm_test.py TOOL ON_HOST PROGRAM PLUGIN. Played is the training script alone: a program that reduces twice."""
import glob
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import own_slurm
from real_job import NCCL, ON_HOST, PLUGIN, PROGRAM, ROOT, TOOL, environment, script

BOUND_SEC = 240

# A rank on its node. "raise": rank 1 ends with an error between two steps. "hang": it stays in its own code there, and so it is in the first
# attempt of "requeued". Ranks wait for each other's marks after each step; one that hangs waits where nobody leaves any.
PYTHON = """#!/bin/bash
set -eu
export LD_LIBRARY_PATH=$PLUGIN_DIR:$LD_LIBRARY_PATH RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS
export MEET=$SLURM_SUBMIT_DIR/meet.$SLURM_JOB_ID.${SLURM_RESTART_COUNT:-0}
mkdir -p "$MEET"
[ "$FAULT" = requeued ] && [ "${SLURM_RESTART_COUNT:-0}" = 0 ] && FAULT=hang
steps="open-global init reduce reduce destroy exit"
case $FAULT.$RANK in
  raise.1) steps="open-global init reduce raise destroy exit" ;;
  hang.1)
    mkdir "$MEET/alone"
    until [ -e "$MEET/id" ]; do sleep 0.1; done
    cp "$MEET/id" "$MEET/alone/"
    touch "$MEET/4.1"
    MEET=$MEET/alone ;;
esac
exec "$ON_HOST" "$SCENARIO" "node$SLURM_NODEID" "$FABRIC" "$PROGRAM" "$NCCL" $steps
"""


def verdict_of(said):
    return next((line for line in said.splitlines() if "not the network" in line or line.startswith(("fine", "not fine"))), "")


class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="nnd-slurm-")
        cls.addClassCleanup(scratch.cleanup)
        cls.dir = pathlib.Path(scratch.name)
        place = cls.dir / "slurm"
        epilog = cls.dir / "epilog"
        script(epilog, f"#!/bin/sh\nPATH={cls.dir}/bin:$PATH exec {ROOT}/examples/slurm/epilog.sh\n")
        none, end = own_slurm.started(place, f"Epilog={epilog}")
        cls.addClassCleanup(end)
        if none:
            raise unittest.SkipTest(none)
        cls.environment = environment(cls.dir / "bin", "two-nodes-8-hca-bond.toml", SLURM_CONF=str(place / "slurm.conf"),
                                      PLUGIN_DIR=os.path.dirname(PLUGIN), LD_LIBRARY_PATH="", COLUMNS="120")
        script(cls.dir / "bin" / "python", PYTHON)

    def run_slurm(self, *words):
        return subprocess.run(words, env=self.environment, capture_output=True, text=True, check=True).stdout.strip()

    def submit(self, fault, user="root", **more):
        """The job's number. One task a node, by the command line: a machine that runs tests is small."""
        fabric = tempfile.mkdtemp(dir=self.dir, prefix="fabric.")
        work = pathlib.Path(tempfile.mkdtemp(dir=self.dir, prefix="work."))
        for made in (fabric, work):
            shutil.chown(made, user)
        environment = self.environment | {"FAULT": fault, "FABRIC": fabric} | more
        said = subprocess.run(["sbatch", "--parsable", f"--uid={user}", "--requeue", "--ntasks-per-node=1", "--gpus-per-node=4",
                               ROOT / "examples/slurm/job.sbatch"], cwd=work, env=environment, capture_output=True, text=True, check=True)
        job = said.stdout.strip()
        self.addCleanup(subprocess.run, ["scancel", job], env=self.environment, check=False)
        return job, work

    def ended(self, job):
        """What Slurm says of it then; "": it goes on."""
        told = self.run_slurm("scontrol", "show", "job", job)
        return "" if any(f"JobState={state}" in told for state in ("RUNNING", "PENDING", "COMPLETING")) else told

    def until(self, holds, job, work, ends=False):
        end = time.monotonic() + BOUND_SEC
        while time.monotonic() < end and (ends or not self.ended(job)):
            if found := holds():
                return found
            time.sleep(0.2)
        return self.fail("it did not come to that: " + self.said(work))

    def said(self, work):
        return "".join(pathlib.Path(file).read_text() for file in glob.glob(f"{work}/slurm-*.out"))

    def outcome(self, job, work):
        """(exit code, what it printed)"""
        told = self.until(lambda: self.ended(job), job, work, ends=True)
        code = int(told.split(" ExitCode=")[1].split(":")[0])
        return code, self.said(work)

    def epilog(self, job, work):
        """What it left."""
        file = work / "nccl-net-diag" / job / "report.txt"
        end = time.monotonic() + BOUND_SEC
        while not (file.exists() and file.read_text()) and time.monotonic() < end:
            time.sleep(0.2)
        return file

    def logs(self, job, work):
        return sorted((work / "nccl-net-diag" / job).glob("*.jsonl"))

    def test_two_that_go_well_side_by_side(self):
        jobs = [self.submit("none") for _ in range(2)]
        for job, work in jobs:
            code, said = self.outcome(job, work)
            self.assertEqual(code, 0, said)
            self.assertEqual(said.count("the sum is right"), 4, said)
            self.assertEqual(verdict_of(said), "")
            self.assertEqual(len(self.logs(job, work)), 2)
        self.assertFalse((work / "nccl-net-diag" / job / "report.txt").exists())  # nothing failed

    def test_two_users_on_the_same_nodes(self):
        users = ["daemon", "nobody"]
        self.dir.chmod(0o755)  # theirs lie in it
        nccl = self.dir / "libnccl.so.2"  # the cache is in the home of who runs this
        shutil.copy(NCCL, nccl)
        for user in users:
            for file in (TOOL, ON_HOST, PROGRAM, PLUGIN):
                if subprocess.run(["test", "-r", file], user=user, group=users[0], extra_groups=[], check=False).returncode != 0:
                    self.skipTest(f"{user} can't reach {file}")
        jobs = [(user, *self.submit(fault, user, NCCL=str(nccl))) for user, fault in zip(users, ["none", "raise"])]
        for user, job, work in jobs:
            code, said = self.outcome(job, work)
            logs = self.logs(job, work)
            self.assertEqual(len(logs), 2, said)
            for log in [*logs, logs[0].parent]:
                self.assertEqual((log.owner(), log.stat().st_mode & 0o077), (user, 0), log)
            if user == users[0]:
                self.assertEqual((code, said.count("the sum is right"), verdict_of(said)), (0, 4, ""), said)
            else:
                self.assertTrue(verdict_of(said).startswith("not the network: 2 processes on 2 hosts ended together"), said)
                left = self.epilog(job, work)
                self.assertTrue(verdict_of(left.read_text()).startswith(verdict_of(said)), left.read_text())  # the job's lines are wrapped
                self.assertEqual(left.owner(), user)

    def test_one_of_which_a_rank_ends(self):
        job, work = self.submit("raise")
        code, said = self.outcome(job, work)
        self.assertNotEqual(code, 0, said)
        self.assertTrue(verdict_of(said).startswith("not the network: 2 processes on 2 hosts ended together"), said)
        self.assertRegex(" ".join(said.split()), r"What was printed tells that rank 1 \(node\d\) ended with exit code 1\.")

    def test_one_that_hangs_until_its_time_is_up(self):
        job, work = self.submit("hang")
        self.until(lambda: any('"ev":"conn.stall"' in log.read_text() for log in self.logs(job, work)), job, work)
        self.run_slurm("scancel", "--batch", "--signal=TERM", job)  # what --signal=B:TERM@120 sends
        code, said = self.outcome(job, work)
        self.assertNotEqual(code, 0, said)
        self.assertRegex(verdict_of(said), r"^not fine: not the network: rank 1 \(node\d\)", said)

    def test_one_that_is_requeued(self):
        job, work = self.submit("requeued")
        self.until(lambda: len(self.logs(job, work)) == 2 and "the sum is right" in self.said(work), job, work)
        self.run_slurm("scontrol", "requeue", job)
        code, said = self.outcome(job, work)
        self.assertEqual(code, 0, said)
        self.assertEqual(len(self.logs(job, work)), 4)  # of both attempts


if __name__ == "__main__":
    if not NCCL.exists():
        print(f"SKIPPED: {NCCL} is not there (test/nccl/fetch-nccl 2.28.9)")
        sys.exit(77)
    done = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False).result
    sys.exit(1 if not done.wasSuccessful() else 77 if done.skipped else 0)
