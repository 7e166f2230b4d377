"""What `exporter --otlp` sends, as a receiver of OTLP/HTTP takes it: otlp_test.py TOOL PART

`receivers`: each request is read field by field, and a scrape of the same look has the same values. A receiver that is gone, slow, hostile or says no
neither ends the exporter nor keeps scrapes waiting. `messages`: OTLP's own messages for Python take it too.
"""
import contextlib
import http.client
import http.server
import importlib.util
import json
import math
import os
import re
import signal
import socket
import sys
import threading
import time
import unittest

from exported import BOUND_SEC, Exported
from processes import status

PART = sys.argv[2]
TIME, COUNT, NUMBER, TEXT, BOOL = "time", "count", "number", "text", "bool"

# The messages that are sent, in proto3's JSON mapping: name -> type, a list where it is repeated. open-telemetry/opentelemetry-proto
# v1.11.0, opentelemetry/proto/{metrics,common,resource}/v1/*.proto. 64-bit integers are text there, or numbers where
# they fit, and enumerators numbers (docs/specification.md, "JSON Protobuf Encoding").
ANY = {"stringValue": TEXT}
KEY_VALUE = {"key": TEXT, "value": ANY}
POINT = {"attributes": [KEY_VALUE], "startTimeUnixNano": TIME, "timeUnixNano": TIME, "asDouble": NUMBER}
HISTOGRAM_POINT = {"attributes": [KEY_VALUE], "startTimeUnixNano": TIME, "timeUnixNano": TIME, "count": COUNT, "bucketCounts": [COUNT],
                   "explicitBounds": [NUMBER]}
METRIC = {"name": TEXT, "description": TEXT, "unit": TEXT, "gauge": {"dataPoints": [POINT]},
          "sum": {"dataPoints": [POINT], "aggregationTemporality": NUMBER, "isMonotonic": BOOL},
          "histogram": {"dataPoints": [HISTOGRAM_POINT], "aggregationTemporality": NUMBER}}
SCOPE_METRICS = {"scope": {"name": TEXT, "version": TEXT}, "metrics": [METRIC]}
REQUEST = {"resourceMetrics": [{"resource": {"attributes": [KEY_VALUE]}, "scopeMetrics": [SCOPE_METRICS]}]}
CUMULATIVE = 2


def faults(message, form, at="request"):
    """What in the message is not of that form."""
    if isinstance(form, dict):
        if not isinstance(message, dict):
            return [f"{at} is no message"]
        return [one for key, value in message.items() for one in (faults(value, form[key], f"{at}.{key}") if key in form else [f"{at} has no {key}"])]
    if isinstance(form, list):
        return [one for i, value in enumerate(message) for one in faults(value, form[0], f"{at}[{i}]")] if isinstance(message, list) else [f"{at} is no list"]
    right = {TIME: isinstance(message, str) and re.fullmatch(r"[1-9]\d{18}", message), TEXT: isinstance(message, str),
             COUNT: type(message) is int and 0 <= message < 2**53,
             NUMBER: isinstance(message, (int, float)) and not isinstance(message, bool) and math.isfinite(message), BOOL: isinstance(message, bool)}
    return [] if right[form] else [f"{at} is no {form}: {message!r}"]


def labels_of(message):
    return {one["key"]: one["value"]["stringValue"] for one in message["attributes"]}


def series(name, labels):
    return name, frozenset(labels.items())


def sent(request):
    """{(name, labels): value}, as a scrape has them."""
    found = {}
    for metric in request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]:
        name = metric["name"]
        for kind in ("gauge", "sum"):
            for point in metric.get(kind, {}).get("dataPoints", []):
                found[series(name, labels_of(point))] = point["asDouble"]
        for point in metric.get("histogram", {}).get("dataPoints", []):
            below = 0
            for bound, count in zip([*point["explicitBounds"], math.inf], point["bucketCounts"], strict=True):
                below += int(count)
                found[series(f"{name}_bucket", labels_of(point) | {"le": bound})] = below
            found[series(f"{name}_count", labels_of(point))] = int(point["count"])
    return found


def scraped(text):
    """The same of Prometheus' text."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = re.fullmatch(r"([a-z_]+)(?:\{(.*)\})? (\S+)", line).groups()
            has = dict(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', labels or ""))
            if "le" in has:
                has["le"] = float(has["le"])
            found[series(name, has)] = float(value)
    return found


class Receiver(http.server.ThreadingHTTPServer):
    """Keeps the last requests, and answers what it is told to."""
    daemon_threads = True

    def __init__(self, where=("127.0.0.1", 0)):
        super().__init__(where, Received)
        self.requests = []
        self.reply = (200, {}, b'{"partialSuccess":{}}')
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def bodies(self):
        return [json.loads(body) for _, _, body in list(self.requests)]


class Received(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.requests.append((self.path, dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
        code, headers, body = self.server.reply
        self.send_response(code)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class Sent(Exported):
    def setUp(self):
        super().setUp()
        self.receiver = Receiver()
        self.addCleanup(self.receiver.server_close)
        self.addCleanup(self.receiver.shutdown)

    def start(self, url, *words):
        """(the exporter, the port of its page)"""
        exporter = self.call("exporter", "--otlp", url, "--listen", "0", "--every", "1", *words)
        line = exporter.stderr.readline()
        return exporter, int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/metrics\n", line).group(1))

    def scrape(self, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=BOUND_SEC)
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        return answer.read().decode()

    def ends(self, exporter):
        exporter.send_signal(signal.SIGTERM)
        out, err = exporter.communicate(timeout=BOUND_SEC)
        self.assertEqual((exporter.returncode, out), (0, ""), err)
        return err


class Receivers(Sent):
    def test_is_what_a_scrape_has(self):
        exporter, port = self.start(self.receiver.url)
        self.process = self.start_job()
        mine = lambda found: {key: value for key, value in found.items() if ("hpc_job", self.job) in key[1]}
        moved = lambda found: sum(value for (name, _), value in mine(found).items() if name == "nccl_net_diag_bytes_total")
        first = self.until(lambda: next((got for got in map(sent, self.receiver.bodies()) if moved(got)), None))

        def same():
            page = mine(scraped(self.scrape(port)))
            return next((got for got in self.receiver.bodies() if mine(sent(got)) == page and moved(sent(got)) > moved(first)), None)

        request = self.until(same)
        self.assertGreater({name for name, _ in mine(sent(request))}, {"nccl_net_diag_bytes_total", "nccl_net_diag_send_latency_seconds_bucket"})
        for path, headers, _ in list(self.receiver.requests):
            self.assertEqual((path, headers["Content-Type"]), ("/v1/metrics", "application/json"))
        starts, before = {}, 0
        for request in self.receiver.bodies():
            self.assertEqual(faults(request, REQUEST), [])
            resource = labels_of(request["resourceMetrics"][0]["resource"])
            self.assertEqual((resource["service.name"], resource["host.name"]), ("nccl-net-diag", socket.gethostname()))
            times = set()
            for metric in request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]:
                kind = next(kind for kind in ("gauge", "sum", "histogram") if kind in metric)
                if kind != "gauge":
                    self.assertEqual(metric[kind]["aggregationTemporality"], CUMULATIVE)
                    self.assertEqual(metric[kind].get("isMonotonic", True), not metric["name"].endswith("_info"))
                for point in metric[kind]["dataPoints"]:
                    times.add(int(point["timeUnixNano"]))
                    if kind != "gauge":
                        start = starts.setdefault(series(metric["name"], labels_of(point)), int(point["startTimeUnixNano"]))
                        self.assertEqual(int(point["startTimeUnixNano"]), start)
                        self.assertLessEqual(start, int(point["timeUnixNano"]))
            self.assertEqual(len(times), 1)
            self.assertGreater(min(times), before)
            before = min(times)
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.communicate(timeout=BOUND_SEC)
        self.assertEqual(self.ends(exporter), "")

    def test_a_receiver_that_is_down_comes_and_goes(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            where = free.getsockname()
        exporter, port = self.start(f"http://127.0.0.1:{where[1]}/x")
        line = exporter.stderr.readline()
        self.assertEqual(line, f"http://127.0.0.1:{where[1]}/x does not get all metrics: errno 111 (Connection refused)\n")
        self.scrape(port)
        receiver = Receiver(where)
        self.until(lambda: receiver.requests)
        self.assertEqual(exporter.stderr.readline(), f"{receiver.url}/x takes metrics again\n")
        self.assertEqual({path for path, _, _ in list(receiver.requests)}, {"/x"})
        receiver.shutdown()
        receiver.server_close()
        # One that it had not come to yet is reset.
        self.assertRegex(exporter.stderr.readline(), r"/x does not get all metrics: errno (104|111) ")
        self.ends(exporter)

    def test_what_is_refused(self):
        for reply, told in (((503, {"Retry-After": "1"}, b"later"), "status 503: later"),
                            ((400, {}, b'{"message":"bad"}'), 'status 400: {"message":"bad"}'),
                            ((301, {"Location": "http://192.0.2.1/"}, b""), "status 301, it is at http://192.0.2.1/"),
                            ((200, {}, b'{"partialSuccess":{"rejectedDataPoints":"2","errorMessage":"old\\u001b[31m"}}'),
                             "it leaves out 2 data points: old?[31m")):
            with self.subTest(told):
                self.receiver.requests.clear()
                self.receiver.reply = reply
                exporter, port = self.start(self.receiver.url)
                self.assertEqual(exporter.stderr.readline(), f"{self.receiver.url}/v1/metrics does not get all metrics: {told}\n")
                self.until(lambda: len(self.receiver.requests) >= 2)
                self.receiver.reply = (200, {}, b"")
                self.assertEqual(exporter.stderr.readline(), f"{self.receiver.url}/v1/metrics takes metrics again\n")
                self.scrape(port)
                self.ends(exporter)

    def test_a_hostile_receiver_harms_nothing(self):
        def silent(caller):
            time.sleep(BOUND_SEC)

        def slow(caller):
            for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100000:
                caller.sendall(bytes([byte]))
                time.sleep(0.01)

        def endless(caller):
            caller.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                caller.sendall(b"x" * 1_000_000)

        def endless_head(caller):
            while True:
                caller.sendall(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100000)

        def other(caller):
            caller.sendall(b"\0\xff\x1b[2J\r\n\r\n" * 1000)

        for behave in (silent, slow, endless, endless_head, other):
            with self.subTest(behave.__name__), socket.create_server(("127.0.0.1", 0)) as listening:
                def serve():
                    while True:
                        try:
                            caller, _ = listening.accept()
                        except OSError:
                            return
                        with caller, contextlib.suppress(OSError):
                            behave(caller)

                threading.Thread(target=serve, daemon=True).start()
                exporter, port = self.start(f"http://127.0.0.1:{listening.getsockname()[1]}")
                before = int(status(exporter.pid, "VmRSS").split()[0])
                end = time.monotonic() + 3
                while time.monotonic() < end:
                    self.scrape(port)
                    time.sleep(0.1)
                self.assertLess(int(status(exporter.pid, "VmRSS").split()[0]) - before, 16384)
                err = self.ends(exporter)
                self.assertNotIn("\x1b", err)

    def test_wrong_calls(self):
        for url, word in (("127.0.0.1:4318", "it takes http://HOST"), ("https://127.0.0.1", "TLS"), ("http://u:p@x", "password"), ("http://x:99999", "it takes")):
            call = self.call("exporter", "--otlp", url)
            _, err = call.communicate(timeout=BOUND_SEC)
            self.assertEqual(call.returncode, 2, err)
            self.assertIn(f"--otlp {url}: ", err)
            self.assertIn(word, err)


class Messages(Sent):
    def test_they_take_it(self):
        from google.protobuf import json_format
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

        exporter, _ = self.start(self.receiver.url)
        request = self.until(self.receiver.bodies)[0]
        self.ends(exporter)
        parsed = json_format.ParseDict(request, ExportMetricsServiceRequest(), ignore_unknown_fields=False)
        found = {metric.name: metric for metric in parsed.resource_metrics[0].scope_metrics[0].metrics}
        self.assertEqual(set(found), {one["name"] for one in request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]})
        self.assertTrue(all(one.WhichOneof("data") for one in found.values()))


if __name__ == "__main__":
    if PART == "messages" and None in (importlib.util.find_spec("google"), importlib.util.find_spec("opentelemetry")):
        print("SKIPPED: no opentelemetry-proto for this Python: test/support/fetch-receivers, and PYTHONPATH is what it prints")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], {"receivers": "Receivers", "messages": "Messages"}[PART]])
