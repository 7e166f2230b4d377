"""A rail of a node goes down, and whoever looks after nodes says the same of it: sick_hca_test.py TOOL ON_HOST

The exporter to a real Prometheus, which alerts; examples/node-health to node-problem-detector, whose call is played, and to a real Slurm,
which drains the node. When the rail is up again the alert ends, and the node is resumed."""
import json
import os
import shutil
import subprocess
import sys
import time
import unittest

import own_slurm
from exported import EXAMPLES, SCENARIO, TOOL
from scraped import Scraped

ON_HOST = sys.argv[2]
HEALTH = EXAMPLES / "node-health"
SICK = "DEV-DOWN: mlx5_4:1"

SLURM_HEALTH = """#!/bin/bash
[ "$SLURMD_NODENAME" = node0 ] || exit 0
. {dir}/node.sh
export SLURM_CONF={dir}/slurm/slurm.conf NND_TOOL={tool}
exec {health}/slurm-health.sh
"""


class SickHca(Scraped):
    def start_node(self):
        """The exporter on it, and its environment for others."""
        told = self.dir / "told"
        exporter = subprocess.Popen([ON_HOST, EXAMPLES / "scenarios" / f"{SCENARIO}.toml", "node0", self.dir / "node", "bash", "-c",
                                     f"export -p >{self.dir}/node.sh; exec {TOOL} exporter --listen 0 --every 1 2>{told}"])
        self.addCleanup(lambda: (exporter.kill(), exporter.wait()))
        return self.serving(told)

    def start_slurm(self):
        program = self.dir / "health.sh"
        program.write_text(SLURM_HEALTH.format(dir=self.dir, tool=TOOL, health=HEALTH))
        program.chmod(0o755)
        none, end = own_slurm.started(self.dir / "slurm",
                                      f"HealthCheckProgram={program}\nHealthCheckInterval=5\nHealthCheckNodeState=ANY")
        self.addCleanup(end)
        if none:
            self.skipTest(none)

    def link(self, up):
        with (self.dir / "node" / "fabric" / "control").open("a") as control:
            control.write(f"link node0 mlx5_4 1 {up}\n")
        return time.monotonic()

    def alerts(self):
        """Of HCAs: jobs of this machine may be in trouble."""
        found = {(one["labels"]["alertname"], one["annotations"]["summary"]) for one in self.get("alerts")["alerts"]}
        return {(name, summary) for name, summary in found if name.startswith("NcclHca")}

    def slurm_says(self):
        """(state, reason) of the node"""
        done = subprocess.run(["sinfo", "--noheader", "--nodes=node0", "--format=%T|%E"], capture_output=True, text=True, check=True,
                              env=os.environ | {"SLURM_CONF": f"{self.dir}/slurm/slurm.conf"})
        return tuple(done.stdout.strip().split("|"))

    def checked(self):
        """(exit code, line), as node-problem-detector calls it."""
        done = subprocess.run(["bash", "-c", f". {self.dir}/node.sh; NND_TOOL={TOOL} exec {HEALTH}/check-hcas.sh"], capture_output=True, text=True)
        return done.returncode, done.stdout.strip()

    def test_all_say_the_same(self):
        self.start_slurm()
        self.start_prometheus(self.start_node())
        self.until(lambda: self.ask("nccl_net_diag_hca_finding") and self.slurm_says()[0] == "idle")
        self.assertEqual(self.alerts(), set())
        self.assertEqual(self.checked()[0], 0)

        began = self.link(up=0)
        moments = {}
        while len(moments) < 2 and time.monotonic() - began < 180:
            if self.alerts():
                moments.setdefault("alert", time.monotonic() - began)
            if self.slurm_says()[0].startswith("drain"):
                moments.setdefault("drain", time.monotonic() - began)
            time.sleep(0.2)
        self.assertEqual(set(moments), {"alert", "drain"})
        print("from the fault: " + ", ".join(f"{what} after {sec:.0f} s" for what, sec in moments.items()))
        self.assertEqual(self.alerts(), {("NcclHcaSick", f"{SICK} of node0:9988 is not as NCCL needs it")})
        code, line = self.checked()
        self.assertEqual(code, 1)
        self.assertTrue(line.startswith(SICK + " is DOWN "), line)
        kept = json.loads((HEALTH / "node-problem-detector.json").read_text())["pluginConfig"]["max_output_length"]
        self.assertTrue(line[:kept].startswith(SICK), line)
        self.assertEqual(self.slurm_says()[1], f"nccl-net-diag: {line[:160]}".strip())

        self.link(up=1)
        self.until(lambda: not self.alerts() and self.slurm_says()[0] == "idle")
        self.assertEqual(self.checked()[0], 0)


if __name__ == "__main__":
    if shutil.which("prometheus") is None:
        print("SKIPPED: no prometheus")
        sys.exit(77)
    done = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False).result
    sys.exit(1 if not done.wasSuccessful() else 77 if done.skipped else 0)
