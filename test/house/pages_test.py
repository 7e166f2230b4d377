#!/usr/bin/env python3
"""What the pages and examples give to copy does in any shell what it says."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(file for file in (ROOT / "examples").rglob("*") if file.is_file())]
# Joined to a list of folders that may be empty, a colon names the current directory: what lies there is loaded.
OPEN_PATH = re.compile(r":\$\{?(?:LD_LIBRARY_PATH|PYTHONPATH|MANPATH)\b")


def found(pattern, text):
    guarded = re.sub(r"\$\{(\w+):\+:\$\1\}", "", text)
    return [line for line in guarded.splitlines() if pattern.search(line)]


class Pages(unittest.TestCase):
    def test_the_patterns(self):
        for line in ("export LD_LIBRARY_PATH=/a:$LD_LIBRARY_PATH", "-x LD_LIBRARY_PATH=/a:${LD_LIBRARY_PATH:-}",
                     "LD_LIBRARY_PATH=/a:${LD_LIBRARY_PATH}"):
            self.assertTrue(found(OPEN_PATH, line), line)
        self.assertFalse(found(OPEN_PATH, "export LD_LIBRARY_PATH=/a${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"))

    def test_no_library_comes_from_the_current_directory(self):
        for page in PAGES:
            self.assertEqual(found(OPEN_PATH, page.read_text()), [], page)


if __name__ == "__main__":
    unittest.main()
