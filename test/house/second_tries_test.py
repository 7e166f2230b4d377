#!/usr/bin/env python3
"""CI's last lines: a test that failed once is named, and so is a skipped one with its reason."""
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / ".ci/second-tries"
TESTS = """add_test(flaky sh -c "test -e {0}/once || {{ touch {0}/once; exit 1; }}")
add_test(skips sh -c "echo 'SKIPPED: no GPU here'; exit 77")
set_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)
add_test(fine true)
"""


class SecondTries(unittest.TestCase):
    def test_names_what_was_repeated_and_what_was_skipped(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "CTestTestfile.cmake").write_text(TESTS.format(folder))
            reports = pathlib.Path(folder, "reports")
            reports.mkdir()
            subprocess.run(["ctest", "--repeat", "until-pass:2", "--output-log", reports / "all.log", "--output-junit", reports / "all.xml"],
                           cwd=folder, check=True, stdout=subprocess.DEVNULL)
            said = subprocess.run([SCRIPT, reports], check=True, capture_output=True, text=True).stdout.splitlines()
        self.assertEqual(said, ["SECOND TRY: flaky (all: Failed, Passed)", "SKIPPED: skips (all): SKIPPED: no GPU here",
                                "1 tests needed a second try, 1 were skipped"])


if __name__ == "__main__":
    unittest.main()
