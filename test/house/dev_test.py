#!/usr/bin/env python3
"""./dev: its help, and a word that it doesn't know."""
import pathlib
import subprocess
import unittest

DEV = pathlib.Path(__file__).parents[2] / "dev"


def call(*words):
    return subprocess.run([DEV, *words], capture_output=True, text=True, timeout=60)


class Dev(unittest.TestCase):
    def test_help(self):
        for words in ([], ["help"], ["--help"]):
            self.assertIn("./dev demo", call(*words).stdout)
            self.assertEqual(call(*words).returncode, 0)

    def test_unknown_word(self):
        wrong = call("tset")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn('"tset"', wrong.stderr)
        self.assertEqual(wrong.stdout, "")


if __name__ == "__main__":
    unittest.main()
