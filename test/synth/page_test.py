#!/usr/bin/env python3
"""The page of `nccl-net-diag report --html` in a real browser: tables are drawn, sorted and filtered, the time line zooms, who waits is
drawn, a phone can show it, and what a log says is text. page_test.py TOOL WRITE_JOB PICTURE [--write]: PICTURE is the README's, which
--write makes again."""
import base64
import hashlib
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if CHROMIUM is None:
    print("SKIPPED: no chromium (on Debian ./dev test installs it; Ubuntu's package is a snap, which doesn't run in a container)")
    sys.exit(77)

TOOL, WRITE_JOB, PICTURE = sys.argv[1:4]
SIZE = 1200, 750  # of the picture

# What a reader does, and what he sees then.
USER = """
(() => {
const seen = {};
const first = (id, column) => [...document.querySelectorAll("#" + id + " tbody tr")].map(row => row.cells[column].textContent);
const texts = what => [...document.querySelectorAll(what)].map(one => one.textContent);
seen.width = innerWidth; seen.needs = document.documentElement.scrollWidth;
seen.highest = Math.max(0, ...[...document.querySelectorAll(".data tbody tr")].map(row => row.offsetHeight));
const map = document.querySelector(".map tbody"), inView = row => row.offsetTop + row.offsetHeight <= row.closest(".wide").clientHeight;
seen.hosts_in_view = map ? [...map.rows].filter(inView).map(row => [row.cells[0].textContent, row.querySelectorAll(".guilty").length]) : [];
seen.boxes = texts(".graph g title"); seen.arrows = texts(".graph .edge title"); seen.tips = document.querySelectorAll(".graph .tip").length;
// Whatever is drawn later lies above.
const drawn = document.querySelector(".graph");
seen.over = drawn ? [...drawn.children].map(one => one.tagName).join(" ").lastIndexOf("g ") < [...drawn.children].map(one => one.tagName).join(" ").indexOf("path") : true;
seen.about = document.querySelector(".about").textContent;
seen.labels = texts(".labels span"); seen.label_at = [...document.querySelectorAll(".labels span")].map(one => one.style.left + one.style.right);
seen.moments = document.getElementById("moments") ? first("moments", 4) : [];
const id = document.getElementById("processes") ? "processes" : "lines", table = document.getElementById(id), heads = table.querySelectorAll("th button"), input = table.querySelector("input");
seen.drawn = first(id, 0).length;
heads[0].click(); seen.up = first(id, 0);
heads[0].click(); seen.down = first(id, 0); seen.sorted = heads[0].parentNode.getAttribute("aria-sort");
input.value = "NODE3"; input.dispatchEvent(new Event("input")); seen.hosts = first(id, 1); seen.count = table.querySelector(".count").textContent;
input.value = ""; input.dispatchEvent(new Event("input"));
table.querySelector(".more").click(); seen.all = first(id, 0).length;
const long = document.querySelector("#lines .long");
if (long) { seen.closed = long.offsetHeight; long.click(); seen.opened = long.offsetHeight; }
const line = document.getElementById("line"), axis = () => document.getElementById("axis").textContent;
if (line) {
  seen.before = axis();
  line.dispatchEvent(new WheelEvent("wheel", {deltaY: -100})); seen.zoom = line.viewBox.baseVal.width; seen.zoomed = axis();
  line.dispatchEvent(new MouseEvent("dblclick")); seen.again = axis();
  document.querySelector(".zoom button").click(); seen.button = line.viewBox.baseVal.width;
  line.querySelector("rect").dispatchEvent(new MouseEvent("click", {bubbles: true})); seen.mark = document.getElementById("mark").textContent;
}
seen.texts = texts("td, th, text, dd, h1").join(" ");
seen.forged = document.querySelectorAll("b, img").length + (window.forged ? 1 : 0);
document.body.replaceChildren(Object.assign(document.createElement("pre"), {textContent: "SEEN" + btoa(unescape(encodeURIComponent(JSON.stringify(seen)))) + "SEEN"}));
})();
"""


def with_user(page):
    """The page with a reader's script, which its policy is made to allow; and with one that it doesn't."""
    source = "'sha256-" + base64.b64encode(hashlib.sha256(USER.encode()).digest()).decode() + "'"
    page, count = re.subn("script-src ", f"script-src {source} ", page, count=1)
    assert count == 1
    return page.replace("</body>", f"<script>window.forged = 1</script><script>{USER}</script></body>")


def size_of(png):
    return struct.unpack(">II", png[16:24]) if png.startswith(b"\x89PNG\r\n\x1a\n") else None


def picture():
    """The page of a job whose cable broke, as it is seen first."""
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([pathlib.Path(WRITE_JOB).resolve(), "logs", "64", "cable-told", "3"], check=True, capture_output=True, cwd=scratch)
        subprocess.run([pathlib.Path(TOOL).resolve(), "report", "logs", "--html", "page.html"], capture_output=True, check=False, cwd=scratch)
        out = pathlib.Path(scratch, "page.png")
        subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", f"--user-data-dir={scratch}/profile",
                        "--virtual-time-budget=20000", f"--window-size={SIZE[0]},{SIZE[1]}", f"--screenshot={out}", pathlib.Path(scratch, "page.html").as_uri()],
                       capture_output=True, timeout=400, check=False)
        return out.read_bytes()


class Page(unittest.TestCase):
    def test_the_picture(self):
        shown = pathlib.Path(PICTURE).read_bytes()
        self.assertEqual(size_of(shown), SIZE)
        now = picture()
        self.assertEqual(size_of(now), SIZE)
        self.assertGreater(len(now), len(shown) / 3)  # fonts differ; an empty page is small

    def seen(self, fault, ranks, change=lambda text: text, width=1280):
        with tempfile.TemporaryDirectory() as scratch:
            logs = pathlib.Path(scratch, "logs")
            subprocess.run([WRITE_JOB, logs, str(ranks), fault, "3"], check=True, capture_output=True)
            for log in logs.iterdir():
                log.write_text(change(log.read_text()))
            return self.seen_of(scratch, logs, width)

    def seen_of(self, scratch, logs, width=1280):
        page = pathlib.Path(scratch, "page.html")
        subprocess.run([TOOL, "report", logs, "--html", page], capture_output=True, check=False)
        page.write_text(with_user(page.read_text()))
        # A window is never as narrow as a phone; a frame is.
        frame = pathlib.Path(scratch, "frame.html")
        frame.write_text(f'<iframe width="{width}" height="2000" src="page.html"></iframe>' + """<script>
            addEventListener("load", () => { document.body.textContent = frames[0].document.body.textContent; });</script>""")
        done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                               "--allow-file-access-from-files", f"--user-data-dir={scratch}/profile", "--virtual-time-budget=20000",
                               "--dump-dom", frame.as_uri()], capture_output=True, timeout=400, check=False)
        found = re.search(r"SEEN(\S+)SEEN", done.stdout.decode())
        self.assertIsNotNone(found, (done.stdout[-2000:], done.stderr[-2000:]))
        out = json.loads(base64.b64decode(found[1]))
        self.assertEqual(out["width"], width)
        return out

    def test_tables_and_time_line(self):
        seen = self.seen("cable", 512)
        self.assertEqual(seen["drawn"], 200)
        self.assertEqual(seen["up"], [str(rank) for rank in range(200)])
        self.assertEqual(seen["down"], [str(511 - rank) for rank in range(200)])
        self.assertEqual(seen["sorted"], "descending")
        self.assertEqual({host for host in seen["hosts"] if "node3" not in host}, set())
        self.assertRegex(seen["count"], r"^\d+ of \d+ that fit, of 512$")
        self.assertEqual(seen["all"], 512)
        self.assertLess(seen["zoom"], 1000)
        self.assertEqual(seen["button"], 500)
        self.assertNotEqual(seen["before"], seen["zoomed"])
        self.assertEqual(seen["before"], seen["again"])
        self.assertRegex(seen["mark"], r"^\d\d:\d\d:\d\d\.\d{3} .*: \S")
        # Marks have words, where they are and in a table.
        self.assertIn("WC-12", seen["labels"])
        self.assertTrue(all("%" in at for at in seen["label_at"]))
        self.assertIn("WC-12", seen["moments"])

    def test_the_guilty_is_seen_first(self):
        seen = self.seen("cable", 4096)
        self.assertGreater(len(seen["hosts_in_view"]), 5)
        self.assertGreater(seen["hosts_in_view"][0][1], 0)
        guilty = [count > 0 for _, count in seen["hosts_in_view"]]
        self.assertEqual(guilty, sorted(guilty, reverse=True))

    def test_what_job_it_was(self):
        about = self.seen("none", 64)["about"]
        self.assertIn("64 processes on 8 hosts; 2027-01-15 08:00:", about)
        self.assertRegex(about, r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}, nccl-net-diag \d+\.\d+\.\d+: nccl-net-diag report /\S+ --html /\S+$")

    def test_whoever_waits_is_drawn(self):
        for fault in ("rank-idle", "rank-stopped", "cable"):
            for ranks in (16, 512):
                seen = self.seen(fault, ranks)
                if not seen["boxes"]:
                    continue
                waiting = {rank for title in seen["boxes"] for rank in ranks_in(title)}
                self.assertGreaterEqual(len(waiting), ranks - 8 if fault == "rank-idle" else 1, (fault, seen["boxes"]))
                self.assertEqual(seen["tips"], len(seen["arrows"]))
                self.assertGreater(len(seen["arrows"]), 0)
                self.assertTrue(seen["over"])

    def test_on_a_phone(self):
        seen = self.seen("cable-told", 64, width=390)
        self.assertLessEqual(seen["needs"], 390)
        self.assertLess(seen["highest"], 100)
        self.assertGreater(seen["opened"], seen["closed"])

    def test_other_programs_files(self):
        evil = '<b>x</b><img src=x onerror="window.forged=1"></script><script>window.forged=1</script>'
        line = "node{0}:{0}0:11 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_{0}:1{1}\n"
        with tempfile.TemporaryDirectory() as scratch:
            out = pathlib.Path(scratch, "out.txt")
            out.write_text("".join(line.format(i, f", curr state {evil}" if i == 3 else "") for i in range(300)))
            for width in (1280, 390):
                seen = self.seen_of(scratch, out, width)
                self.assertLessEqual(seen["needs"], width)
                self.assertEqual((seen["drawn"], seen["all"], seen["forged"]), (200, 300, 0))
                self.assertEqual(seen["sorted"], "descending")
                self.assertIn("node3 pid 30", seen["hosts"])
                self.assertIn("300 processes on 300 hosts", seen["about"])
                self.assertIn("<b>x</b>", seen["texts"])

    def test_names_are_text(self):
        name = '<b>x</b><img src=x onerror="window.forged=1"></script><script>window.forged=1</script>node'
        seen = self.seen("rank-idle", 64, lambda text: text.replace('"node', json.dumps(name)[:-1]))
        self.assertEqual(seen["forged"], 0)
        self.assertIn("<b>x</b>", seen["texts"])


def ranks_in(title):
    """"rank 5 (node2): ...", "ranks 0-7 (node0): ...", "56 processes: idle, ranks 0-6,8"."""
    out = set()
    for part in re.findall(r"ranks? (\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)", title):
        for one in part.split(","):
            low, _, high = one.partition("-")
            out.update(range(int(low), int(high or low) + 1))
    return out


if __name__ == "__main__":
    if sys.argv[4:] == ["--write"]:
        pathlib.Path(PICTURE).write_bytes(picture())
        sys.exit()
    unittest.main(argv=sys.argv[:1])
