#!/usr/bin/env python3
"""A year of jobs in DuckDB by examples/warehouse: every query against what the verdicts themselves say, a job that is taken out again is
judged as before, and Parquet has all of it; the same in ClickHouse where chdb is installed. The jobs never ran: their faults are drawn
from a seed. warehouse_test.py TOOL WRITE_JOB EXAMPLES [--jobs N]
"""
import argparse
import collections
import datetime
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

try:
    import duckdb
except ImportError:
    print("SKIPPED: no duckdb for this Python: test/synth/fetch-duckdb, and PYTHONPATH is what it prints")
    sys.exit(77)
try:
    from chdb import session
except ImportError:
    session = None

FAULTS = ("none", "cable", "cable-told", "memlock", "node-died", "rank-left", "rank-idle", "stuck-hca", "port")
HOSTS = 40  # of the fleet
YEAR = datetime.date(2027, 1, 15)  # the day that write_job's jobs run on


def day_of(number, jobs):
    return YEAR + datetime.timedelta(days=number * 360 // jobs)


class Year(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="nnd-warehouse-")
        cls.addClassCleanup(scratch.cleanup)
        cls.dir = pathlib.Path(scratch.name)
        draw = random.Random(7)
        for number in range(ARGS.jobs):
            cls.write(number, draw)
        cls.verdicts = {number: json.loads((cls.dir / f"{number}.json").read_text()) for number in range(ARGS.jobs)}

    @classmethod
    def write(cls, number, draw):
        """On two nodes of the fleet, on its day, with its own id."""
        logs = cls.dir / str(number)
        subprocess.run([ARGS.write_job, logs, "16", draw.choice(FAULTS), str(number + 1)], check=True, stdout=subprocess.DEVNULL)
        hosts = draw.sample(range(HOSTS), 2)
        for file in logs.iterdir():
            text = file.read_text().replace(f'"ts":"{YEAR}', f'"ts":"{day_of(number, ARGS.jobs)}').replace('"job":"77"', f'"job":"{number}"')
            for old, new in enumerate(hosts):
                text = text.replace(f'"host":"node{old}"', f'"host":"h{new}"')
            file.write_text(text)
        told = subprocess.run([ARGS.tool, "report", "--json", logs], capture_output=True, text=True, check=False)
        (cls.dir / f"{number}.json").write_text(told.stdout)

    def told(self, **wanted):
        """The verdicts that have these, with their first culprit's place."""
        for number, verdict in self.verdicts.items():
            if all(verdict.get(key) == value for key, value in wanted.items()):
                culprits = verdict["culprits"]
                yield number, verdict, culprits[0].get("place", {}) if culprits else {}

    def judge(self, query):
        """query: gives the rows of an example's file, as tuples of text."""
        causes = collections.Counter((verdict["blame"], verdict.get("cause") or verdict["kind"]) for _, verdict, _ in self.told() if verdict["blame"] != "nothing")
        self.assertEqual({tuple(row[:2]): row[2] for row in query("causes")}, causes)
        self.assertGreater(len(causes), 4)
        last = max(verdict["last_ns"] for verdict in self.verdicts.values())
        month = [(verdict, place) for _, verdict, place in self.told(blame="network") if verdict["last_ns"] > last - 30 * 86400 * 10**9]
        rails = collections.Counter(place["device"] for _, place in month if place.get("device"))
        self.assertEqual({row[0]: row[1] for row in query("worst_rails")}, rails)
        nodes = collections.Counter(place["host"] for _, _, place in self.told(blame="network") if place.get("host"))
        self.assertEqual({row[0]: row[1] for row in query("returning_nodes")}, {host: count for host, count in nodes.items() if count > 1})
        flaps = collections.Counter()
        for number in self.verdicts:
            events = [json.loads(line) for file in (self.dir / str(number)).iterdir() for line in file.read_text().splitlines()]
            flaps.update({(one["host"], one["dev"]["name"]) for one in events if one["ev"] == "port.event" and one.get("cause") == "ASYNC-PORT"})
        told = collections.Counter()
        for row in query("flaps"):
            told[row[2], row[3]] += row[5]
        self.assertEqual(told, flaps)
        self.assertGreater(len(flaps), 0)

    def same_verdict(self, number, lines):
        told = subprocess.run([ARGS.tool, "report", "--json", "-"], input=lines, capture_output=True, text=True, check=False)
        self.assertEqual(json.loads(told.stdout)["verdict"], self.verdicts[number]["verdict"])

    def test_duckdb(self):
        folder = ARGS.examples / "warehouse/duckdb"
        database = duckdb.connect(config={"threads": 2})
        database.execute("SET TimeZone = 'UTC'")
        database.execute((folder / "tables.sql").read_text())
        for number in range(ARGS.jobs):
            database.execute(f"SET VARIABLE job = '{number}'; SET VARIABLE logs = '{self.dir}/{number}/*.jsonl'; SET VARIABLE verdict = '{self.dir}/{number}.json'")
            database.execute((folder / "load.sql").read_text())
        self.judge(lambda name: database.execute((folder / f"{name}.sql").read_text()).fetchall())
        for number in range(0, ARGS.jobs, max(ARGS.jobs // 5, 1)):
            out = self.dir / "job.jsonl"
            database.execute(f"SET VARIABLE job = '{number}'")
            database.execute((folder / "export_job.sql").read_text().replace("'job.jsonl'", f"'{out}'"))
            self.same_verdict(number, out.read_text())
        parquet = (folder / "parquet.sql").read_text().replace("TO 'events'", f"TO '{self.dir}/events'").replace("'verdicts.parquet'", f"'{self.dir}/verdicts.parquet'")
        database.execute(parquet)
        count = "SELECT count(*), count(DISTINCT job) FROM "
        self.assertEqual(database.execute(f"{count} read_parquet('{self.dir}/events/*/*.parquet')").fetchall(), database.execute(f"{count} events").fetchall())

    @unittest.skipIf(session is None, "no chdb")
    def test_clickhouse(self):
        folder = ARGS.examples / "warehouse/clickhouse"
        database = session.Session(str(self.dir / "clickhouse"))
        for statement in (folder / "tables.sql").read_text().split(";"):
            if "CREATE" in statement:
                database.query(statement)
        for number in range(ARGS.jobs):
            for name, files in (("load_events", f"{self.dir}/{number}/*.jsonl"), ("load_verdict", f"{self.dir}/{number}.json")):
                # clickhouse-client's standard input is a file here.
                text, form = (folder / f"{name}.sql").read_text().rsplit("FORMAT ", 1)
                text = text.replace("input('line String')", f"file('{files}', '{form.strip()}', 'line String')")
                database.query(text, params={"job": str(number)})
        self.judge(lambda name: [list(json.loads(row).values()) for row in
                                 str(database.query((folder / f"{name}.sql").read_text() + " SETTINGS output_format_json_quote_64bit_integers = 0",
                                                    "JSONEachRow")).splitlines()])
        number = ARGS.jobs // 2
        text = (folder / "export_job.sql").read_text().replace(" FORMAT TSVRaw", "")
        self.same_verdict(number, str(database.query(text, "TSVRaw", params={"job": str(number)})))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("write_job")
    parser.add_argument("examples", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=60)
    ARGS = parser.parse_args()
    unittest.main(argv=sys.argv[:1])
