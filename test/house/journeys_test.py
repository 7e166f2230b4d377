#!/usr/bin/env python3
"""The journeys of docs/architecture.md are true and short; and so is what it says of who knows CLI11, and of what is pure."""
import pathlib
import re
import tempfile
import unittest

import journeys
import rooms

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text()
# Files at the most, of a way that is often gone when something is changed.
MOST = {"A send is counted": 9, "A failed RTR becomes a line": 13, "A wait becomes a line": 13, "A rule becomes a refusal": 12,
        "A thousand logs become a sentence": 20, "`ping --matrix` becomes a page": 20}
IO = re.compile(r"#include <(?:fstream|fcntl\.h|unistd\.h|dirent\.h|filesystem|cstdio|poll\.h|netdb\.h|sys/\w+\.h)>|steady_clock|system_clock|clock_gettime")


class Journeys(unittest.TestCase):
    def test_each_is_a_way(self):
        for title, (way, beside) in journeys.journeys(PAGE).items():
            with self.subTest(journey=title):
                self.assertEqual(journeys.strays(ROOT, journeys.resolved(ROOT, way)), [])
                journeys.resolved(ROOT, beside)

    def test_each_is_short(self):
        found = journeys.journeys(PAGE)
        for title, most in MOST.items():
            way = found[title][0]
            print(f"{title}: {len(way)} files, at most {most}")
            self.assertLessEqual(len(way), most, title)

    def test_a_way_that_breaks(self):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            (root / "plugin/net").mkdir(parents=True)
            for file, text in (("a.cc", '#include "net/b.h"\n'), ("b.h", ""), ("c.h", "")):
                (root / "plugin/net" / file).write_text(text)
            page = "\n## Journeys\n\n- **A way.** `net/a.cc` → `b.h` → `c.h`. Beside: `c.h`.\n\n## Next\n"
            way, beside = journeys.journeys(page)["A way"]
            self.assertEqual((way, beside), (["net/a.cc", "b.h", "c.h"], ["c.h"]))
            self.assertEqual(journeys.strays(root, journeys.resolved(root, way)), ["plugin/net/c.h"])
            with self.assertRaises(ValueError):
                journeys.resolved(root, ["net/d.cc"])


def sources(folder):
    return [file for file in sorted(folder.rglob("*")) if file.suffix in (".cc", ".h")]


class Statements(unittest.TestCase):
    def test_only_the_command_line_knows_cli11(self):
        knows = {str(file.parent.relative_to(ROOT)) for base in ("plugin", "tools") for file in sources(ROOT / base) if "CLI/" in file.read_text()}
        self.assertEqual(knows, {"tools/cli/commands", "tools/emulation/softcuda/program"})

    def test_what_is_pure_does_no_io(self):
        pure = sources(ROOT / "plugin/diagnosis") + [ROOT / "plugin/peers/engine.cc", ROOT / "plugin/peers/message.cc"]
        way = journeys.resolved(ROOT, journeys.journeys(PAGE)["A thousand logs become a sentence"][0])
        pure += [file for file in way if file.stem in {"failures", "waits", "ends", "model", "relations", "conclusion", "culprits"}]
        self.assertGreater(len(pure), 40)
        for file in pure:
            with self.subTest(file=file.name):
                self.assertNotRegex(file.read_text(), IO)

    def test_a_pattern_that_finds_io(self):
        for line in ("#include <fstream>", "#include <sys/socket.h>", "std::chrono::steady_clock::now()"):
            self.assertRegex(line, IO)

    def test_the_build_shows_what_the_table_says(self):
        """plugin/CMakeLists.txt links each room with those of its row, and what these need."""
        text, table = (ROOT / "plugin/CMakeLists.txt").read_text(), rooms.table(PAGE)
        linked = {name: set(re.findall(r"nnd_(\w+)", others)) for name, others in re.findall(r"nnd_room\((\w+) \w+([^)]*)\)", text)}
        self.assertGreater(len(linked), 10)
        for name, others in linked.items():
            with self.subTest(room=name):
                self.assertEqual(table[name] - others, set(), "the build lacks")
                self.assertEqual(others - rooms.needed(table, name), set(), "the build shows more than the table")


if __name__ == "__main__":
    unittest.main()
