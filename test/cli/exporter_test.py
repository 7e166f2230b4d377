"""The metrics of a real NCCL job, as node_exporter's collector and Prometheus read them: exporter_test.py TOOL PART

`job`: a job that runs, of which a rank is stopped and goes on, and that ends. `format`: promtool's word on what is printed of it;
`alerts`: on the rules that come with it.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from exported import BOUND_SEC, EXAMPLES, SCENARIO, TOOL, Exported

PART = sys.argv[2]
RULES = EXAMPLES / "prometheus"
SAMPLE = re.compile(r"^([a-z_]+)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')


def samples_of(text):
    """[(name, labels, value)]"""
    found = []
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = SAMPLE.match(line).groups()
            found.append((name, dict(LABEL.findall(labels or "")), float(value)))
    return found


class Filed(Exported):
    def setUp(self):
        super().setUp()
        self.file = self.dir / "nccl.prom"

    def read(self):
        """Of our job."""
        return [one for one in samples_of(self.file.read_text()) if one[1].get("hpc_job") == self.job] if self.file.exists() else []

    def values(self, name, **labels):
        return [value for which, has, value in self.read() if which == name and labels.items() <= has.items()]


class Job(Filed):
    def test_what_a_job_does(self):
        exporter = self.call("exporter", "--textfile", self.file, "--every", "1")
        self.process = self.start_job()
        moved = "nccl_net_diag_bytes_total"
        first = self.until(lambda: sum(self.values(moved)))
        self.until(lambda: sum(self.values(moved)) > first)
        self.until(lambda: self.values("nccl_net_diag_processes") == [2])
        self.assertGreater(sum(self.values("nccl_net_diag_connections", stage="ready")), 0)
        self.assertEqual(sum(self.values("nccl_net_diag_connections", stage="failed")), 0)
        self.assertEqual(max(self.values("nccl_net_diag_stall_seconds")), 0)
        self.assertEqual(sum(self.values("nccl_net_diag_failed_requests_total")), 0)
        self.assertEqual({key for key in self.failed() if "warn" in key}, {("mlx5_bond_0", "1", "DEV-BOND", "warn")})
        for direction in ("transmit", "receive"):
            self.assertGreater(sum(self.values(moved, direction=direction)), 0)

        stopped = self.ranks()[0]
        os.kill(stopped, signal.SIGSTOP)
        self.until(lambda: max(self.values("nccl_net_diag_stall_seconds", kind="data"), default=0) >= 10)
        self.assertLess(min(self.values("nccl_net_diag_last_sign_of_life_timestamp_seconds")), time.time() - 8)
        os.kill(stopped, signal.SIGCONT)
        self.until(lambda: max(self.values("nccl_net_diag_stall_seconds"), default=1) == 0)

        os.killpg(self.process.pid, signal.SIGINT)
        self.process.communicate(timeout=BOUND_SEC)
        self.until(lambda: {name for name, _, _ in self.read()} == {"nccl_net_diag_failures_total"})
        exporter.send_signal(signal.SIGTERM)
        _, err = exporter.communicate(timeout=BOUND_SEC)
        self.assertEqual(exporter.returncode, 0, err)
        self.assertEqual([one.name for one in self.dir.glob("nccl.prom*")], [])

    def failed(self):
        """{(device, port, cause, severity): how often}, of all ranks of our job."""
        found = {}
        for name, has, value in self.read():
            if name == "nccl_net_diag_failures_total":
                key = tuple(has[label] for label in ("device", "port", "cause", "severity"))
                found[key] = found.get(key, 0) + value
        return found

    def test_why_a_job_failed(self):
        exporter = self.call("exporter", "--textfile", self.file, "--every", "1")
        job = self.start_job("link-drop")
        down = ("mlx5_0", "1", "ASYNC-PORT", "warn")
        self.until(lambda: down in self.failed())
        os.killpg(job.pid, signal.SIGINT)
        job.communicate(timeout=BOUND_SEC)
        # It is counted as `report` counts it, also when the job has ended.
        self.until(lambda: self.values("nccl_net_diag_processes") == [])
        told = [json.loads(line) for log in (self.dir / "logs").glob("*/**/*.jsonl") for line in log.read_text().splitlines()]
        once = {(one["proc"], one["failure"]) for one in told if one.get("cause") == "ASYNC-PORT" and one["sev"] == "warn"}
        self.assertEqual(self.failed()[down], len(once))
        self.assertLessEqual({has["cause"] for name, has, _ in self.read() if name == "nccl_net_diag_failures_total"},
                             {one.get("cause") for one in told})
        exporter.send_signal(signal.SIGTERM)
        exporter.communicate(timeout=BOUND_SEC)

    def on_a_node(self):
        """What is printed on the first of the scenario's nodes."""
        node = self.call("rehearse", "--scenario", SCENARIO, "--quiet", "--logs", self.dir / "node", "--", "sh", "-c",
                         f"exec {TOOL} exporter >{self.dir}/printed.$NODE_RANK")
        _, err = node.communicate(timeout=BOUND_SEC)
        self.assertEqual(node.returncode, 0, err)
        return samples_of((self.dir / "printed.0").read_text())

    def test_a_nodes_ports(self):
        seen = self.on_a_node()
        verdicts = {(has["device"], has["port"], has["verdict"]) for name, has, _ in seen if name == "nccl_net_diag_hca_info"}
        self.assertEqual(verdicts, {(f"mlx5_{i}", "1", "taken") for i in range(8)} | {("mlx5_bond_0", "1", "taken")})
        speeds = {value for name, has, value in seen if name == "nccl_net_diag_hca_speed_bytes_per_second" and has["device"] == "mlx5_0"}
        self.assertEqual(speeds, {50e9})
        job = self.start_job()
        self.until(lambda: {has["device"] for name, has, _ in self.on_a_node() if name == "nccl_net_diag_port_counter_total"})
        os.killpg(job.pid, signal.SIGINT)
        job.communicate(timeout=BOUND_SEC)

    def test_a_file_that_is_wrong(self):
        for file, code in ((self.dir / "metrics.txt", 2), (self.dir / "none" / "nccl.prom", 3)):
            exporter = self.call("exporter", "--textfile", file)
            _, err = exporter.communicate(timeout=BOUND_SEC)
            self.assertEqual(exporter.returncode, code, err)
            self.assertIn(str(file), err)

    def test_another_users_link_is_not_followed(self):
        victim = self.dir / "victim"
        victim.write_text("kept")
        self.file.symlink_to(victim)
        exporter = self.call("exporter", "--textfile", self.file, "--every", "1")
        self.until(lambda: not self.file.is_symlink())
        exporter.send_signal(signal.SIGTERM)
        exporter.communicate(timeout=BOUND_SEC)
        self.assertEqual(victim.read_text(), "kept")


class Format(Exported):
    def check(self):
        exporter = self.call("exporter")
        out, err = exporter.communicate(timeout=BOUND_SEC)
        self.assertEqual(exporter.returncode, 0, err)
        done = subprocess.run(["promtool", "check", "metrics"], input=out, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        return samples_of(out)

    def test_format(self):
        self.check()
        job = self.start_job()
        self.until(lambda: any(has.get("hpc_job") == self.job for name, has, value in self.check() if name == "nccl_net_diag_bytes_total"))
        os.killpg(job.pid, signal.SIGINT)
        job.communicate(timeout=BOUND_SEC)


class Alerts(Exported):
    def test_rules(self):
        rules = RULES / "nccl-net-diag.rules.yml"
        for words in (["check", "rules", rules], ["test", "rules", RULES / "nccl-net-diag.test.yml"]):
            done = subprocess.run(["promtool", *words], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        out, _ = self.call("exporter").communicate(timeout=BOUND_SEC)
        known = set(re.findall(r"^# TYPE (\S+)", out, re.MULTILINE))
        self.assertLessEqual(set(re.findall(r"nccl_net_diag_\w+", rules.read_text())), known)


if __name__ == "__main__":
    if PART in ("format", "alerts") and shutil.which("promtool") is None:
        print("SKIPPED: no promtool")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], {"job": "Job", "format": "Format", "alerts": "Alerts"}[PART]])
