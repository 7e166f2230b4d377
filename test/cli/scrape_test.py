"""What `exporter --listen` answers: scrape_test.py TOOL

To who scrapes as Prometheus does, and to who calls wrongly, slowly, with too much, or too often. None of it keeps the next scrape from
being answered.
"""
import http.client
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from processes import status

TOOL = sys.argv.pop(1)
BOUND_SEC = 120  # of a busy machine
MOST_CALLERS = 32
OPEN_METRICS = "application/openmetrics-text"
PROMETHEUS = OPEN_METRICS + ";version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"


class Scraped(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="nnd-scrape-")
        self.addCleanup(directory.cleanup)
        self.dir = pathlib.Path(directory.name)
        self.exporter, self.port = self.start("--listen", "0", "--every", "1")

    def call(self, *words):
        process = subprocess.Popen([TOOL, "exporter", *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=os.environ | {"TMPDIR": str(self.dir)}, text=True)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()

    def start(self, *words):
        exporter = self.call(*words)
        line = exporter.stderr.readline()
        return exporter, int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/metrics\n", line).group(1))

    def fails(self, code, *words):
        call = self.call(*words)
        _, err = call.communicate(timeout=BOUND_SEC)
        self.assertEqual(call.returncode, code, err)
        return err

    def ask(self, method="GET", path="/metrics", body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=BOUND_SEC)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer, text

    def open(self, sent=b""):
        caller = socket.create_connection(("127.0.0.1", self.port), timeout=BOUND_SEC)
        self.addCleanup(caller.close)
        caller.sendall(sent)
        return caller

    def status_of(self, sent):
        """Of the answer to these bytes, None: the connection was closed without one."""
        caller = self.open()
        try:
            caller.sendall(sent)
        except OSError:  # it had seen enough
            pass
        answer = b""
        try:
            while got := caller.recv(65536):
                answer += got
        except ConnectionError:
            pass
        found = re.match(rb"HTTP/1\.[01] (\d+) ", answer)
        return found and int(found.group(1))

    def assert_well(self):
        self.assertEqual(self.ask()[0].status, 200)
        self.assertIsNone(self.exporter.poll())

    def test_formats_paths_and_methods(self):
        answer, text = self.ask()
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        self.assertIn("# TYPE nccl_net_diag_info gauge\n", text)
        self.assertNotIn("# EOF", text)
        answer, text = self.ask(Accept=PROMETHEUS)
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, OPEN_METRICS + "; version=1.0.0; charset=utf-8"))
        self.assertIn("# TYPE nccl_net_diag info\n", text)
        self.assertTrue(text.endswith("\n# EOF\n"))
        answer, text = self.ask("HEAD")
        self.assertEqual((answer.status, text), (200, ""))
        self.assertEqual(self.ask(path="/metrics?x=1")[0].status, 200)
        self.assertEqual(self.ask(path="/-/healthy")[0].status, 200)
        self.assertEqual(self.ask(path="/")[0].status, 404)
        for method in ("POST", "PUT", "DELETE"):
            answer, _ = self.ask(method, body="x=1")
            self.assertEqual((answer.status, answer.headers["Allow"]), (405, "GET, HEAD"))

    def test_what_is_no_request(self):
        for sent in (b"\r\n\r\n\r\n", b"GET\r\n\r\n", b"\0\xff\x16\x03\x01\r\n\r\n", b"GET /metrics HTTP/9.9\r\n\r\n",
                     b"GET /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"GET /%00%ff%2e%2e/metrics HTTP/1.1\r\nHost: x\r\n\r\n"):
            caller = self.open(sent)
            caller.shutdown(socket.SHUT_WR)
            answer = b""
            try:
                while got := caller.recv(65536):
                    answer += got
            except ConnectionError:
                pass
            self.assertNotIn(b" 200 OK", answer, sent)
        self.assert_well()

    def test_too_much(self):
        before = int(status(self.exporter.pid, "VmRSS").split()[0])
        for head in (b"GET /" + b"x" * 4_000_000 + b" HTTP/1.1\r\n\r\n", b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 4_000_000 + b"\r\n\r\n",
                     b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 1_000_000 + b"\r\n"):
            self.assertIn(self.status_of(head), (None, 413, 414, 431))
        # The answer comes before the body does.
        self.assertEqual(self.status_of(b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n"), 405)
        self.assertEqual(self.status_of(b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n"), 200)
        self.assert_well()
        self.assertLess(int(status(self.exporter.pid, "VmRSS").split()[0]) - before, 16384)

    def test_who_stays_is_put_out_and_others_have_their_turn(self):
        silent = [self.open() for _ in range(MOST_CALLERS // 2)]
        slow = [self.open(b"GET /metrics HTTP/1.1\r\nX: ") for _ in range(MOST_CALLERS)]
        gone, end = set(), time.monotonic() + BOUND_SEC
        while len(gone) < len(slow) and time.monotonic() < end:
            for caller in slow:
                try:
                    caller.sendall(b"x")
                except OSError:
                    gone.add(caller)
            time.sleep(0.2)
        self.assertEqual(len(gone), len(slow))
        for caller in silent:
            self.assertEqual(caller.recv(1), b"")
        self.assert_well()

    def test_many(self):
        callers = [self.open(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n") for _ in range(5 * MOST_CALLERS)]
        for caller in callers:
            self.assertTrue(caller.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n"))
        files = len(list(pathlib.Path("/proc", str(self.exporter.pid), "fd").iterdir()))
        self.assertLess(files, 2 * MOST_CALLERS)
        self.assert_well()

    def test_ends_at_once_whoever_is_there(self):
        for which in (signal.SIGTERM, signal.SIGINT):
            self.exporter, self.port = self.start("--listen", "127.0.0.1:0", "--every", "3600")
            self.assert_well()
            self.open(b"GET /metr")
            self.exporter.send_signal(which)
            out, err = self.exporter.communicate(timeout=BOUND_SEC)
            self.assertEqual((self.exporter.returncode, out, err), (0, "", ""))

    def test_beside_a_file(self):
        file = self.dir / "nccl.prom"
        exporter, self.port = self.start("--listen", "0", "--textfile", file, "--every", "3600")
        self.assertEqual(self.ask()[1], file.read_text())
        exporter.send_signal(signal.SIGTERM)
        self.assertEqual(exporter.wait(timeout=BOUND_SEC), 0)
        self.assertFalse(file.exists())

    def test_wrong_calls(self):
        file = self.dir / "kept.prom"
        file.write_text("another's")
        taken = f"127.0.0.1:{self.port}"
        for where, code in (("", 2), ("no", 2), ("70000", 2), ("::1:9988", 2), (":9988", 2), (taken, 3), ("192.0.2.1:9988", 3)):
            self.assertIn(f"--listen {where}: ", self.fails(code, "--listen", where, "--textfile", file))
        self.assertIn("Address already in use", self.fails(3, "--listen", taken))
        self.assertEqual(file.read_text(), "another's")
        self.assertIn("--every requires --listen, --textfile or --otlp", self.fails(2, "--every", "5"))


if __name__ == "__main__":
    unittest.main()
