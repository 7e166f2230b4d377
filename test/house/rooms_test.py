#!/usr/bin/env python3
"""The house keeps to the table in docs/architecture.md, and the check sees it where it doesn't."""
import pathlib
import tempfile
import unittest

import rooms

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Rooms(unittest.TestCase):
    def house(self, table, **files):
        """A house of this table; files: room_file="included header"."""
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        root = pathlib.Path(place.name)
        (root / "docs").mkdir()
        (root / "docs/architecture.md").write_text("".join(f"| `{room}` | {uses} | |\n" for room, uses in table.items()))
        for room in table:
            (root / "plugin" / room).mkdir(parents=True)
        for name, header in files.items():
            (root / "plugin" / name.split("_")[0] / "file.cc").write_text(f'#include "{header}"\n')
        return rooms.check(root)

    def test_this_house(self):
        self.assertEqual(rooms.check(ROOT), [])

    def test_a_house_in_order(self):
        self.assertEqual(self.house({"net": "`record`", "record": "–"}, net_file="record/event.h", record_file="nccl_abi/net.h"), [])

    def test_a_room_that_breaks_the_table(self):
        self.assertEqual(self.house({"net": "–", "verbs": "–"}, net_file="verbs/ops.h"), ["net uses verbs (plugin/net/file.cc) and may not"])

    def test_a_row_that_promises_more_than_is_used(self):
        self.assertEqual(self.house({"net": "`verbs`", "verbs": "–"}), ["net may use verbs and doesn't: take it out of the table"])

    def test_a_room_without_a_row(self):
        self.assertEqual(self.house({"net": "–"}, net_file="attic/box.h"), ["net uses attic (plugin/net/file.cc) and may not"])


if __name__ == "__main__":
    unittest.main()
