#!/usr/bin/env python3
"""What is loaded into a job reads its numbers alike in each locale: strtod and its like obey the job's decimal point."""
import pathlib
import re
import unittest

PLUGIN = pathlib.Path(__file__).resolve().parents[2] / "plugin"
OBEYS = re.compile(r"\b(?:strto[fd]l?|ato[f]|sto(?:f|d|ld)|setlocale)\s*\(|scanf[^;]*%[0-9]*l?[aefg]\b")


class Locale(unittest.TestCase):
    def test_the_pattern(self):
        for line in ("std::strtod(text, &end)", "std::stod(text)", 'sscanf(text, "%lf", &value)'):
            self.assertRegex(line, OBEYS)
        for line in ("std::strtoul(text, &end, 16)", 'sscanf(text, "%x:%4s", &a, b)', "std::from_chars(begin, end, value)"):
            self.assertNotRegex(line, OBEYS)

    def test_no_number_is_read_by_the_locale(self):
        files = [file for file in PLUGIN.rglob("*") if file.suffix in (".cc", ".h") and "compat" not in file.parts]
        self.assertGreater(len(files), 100)
        for file in files:
            with self.subTest(file=file.name):
                self.assertNotRegex(file.read_text(), OBEYS)


if __name__ == "__main__":
    unittest.main()
