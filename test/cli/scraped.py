"""A real Prometheus that scrapes an exporter of ours, with the rules of examples/prometheus."""
import json
import re
import subprocess
import urllib.parse
import urllib.request

from exported import BOUND_SEC, EXAMPLES, Exported


class Scraped(Exported):
    target = "node0:9988"  # the node's name in it, as on a site

    def rules(self):
        return (EXAMPLES / "prometheus" / "nccl-net-diag.rules.yml").read_text()

    def start_prometheus(self, exporter):
        (self.dir / "rules.yml").write_text(self.rules())
        (self.dir / "prometheus.yml").write_text(f"""
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [rules.yml]
scrape_configs:
  - job_name: nccl-net-diag
    static_configs: [{{targets: ["{exporter}"], labels: {{instance: "{self.target}"}}}}]
""")
        log = self.dir / "prometheus.log"
        with log.open("w") as file:
            prometheus = subprocess.Popen(["prometheus", f"--config.file={self.dir}/prometheus.yml", f"--storage.tsdb.path={self.dir}/data",
                                           "--web.listen-address=127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        self.addCleanup(lambda: (prometheus.kill(), prometheus.wait()))
        self.address = self.until(lambda: re.search(r'msg="Listening on" address=(\S+)', log.read_text())).group(1)
        self.until(lambda: "Server is ready" in log.read_text())

    def get(self, path, **query):
        with urllib.request.urlopen(f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=BOUND_SEC) as answer:
            return json.load(answer)["data"]

    def ask(self, query):
        """[(labels, value)]"""
        return [(one["metric"], float(one["value"][1])) for one in self.get("query", query=query)["result"]]

    def serving(self, told):
        """HOST:PORT of an exporter that writes so on this file."""
        return self.until(lambda: told.exists() and re.search(r"http://(127\.0\.0\.1:\d+)/metrics", told.read_text())).group(1)
