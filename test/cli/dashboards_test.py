"""Grafana's dashboards and Prometheus' alerts, as a real Prometheus sees a real job: dashboards_test.py TOOL PART [--write]

`files`: what Grafana must find in the dashboards. `panels`: Prometheus scrapes an exporter on an emulated node. While the job is healthy every
panel has data and no alert fires; then a rank is stopped, and the alerts for that fire until it goes on. At last a job
fails, and its cause is told and shown. What was seen meanwhile is drawn (drawn_dashboard.py): each panel has something. --write makes
docs/dashboard.png of it, with chromium.
"""
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import drawn_dashboard
from exported import BOUND_SEC, EXAMPLES, SCENARIO, TOOL
from scraped import Scraped

PART, WRITE = sys.argv[2], "--write" in sys.argv
PICTURE, SIZE = pathlib.Path(__file__).parents[2] / "docs" / "dashboard.png", (1200, 1166)
BOARDS = {file.stem: json.loads(file.read_text()) for file in (EXAMPLES / "grafana").glob("*.json")}
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
STALL_SEC = 20  # of the alerts, in place of a minute
HCAS = {f"mlx5_{i}" for i in range(8)} | {"mlx5_bond_0"}


# A cable that stays out: the HCA gives up half a minute later, so that the exporter has seen the job.
FAILING = """
[[host]]
count = 2
[[host.hca]]
address = "10.0.0.{h+1}/24"
[[fault]]
kind = "link-down"
host = "node0"
hca = "mlx5_0"
after_messages = 40
"""


def targets():
    """[(dashboard and panel, query, labels that its legend or its table names)]"""
    for name, board in BOARDS.items():
        for panel in board["panels"]:
            for target in panel["targets"]:
                legend = re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", ""))
                yield f"{name}: {panel['title']} {target['refId']}", target["expr"], set(legend)


class Files(unittest.TestCase):
    def test_dashboards(self):
        self.assertEqual(set(BOARDS), {"job", "node", "fleet"})
        self.assertEqual(len({board["uid"] for board in BOARDS.values()}), len(BOARDS))
        for name, board in BOARDS.items():
            self.assertIn(board["schemaVersion"], range(36, 40), name)  # Grafana 10 and 11
            variables = {one["name"]: one for one in board["templating"]["list"]}
            self.assertEqual(set(variables), {"datasource", "hpc_job", "instance"}, name)
            self.assertEqual(variables["datasource"]["type"], "datasource")
            for one in (variables["hpc_job"], variables["instance"]):
                self.assertEqual((one["type"], one["datasource"]), ("query", SOURCE))

    def test_panels(self):
        for name, board in BOARDS.items():
            places, ids = set(), set()
            for panel in board["panels"]:
                self.assertTrue(panel["title"] and panel["description"], name)
                self.assertTrue(panel["fieldConfig"]["defaults"]["unit"], panel["title"])
                self.assertEqual(panel["datasource"], SOURCE)
                ids.add(panel["id"])
                at = panel["gridPos"]
                self.assertLessEqual(at["x"] + at["w"], 24)
                covered = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
                self.assertFalse(covered & places, panel["title"])
                places |= covered
                for target in panel["targets"]:
                    self.assertEqual(target["datasource"], SOURCE)
                    self.assertLessEqual(set(re.findall(r"\$(\w+)", target["expr"])), {"hpc_job", "instance", "__rate_interval", "__range"})
            self.assertEqual(len(ids), len(board["panels"]))


class Panels(Scraped):
    def start_exporter(self):
        """On the first of the scenario's nodes, which has HCAs."""
        told = self.dir / "told"
        self.call("rehearse", "--scenario", SCENARIO, "--quiet", "--logs", self.dir / "node", "--", "sh", "-c",
                  f"[ $NODE_RANK = 0 ] || exec sleep 3600; exec {TOOL} exporter --listen 0 --every 1 2>{told}")
        return self.serving(told)

    def rules(self):
        out = super().rules()
        for said, short in ((r"> 60\b", f"> {STALL_SEC}"), (r"for: 5m", "for: 10s"), (r"\[5m\]", "[30s]")):
            out, count = re.subn(said, short, out)
            self.assertGreater(count, 0, said)
        return out

    def with_variables(self, query):
        """With what Grafana puts in their place."""
        for name, value in (("$hpc_job", self.job), ("$instance", self.target), ("$__rate_interval", "30s"), ("$__range", "5m")):
            query = query.replace(name, value)
        return query

    def ask(self, query):
        return super().ask(self.with_variables(query))

    def draw(self, name, span):
        begin, end, step = span

        def ask(query):
            found = self.get("query_range", query=self.with_variables(query), start=begin, end=end, step=step)["result"]
            return [(one["metric"], [(float(at), float(value)) for at, value in one["values"]]) for one in found]

        return drawn_dashboard.page(BOARDS[name], ask, span, f"job {self.job}, drawn without Grafana from what Prometheus answered")

    def write(self, page):
        file = self.dir / "page.html"
        file.write_text(page)
        subprocess.run([shutil.which("chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                        f"--user-data-dir={self.dir}/profile", f"--window-size={SIZE[0]},{SIZE[1]}", f"--screenshot={PICTURE}", file.as_uri()],
                       capture_output=True, timeout=400, check=True)

    def alerts(self, state="firing"):
        """{(name, rank)}: of our job, or of the node's ports. Other jobs of this machine may be in trouble."""
        found = self.ask(f'ALERTS{{alertstate="{state}"}}')
        return {(has["alertname"], has.get("rank")) for has, _ in found if has.get("hpc_job") == self.job or "hpc_job" not in has}

    def lacks(self, query, labels):
        """What is not as it should be in the query's answer; empty: nothing."""
        found = [(has, value) for has, value in self.ask(query) if math.isfinite(value)]
        if not found:
            return "no data"
        if any(not labels <= set(has) for has, _ in found):
            return f"labels {labels} of {found}"
        # Other jobs may run here, on HCAs of other names: a job's own panels show it alone.
        if "rank" in labels and {has["rank"] for has, _ in found} != {"0", "1"}:
            return f"ranks of {found}"
        if "device" in labels and not {has["device"] for has, _ in found} & HCAS:
            return f"HCAs of {found}"
        return ""

    def variables(self):
        """Of each dashboard, what Grafana would offer."""
        for board in BOARDS.values():
            for one in board["templating"]["list"]:
                if one["type"] == "query":
                    series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", one["query"]["query"]).groups()
                    series = series.replace("$hpc_job", self.job).replace("$instance", self.target)
                    yield one["name"], self.get(f"label/{label}/values", **{"match[]": series})

    def test_a_job(self):
        address = self.start_exporter()
        self.process = self.start_job()
        began = time.time()
        self.start_prometheus(address)
        healthy = {name: (query, labels) for name, query, labels in targets() if "ALERTS" not in query}
        last = {}

        def all_have_data():
            last.update((name, self.lacks(*one)) for name, one in healthy.items() if last.get(name, "?"))
            return not any(last.values())

        try:
            self.until(all_have_data)
        except AssertionError:
            self.fail("\n".join(f"{name}: {what}" for name, what in last.items() if what))
        for name, values in self.variables():
            self.assertIn({"hpc_job": self.job, "instance": self.target}[name], values)
        self.until(lambda: [value for _, value in self.ask("count_over_time(nccl_net_diag_processes{hpc_job=\"$hpc_job\"}[10m])")
                            if value > 2 * STALL_SEC])
        self.assertEqual(self.alerts(), set())
        self.assertEqual([one for one in self.ask('count_over_time(ALERTS{alertstate="firing",hpc_job="$hpc_job"}[10m])')], [])

        ranks = self.ranks()
        os.kill(ranks[0], signal.SIGSTOP)
        self.until(lambda: {("NcclStall", "1"), ("NcclProcessSilent", "0")} <= self.alerts())
        self.assertLessEqual({name for name, _ in self.alerts()}, {"NcclStall", "NcclProcessSilent"})
        for name, query, labels in targets():
            if "ALERTS" in query:
                self.assertEqual(self.lacks(query, labels), "", name)
        shown = {name: self.ask(query) for name, query, _ in targets() if "Longest wait" in name or name.startswith("job: Silence")}
        self.assertGreater(len(shown), 3)
        for name, found in shown.items():
            self.assertGreater(max(value for _, value in found), STALL_SEC, name)
        os.kill(ranks[0], signal.SIGCONT)
        self.until(lambda: not self.alerts())
        self.assertIsNone(self.process.poll())
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.communicate(timeout=BOUND_SEC)

        (self.dir / "failing.toml").write_text(FAILING)
        self.process = self.start_job(self.dir / "failing.toml")
        self.until(lambda: any(name == "NcclFailure" for name, _ in self.alerts()))
        self.process.communicate(timeout=BOUND_SEC)
        failed = {has["cause"] for has, _ in self.ask('nccl_net_diag_failures_total{hpc_job="$hpc_job",severity="error"}')}
        self.assertTrue(failed and failed <= {"ASYNC-PORT", "WC-12"}, failed)
        shown = [{has["cause"] for has, _ in self.ask(query)} for name, query, _ in targets() if "by cause" in name]
        self.assertEqual(len(shown), 3)
        for one in shown:
            self.assertLessEqual(failed | {"DEV-BOND"}, one)

        if WRITE:
            time.sleep(20)  # what came last is to be seen
        span = (began, time.time(), 1)
        for name in BOARDS:
            page, drawn = self.draw(name, span)
            self.assertEqual({title for title, count in drawn.items() if count == 0}, set(), name)
            self.assertEqual(page.count("<section"), len(BOARDS[name]["panels"]))
            if WRITE and name == "job":
                self.write(page)


if __name__ == "__main__":
    if PART == "panels" and shutil.which("prometheus") is None:
        print("SKIPPED: no prometheus")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], {"files": "Files", "panels": "Panels"}[PART]])
