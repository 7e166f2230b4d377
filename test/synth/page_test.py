#!/usr/bin/env python3
"""The page of `nccl-net-diag report --html` in a real browser: tables are drawn, sorted and filtered, the time line zooms, and what
a log says is text. page_test.py TOOL WRITE_JOB"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if CHROMIUM is None:
    print("SKIPPED: no chromium")
    sys.exit(77)

TOOL, WRITE_JOB = sys.argv[1:3]

# What a reader does, and what he sees then.
USER = """<script>
(() => {
const seen = {};
const first = (id, column) => [...document.querySelectorAll("#" + id + " tbody tr")].map(row => row.cells[column].textContent);
const table = document.getElementById("processes"), heads = table.querySelectorAll("th button"), input = table.querySelector("input");
seen.drawn = first("processes", 0).length;
heads[0].click(); seen.up = first("processes", 0);
heads[0].click(); seen.down = first("processes", 0); seen.sorted = heads[0].parentNode.getAttribute("aria-sort");
input.value = "NODE3"; input.dispatchEvent(new Event("input")); seen.hosts = first("processes", 1); seen.count = table.querySelector(".count").textContent;
input.value = ""; input.dispatchEvent(new Event("input"));
table.querySelector(".more").click(); seen.all = first("processes", 0).length;
const line = document.getElementById("line"), axis = () => document.getElementById("axis").textContent;
seen.before = axis();
line.dispatchEvent(new WheelEvent("wheel", {deltaY: -100})); seen.width = line.viewBox.baseVal.width; seen.zoomed = axis();
line.dispatchEvent(new MouseEvent("dblclick")); seen.again = axis();
seen.texts = [...document.querySelectorAll("td, th, text, dd, h1")].map(one => one.textContent).join(" ");
seen.forged = document.querySelectorAll("b, img").length + (window.forged ? 1 : 0);
document.body.replaceChildren(Object.assign(document.createElement("pre"), {textContent: "SEEN" + btoa(unescape(encodeURIComponent(JSON.stringify(seen)))) + "SEEN"}));
})();
</script>"""


class Page(unittest.TestCase):
    def seen(self, fault, ranks, change=lambda text: text):
        import base64
        with tempfile.TemporaryDirectory() as scratch:
            logs, page = pathlib.Path(scratch, "logs"), pathlib.Path(scratch, "page.html")
            subprocess.run([WRITE_JOB, logs, str(ranks), fault, "3"], check=True, capture_output=True)
            for log in logs.iterdir():
                log.write_text(change(log.read_text()))
            subprocess.run([TOOL, "report", logs, "--html", page], capture_output=True, check=False)
            page.write_text(page.read_text().replace("</body>", USER + "</body>"))
            try:
                done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                       f"--user-data-dir={scratch}/profile", "--virtual-time-budget=20000", "--dump-dom", page.as_uri()],
                                      capture_output=True, timeout=240, check=False)
            except subprocess.TimeoutExpired:
                self.skipTest("SKIPPED: the browser doesn't answer here")
        found = re.search(r"SEEN(\S+)SEEN", done.stdout.decode())
        if not done.stdout and done.returncode != 0:
            self.skipTest(f"SKIPPED: the browser doesn't run here: {done.stderr[-300:].decode(errors='replace')}")
        self.assertIsNotNone(found, done.stdout[-2000:])
        return json.loads(base64.b64decode(found[1]))

    def test_tables_and_time_line(self):
        seen = self.seen("cable", 512)
        self.assertEqual(seen["drawn"], 200)
        self.assertEqual(seen["up"], [str(rank) for rank in range(200)])
        self.assertEqual(seen["down"], [str(511 - rank) for rank in range(200)])
        self.assertEqual(seen["sorted"], "descending")
        self.assertEqual({host for host in seen["hosts"] if "node3" not in host}, set())
        self.assertRegex(seen["count"], r"^\d+ of \d+ that fit, of 512$")
        self.assertEqual(seen["all"], 512)
        self.assertLess(seen["width"], 1000)
        self.assertNotEqual(seen["before"], seen["zoomed"])
        self.assertEqual(seen["before"], seen["again"])

    def test_names_are_text(self):
        name = '<b>x</b><img src=x onerror="window.forged=1"></script><script>window.forged=1</script>node'
        seen = self.seen("rank-idle", 64, lambda text: text.replace('"node', json.dumps(name)[:-1]))
        self.assertEqual(seen["forged"], 0)
        self.assertIn("<b>x</b>", seen["texts"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
