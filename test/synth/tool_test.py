#!/usr/bin/env python3
"""`nccl-net-diag report` as a user calls it, over the logs of jobs that never ran: exit codes, JSON against its schema, and
text that fits a screen. tool_test.py TOOL WRITE_JOB SCHEMA"""
import contextlib
import fcntl
import gzip
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

try:
    import jsonschema
except ImportError:
    print("SKIPPED: no python3-jsonschema")
    sys.exit(77)

TOOL, WRITE_JOB, SCHEMA = sys.argv[1:4]
HEALTHY = ["none", "other-variable"]
BROKEN = ["cable", "cable-told", "rail", "wrong-subnet", "memlock", "node-died", "rank-died", "rank-left", "rank-missing", "rank-idle",
          "stuck-hca", "slow-hca"]


def report(*args, stdin=None):
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    return subprocess.run([TOOL, "report", *map(str, args)], input=stdin, capture_output=True, env=environment, check=False)


class Tool(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(self.enter(tempfile.TemporaryDirectory()))

    def enter(self, context):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        return stack.enter_context(context)

    def write(self, fault, ranks=64, seed=3):
        logs = self.dir / fault
        subprocess.run([WRITE_JOB, logs, str(ranks), fault, str(seed)], check=True, capture_output=True)
        return logs

    def test_each_fault(self):
        schema = json.loads(pathlib.Path(SCHEMA).read_text())
        jsonschema.Draft7Validator.check_schema(schema)
        for fault in HEALTHY + BROKEN:
            with self.subTest(fault=fault):
                logs = self.write(fault)
                done = report(logs, "--json")
                self.assertEqual(done.returncode, 0 if fault in HEALTHY else 1, done.stdout)
                answer = json.loads(done.stdout)
                jsonschema.validate(answer, schema)
                self.assertEqual(answer["ok"], fault in HEALTHY)
                text = report(logs).stdout.decode()
                self.assertIn(answer["verdict"].split()[0], text)
                self.assertLessEqual(len(text.splitlines()), 30, text)
                self.assertLessEqual(max(map(len, text.splitlines())), 80, text)

    def test_nothing_of_ours(self):
        (self.dir / "notes.txt").write_text("nothing\n")
        self.assertEqual(report(self.dir).returncode, 3)
        self.assertEqual(report(self.dir / "none").returncode, 2)
        self.assertEqual(report().returncode, 2)
        answer = json.loads(report(self.dir, "--json").stdout)
        jsonschema.validate(answer, json.loads(pathlib.Path(SCHEMA).read_text()))

    def test_one_answer_however_the_logs_come(self):
        logs = self.write("cable")
        plain = json.loads(report(logs, "--json").stdout)
        stdin = json.loads(report("-", "--json", stdin=b"".join(file.read_bytes() for file in sorted(logs.iterdir()))).stdout)
        self.assertEqual(stdin["verdict"], plain["verdict"])
        copy = self.dir / "copy" / "deep"
        copy.mkdir(parents=True)
        for file in logs.iterdir():
            (copy / (file.name + ".gz")).write_bytes(gzip.compress(file.read_bytes()))
        self.assertEqual(json.loads(report(self.dir / "copy", "--json").stdout)["verdict"], plain["verdict"])
        twice = json.loads(report(logs, copy, "--json").stdout)
        self.assertEqual(twice["verdict"], plain["verdict"])
        self.assertEqual(twice["read"]["duplicates"], plain["read"]["events"])
        pattern = json.loads(report(str(logs / "*.jsonl"), "--json").stdout)
        self.assertEqual(pattern["verdict"], plain["verdict"])

    def test_damaged_logs(self):
        logs = self.write("none")
        files = sorted(logs.iterdir())
        whole = files[0].read_bytes()
        files[0].write_bytes(b"not json\n" + whole[:-20])
        files[1].write_bytes(files[1].read_bytes().replace(b'{"v":1,', b'{"v":9,"tomorrow":{"x":[1]},'))
        (logs / "torchrun.log").write_text("hello\n")
        done = report(logs, "--json")
        read = json.loads(done.stdout)["read"]
        self.assertEqual((read["foreign_lines"], read["truncated_lines"], read["foreign_files"]), (1, 1, 1))
        self.assertGreater(read["newer_events"], 10)
        self.assertEqual(read["logs"], 64)

    def test_expected_ranks(self):
        logs = self.write("none")
        self.assertEqual(report(logs, "--expect-ranks", 64).returncode, 0)
        answer = json.loads(report(logs, "--expect-ranks", 66, "--json").stdout)
        self.assertEqual((answer["kind"], answer["missing"]["ranks"]), ("missing", [64, 65]))

    def test_the_last_of_several_jobs(self):
        logs = self.write("cable")
        again = self.dir / "again"
        subprocess.run([WRITE_JOB, again, "64", "none", "8"], check=True, capture_output=True)
        for file in again.iterdir():  # an hour later
            file.write_text(file.read_text().replace("T08:0", "T09:0"))
        answer = json.loads(report(logs, again, "--json").stdout)
        self.assertEqual(answer["kind"], "healthy")
        self.assertEqual(answer["read"]["earlier_processes"], 64)

    def check_trace(self, events):
        """What the trace event format asks for, so that a viewer shows all of it."""
        needed = {"M": {"name", "pid", "tid", "args"}, "X": {"name", "pid", "tid", "ts", "dur"}, "i": {"name", "pid", "tid", "ts", "s"},
                  "C": {"name", "pid", "ts", "args"}, "b": {"name", "cat", "id", "pid", "ts"}, "e": {"name", "cat", "id", "pid", "ts"},
                  "s": {"name", "cat", "id", "pid", "tid", "ts"}, "f": {"name", "cat", "id", "pid", "tid", "ts", "bp"}}
        named, tracks, spans, last, arrows = set(), {}, {}, {}, {}
        for event in events:
            self.assertLessEqual(needed[event["ph"]], event.keys())
            if event["ph"] == "M":
                self.assertIn(event["name"], ("process_name", "thread_name"))
                named.add((event["name"], event["pid"], event["tid"]))
            elif event["ph"] == "X":
                tracks.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
            elif event["ph"] == "C":
                self.assertTrue(all(isinstance(value, int) and value >= 0 for value in event["args"].values()), event)
                track = (event["pid"], event["name"])
                self.assertLess(last.get(track, -1e300), event["ts"])
                last[track] = event["ts"]
            elif event["ph"] in "sf":
                arrows.setdefault((event["cat"], event["id"]), []).append(event)
            elif event["ph"] in "be":
                spans.setdefault((event["cat"], event["id"]), []).append((event["ph"], event["ts"]))
        for (process, thread), slices in tracks.items():
            self.assertIn(("process_name", process, 0), named)
            self.assertIn(("thread_name", process, thread), named)
            slices.sort(key=lambda one: (one[0], -one[1]))
            for (_, end), (begin, other_end) in zip(slices, slices[1:]):  # beside or inside each other
                self.assertGreaterEqual(other_end, begin)
                self.assertTrue(begin >= end - 0.001 or other_end <= end + 0.001, (end, begin, other_end))
        for begin, end in arrows.values():  # each from a slice to a slice that is no earlier
            self.assertEqual((begin["ph"], end["ph"], end["bp"]), ("s", "f", "e"))
            self.assertLessEqual(begin["ts"], end["ts"])
            for place in (begin, end):
                self.assertTrue(any(low <= place["ts"] <= high for low, high in tracks[place["pid"], place["tid"]]), place)
        for span in spans.values():
            self.assertEqual([phase for phase, _ in span], ["b", "e"])
            self.assertLessEqual(span[0][1], span[1][1])

    def test_pages(self):
        logs, page, trace = self.write("cable-told"), self.dir / "page.html", self.dir / "trace.json"
        self.assertEqual(report(logs, "--html", page, "--perfetto", trace).returncode, 1)
        html = page.read_text()
        self.assertIn("ASYNC-PORT", html)
        self.assertIn('class="guilty"', html)
        for outside in ("http:", "https:", "src=", "@import", "url("):
            self.assertNotIn(outside, html)
        events = json.loads(trace.read_text())["traceEvents"]
        self.check_trace(events)
        self.assertEqual({event["ph"] for event in events}, {"M", "X", "i", "C", "s", "f"})
        self.assertIn("connection", {event["cat"] for event in events if event["ph"] == "s"})
        self.assertIn("ASYNC-PORT", {event["name"] for event in events if event["ph"] == "i"})
        self.assertEqual(sum(event["name"] == "alive" for event in events), 64)
        self.assertEqual(report(self.write("rank-idle"), "--perfetto", trace).returncode, 1)
        events = json.loads(trace.read_text())["traceEvents"]
        self.check_trace(events)
        self.assertLessEqual({"M", "X", "b", "e", "C", "s", "f"}, {event["ph"] for event in events})
        self.assertIn("wait", {event["cat"] for event in events if event["ph"] == "s"})
        self.assertEqual(report(logs, "--html", self.dir / "none" / "page").returncode, 2)
        self.assertEqual(report(self.write("none"), "--html", page).returncode, 0)
        self.assertIn("healthy", page.read_text())

    def test_no_log_becomes_a_page(self):
        logs = self.write("none")
        first = min(logs.iterdir())
        before = first.read_bytes()
        for option in ("--html", "--perfetto"):
            done = report(option, first, logs, "--json")
            self.assertEqual((done.returncode, json.loads(done.stdout)["error"]["kind"]), (2, "output"))
            self.assertEqual(first.read_bytes(), before)
        link, pipe, target = self.dir / "link", self.dir / "pipe", self.dir / "target"
        link.symlink_to(target)
        os.mkfifo(pipe)
        for option in ("--html", "--perfetto"):  # no link is followed, and nobody waits for a reader
            for path, why in ((link, "is a link"), (pipe, "is no regular file"), (self.dir, "can't be written")):
                done = report(option, path, logs, "--json")
                error = json.loads(done.stdout)["error"]
                self.assertEqual((done.returncode, error["kind"]), (2, "output"))
                self.assertIn(why, error["message"])
        self.assertFalse(target.exists())
        for option in ("--html", "--perfetto"):
            self.assertEqual(report("--follow", logs, option, self.dir / "page").returncode, 2)

    def test_a_page_that_is_lost_loses_no_verdict(self):
        logs = self.write("cable")
        done = report(logs, "--html", "/dev/full", "--json")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(json.loads(done.stdout)["cause"], "WC-12")
        self.assertEqual(done.stderr.decode(), "/dev/full is not complete: No space left on device\n")

    def wait_for(self, process, text):
        """What is there while files come is told too."""
        for line in process.stdout:
            if text in line:
                return
        self.fail(f"it ended, and did not say {text}")

    def test_following(self):
        logs = self.dir / "live"
        logs.mkdir()
        process = subprocess.Popen([TOOL, "report", "--follow", "--color", "never", logs], stdout=subprocess.PIPE, text=True,
                                   preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))  # as nohup has it
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        for file in self.write("none").iterdir():
            file.rename(logs / file.name)
        self.wait_for(process, "healthy: 64")
        process.send_signal(signal.SIGHUP)
        for file in logs.iterdir():
            file.unlink()
        for file in self.write("cable").iterdir():
            file.rename(logs / file.name)
        self.wait_for(process, "WC-12")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), 1)

    def test_following_ends_where_nobody_reads(self):
        logs = self.write("none")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([TOOL, "report", "--follow", logs], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stderr.decode(), "nccl-net-diag: standard output takes nothing: No space left on device\n")

    def wait_until_it_reads(self, process):
        """It sleeps, and has taken all that is in the pipe."""
        left = bytearray(4)
        while True:
            fcntl.ioctl(process.stdin, termios.FIONREAD, left)
            state = pathlib.Path("/proc", str(process.pid), "stat").read_text().rsplit(")", 1)[1].split()[0]
            if not any(left) and state == "S":
                return
            time.sleep(0.01)

    def test_ending_the_wait_for_standard_input(self):
        text = b"".join(file.read_bytes() for file in self.write("cable").iterdir())
        self.assertGreater(len(text), 1 << 17)  # more than a pipe holds
        process = subprocess.Popen([TOOL, "report", "-", "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.kill)
        process.stdin.write(text)
        process.stdin.flush()
        self.wait_until_it_reads(process)
        process.send_signal(signal.SIGINT)
        answer = json.loads(process.stdout.read())
        process.stdin.close()
        process.stdout.close()
        self.assertEqual(process.wait(), 3)
        self.assertTrue(answer["read"]["interrupted"])
        self.assertEqual(answer["cause"], "WC-12")

    def test_decoding_what_is_none(self):
        (self.dir / "a.nndbox").write_text("no box")
        for args, code in ((["decode", self.dir / "a.nndbox"], 3), (["decode", self.dir / "none"], 2), (["decode"], 2),
                           (["decode", "--live", os.getpid()], 3)):
            self.assertEqual(subprocess.run([TOOL, *map(str, args)], capture_output=True, check=False).returncode, code, args)

    def test_names_that_would_forge(self):
        logs = self.write("cable")
        for file in logs.iterdir():
            file.write_text(file.read_text().replace('"node', '"\\u001b[31m<script>\\nnode'))
        text = report(logs).stdout
        self.assertNotIn(b"\x1b", text)
        hostile = self.dir / "hostile"
        hostile.mkdir()
        (hostile / "\x1b]0;owned\x07\nfine.nndbox").write_text("no box")
        for command in (["report", hostile], ["decode", *hostile.iterdir()], ["decode", hostile / "\x1b\nfine"]):
            done = subprocess.run([TOOL, *command], capture_output=True, check=False)
            self.assertNotIn(b"\x1b", done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        report(logs, "--html", self.dir / "page.html")
        html = (self.dir / "page.html").read_text()
        self.assertEqual(html.count("<script>"), 1)  # the page's own
        self.assertEqual(html.count("</script>"), 1 + html.count('<script type="application/json">'))
        self.assertFalse("\x1b" in html)
        allowed = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
        self.assertRegex(allowed, r"^default-src 'none'; style-src 'sha256-\S+'; script-src 'sha256-\S+'; base-uri 'none'; form-action 'none'$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
