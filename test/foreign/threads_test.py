#!/usr/bin/env python3
"""What `nccl-net-diag report` says first of lines as they stand in public threads, whose cause was found: the lines are
written anew, in the same form. threads_test.py TOOL THREADS_DIR PAGE [--write]: PAGE is docs/threads.md."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

TOOL, FOLDER, PAGE = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
THREADS = json.loads((FOLDER / "threads.json").read_text())
JUDGED = ("right", "silent", "wrong")


def first_line(thread):
    environment = {**os.environ, "COLUMNS": "1000", "NO_COLOR": "1"}
    path = FOLDER / (thread["name"] + ".txt")
    done = subprocess.run([TOOL, "report", path, "--brief"], capture_output=True, env=environment, check=False, text=True)
    return done.stdout.split("\n", 1)[0] if done.stdout else "nothing in it is known"


def counts():
    told = [t for t in THREADS if t["lines_tell"]]
    innocent = [t for t in THREADS if t["innocent"]]
    return {
        "threads": len(THREADS),
        "told": len(told),
        "right": sum(t["judged"] == "right" for t in told),
        "wrong": sum(t["judged"] == "wrong" for t in THREADS),
        "innocent": len(innocent),
        "accused": sum(t["judged"] == "wrong" for t in innocent),
        "shown": sum(t["lines_tell"] for t in innocent),
        "cleared": sum("not the network" in first_line(t) for t in innocent),
    }


def page():
    n = counts()
    lines = [
        "# Public threads",
        "",
        f"What `report` says first of the lines that people posted, in {n['threads']} public threads whose cause was found in the end: "
        "no plugin was there, so these",
        "lines are all it has. The lines are written anew in the same form (`test/foreign/threads`), with other hosts, addresses and numbers; "
        "the posted text stays where it is.",
        "`ctest -R report.threads` compares; `test/foreign/threads_test.py ... --write` makes this page. Right and silent are judged by a person: "
        "*right* names the cause, or the",
        "call, device or rank by which it was found; *silent* says that nothing shows it; *wrong* would be another cause.",
        "",
        f"In {n['told']} an expert could tell the cause from the lines: right in {n['right']} ({100 * n['right'] // n['told']} %), wrong in {n['wrong']} of all. "
        f"In {n['innocent']} the network had no part: it was accused in {n['accused']}, and",
        f"cleared by name in {n['cleared']}; in {n['shown']} the lines show what it was.",
        "",
        "| thread | what it was | lines tell it | report's first line | judged |",
        "| --- | --- | --- | --- | --- |",
    ]
    for thread in THREADS:
        said = first_line(thread).replace("|", "\\|").replace("<", "&lt;")
        lines.append(f"| [{thread['name']}]({thread['source']}) | {thread['truth']} | {'yes' if thread['lines_tell'] else 'no'} | {said} | {thread['judged']} |")
    return "\n".join(lines) + "\n"


class Threads(unittest.TestCase):
    def test_what_is_said_first(self):
        for thread in THREADS:
            with self.subTest(thread["name"]):
                self.assertIn(thread["says"], first_line(thread))
                self.assertIn(thread["judged"], JUDGED)

    def test_how_often_it_is_right(self):
        n = counts()
        self.assertGreaterEqual(n["threads"], 25)
        self.assertGreaterEqual(n["right"] / n["told"], 0.8)
        self.assertEqual(n["wrong"], 0)

    def test_the_page(self):
        self.assertEqual(PAGE.read_text(), page())


if __name__ == "__main__":
    if sys.argv[4:] == ["--write"]:
        PAGE.write_text(page())
        sys.exit()
    unittest.main(argv=sys.argv[:1])
