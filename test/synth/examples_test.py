#!/usr/bin/env python3
"""The examples that run a job, as they stand: where the job fails they end with the report's verdict and the job's exit code, and
where it goes well they say nothing. What they start is played: it leaves the logs of a job whose cable broke, or of a healthy one,
where NCCL_NET_DIAG_FILE says. examples_test.py TOOL WRITE_JOB EXAMPLES"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml
except ImportError:
    yaml = None

TOOL, WRITE_JOB, EXAMPLES = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])

# srun, torchrun, mpirun: variables come by the environment, or by -x.
LAUNCHER = """#!/usr/bin/env bash
set -eu
while [ $# -gt 0 ]; do
  if [ "$1" = -x ]; then export "${2?}"; shift; fi
  shift
done
[ "$NCCL_NET_PLUGIN" = diag ] && [ "$NCCL_NET_PLUGIN_REF_COUNT" = 1 ] || exit 99
case $LD_LIBRARY_PATH in /opt/nccl-net-diag/lib | /opt/nccl-net-diag/lib:?*) ;; *) exit 98 ;; esac
file=${NCCL_NET_DIAG_FILE//%j/77}
"$WRITE_JOB" "$(dirname "$file")" 16 "$FAULT" 3 >/dev/null
exit "$STATUS"
"""


class Examples(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = pathlib.Path(scratch.name)
        (self.dir / "bin").mkdir()
        (self.dir / "bin" / "nccl-net-diag").symlink_to(TOOL)
        for name in ("srun", "torchrun", "mpirun"):
            file = self.dir / "bin" / name
            file.write_text(LAUNCHER)
            file.chmod(0o755)

    def environment(self, **more):
        return {**os.environ, "PATH": f"{self.dir}/bin:{os.environ['PATH']}", "LOGS": str(self.dir / "logs"), "NO_COLOR": "1",
                "COLUMNS": "120", "WRITE_JOB": WRITE_JOB, **more}

    def play(self, example, fault, status):
        host = subprocess.run(["hostname"], capture_output=True, text=True, check=True).stdout.strip()
        environment = self.environment(FAULT=fault, STATUS=str(status), NNODES="2", HEAD=host, SLURM_SUBMIT_DIR=str(self.dir), SLURM_JOB_ID="77")
        return subprocess.run(["bash", EXAMPLES / example], cwd=self.dir, env=environment, capture_output=True, text=True, check=False)

    def test_jobs(self):
        for example in ("slurm/job.sbatch", "torchrun/run.sh", "mpirun/run.sh"):
            with self.subTest(example=example):
                failed = self.play(example, "cable-told", 7)
                self.assertEqual(failed.returncode, 7, failed.stderr)
                first = failed.stdout.splitlines()[0] if failed.stdout else failed.stderr
                self.assertRegex(first, r"^not fine: mlx5_\d of node\d: ASYNC-PORT, ")
                fine = self.play(example, "none", 0)
                self.assertEqual((fine.returncode, fine.stdout), (0, ""), fine.stderr)

    @unittest.skipIf(yaml is None, "no python3-yaml")
    def test_pod(self):
        pod = yaml.safe_load((EXAMPLES / "kubernetes" / "pod.yaml").read_text())["spec"]
        sidecar = next(one for one in pod["initContainers"] if one["name"] == "report")
        self.assertEqual(sidecar["restartPolicy"], "Always")
        logs = next(mount["mountPath"] for mount in sidecar["volumeMounts"])
        self.assertEqual({one["name"]: one["value"] for one in sidecar["env"]}, {"LOGS": logs})
        written = next(one["value"] for one in pod["containers"][0]["env"] if one["name"] == "NCCL_NET_DIAG_FILE")
        self.assertEqual(os.path.dirname(written), logs)
        subprocess.run([WRITE_JOB, self.dir / "logs", "16", "cable-told", "3"], check=True, capture_output=True)
        # The shell tells that it has set its trap by what it starts next.
        (self.dir / "bin" / "sleep").write_text("#!/bin/sh\necho waiting\nexec /bin/sleep 60\n")
        (self.dir / "bin" / "sleep").chmod(0o755)
        process = subprocess.Popen([*sidecar["command"], *sidecar["args"]], env=self.environment(), stdout=subprocess.PIPE, text=True,
                                   start_new_session=True)
        try:
            self.assertEqual(process.stdout.readline(), "waiting\n")
            process.send_signal(signal.SIGTERM)
            self.assertRegex(process.stdout.readline(), r"^not fine: mlx5_\d of node\d: ASYNC-PORT, ")
            process.wait(60)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.stdout.close()
            process.wait()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
