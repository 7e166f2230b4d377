"""Ctrl-C at whatever reads or waits: interrupt_test.py TOOL

Each call ends at once, with the exit code that docs/tool.md has for it, and leaves no process behind. Calls that handle it are interrupted
when they have begun to (SigCgt) and wait; the others die of it. ping and demo: ping_test.cc, demo_test.cc.
"""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

from processes import is_below, status

TOOL = sys.argv[1]
SCENARIO = "two-nodes-8-hca-bond"
BOUND_SEC = 60  # of a busy machine; nothing here has anything to wait for
KILLED = -signal.SIGINT


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def handles_it(pid):
    return int(status(pid, "SigCgt"), 16) >> (signal.SIGINT - 1) & 1 == 1


class Interrupted(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="nnd-interrupt-")
        self.addCleanup(directory.cleanup)
        self.dir = pathlib.Path(directory.name)
        (self.dir / "tmp").mkdir()

    def call(self, *words, stdin=subprocess.DEVNULL):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NCCL")}
        environment |= {"TMPDIR": str(self.dir / "tmp"), "XDG_CONFIG_HOME": str(self.dir), "XDG_RUNTIME_DIR": str(self.dir)}
        process = subprocess.Popen([TOOL, *map(str, words)], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                                   start_new_session=True)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def await_it(self, process, holds):
        while not holds(process.pid):
            self.assertIsNone(process.poll(), process.poll() is not None and process.stderr.read())
            time.sleep(0.01)

    def interrupt(self, process, code):
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=BOUND_SEC)
        self.assertEqual(process.returncode, code, (out[-2000:], err[-2000:]))
        self.assertNotIn(b"terminate called", err)
        with self.assertRaises(ProcessLookupError):
            os.killpg(process.pid, 0)
        return out.decode(), err.decode()

    def blocks(self, pid):
        return status(pid, "State")[0] == "S"

    def test_report_that_follows(self):
        (self.dir / "logs").mkdir()
        (self.dir / "logs" / "a.jsonl").write_text("")
        process = self.call("report", "--follow", self.dir / "logs")
        self.await_it(process, handles_it)
        self.interrupt(process, 3)

    def test_report_of_standard_input(self):
        process = self.call("report", "-", "--json", stdin=subprocess.PIPE)
        self.await_it(process, lambda pid: handles_it(pid) and self.blocks(pid))
        self.interrupt(process, 3)

    def top_shows_a_rank_of(self, job):
        """Other jobs come and go on this machine."""
        top = self.call("top", "--json")
        out, _ = top.communicate(timeout=BOUND_SEC)
        return top.returncode == 0 and any(is_below(one["pid"], job) for one in json.loads(out)["processes"])

    def test_top_and_the_rehearsal_it_looks_at(self):
        job = self.call("rehearse", "--scenario", SCENARIO, "--json", "--quiet", "--iterations", "1000000", "--logs", self.dir / "logs")
        self.await_it(job, self.top_shows_a_rank_of)
        process = self.call("top", "--interval", "3600")
        self.await_it(process, lambda pid: handles_it(pid) and self.blocks(pid))
        self.interrupt(process, 0)
        self.interrupt(job, 3)

    def test_rehearsal_that_waits_for_the_others(self):
        environment = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1",
                       "MASTER_PORT": str(free_port())}
        with unittest.mock.patch.dict(os.environ, environment):
            process = self.call("rehearse", "--scenario", SCENARIO, "--json", "--quiet")
        self.await_it(process, lambda pid: handles_it(pid) and self.blocks(pid))
        self.interrupt(process, 3)

    def test_rehearsal_of_a_program(self):
        process = self.call("rehearse", "--scenario", SCENARIO, "--json", "--logs", self.dir, "--", "sh", "-c", f"echo > {self.dir}/began; sleep 1000")
        self.await_it(process, lambda pid: (self.dir / "began").exists())
        out, _ = self.interrupt(process, 3)
        self.assertEqual(list((self.dir / "tmp").iterdir()), [])
        self.assertTrue(all(node["ended_by_us"] for node in json.loads(out)["nodes"]), out)

    def test_what_reads_a_file_dies_of_it(self):
        """No handler: nothing to say, and nothing to clean up."""
        for words in (["decode", "-"], ["check", "--policy", "/dev/stdin"], ["explain", "QP-110"]):
            process = self.call(*words, stdin=subprocess.PIPE)
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=BOUND_SEC)
            self.assertIn(process.returncode, (KILLED, 0, 1, 2, 3), words)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
