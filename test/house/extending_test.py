#!/usr/bin/env python3
"""How many files it takes to add something, as docs/extending.md says: one of each is added to a copy of the tree, and what was touched compiles there."""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import rooms

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = ("plugin", "tools", "include", "docs", "cmake", "test/unit", "test/support", "test/policy", "test/integration", "test/driver")
FLAGS = ["-std=c++20", "-fsyntax-only", "-w", *(f"-I{part}" for part in ("plugin", "include", "tools", "tools/emulation", "test", "test/unit"))]

SHELL = {  # file: text, of a subcommand "moon"
    "tools/cli/moon/command.h": '#pragma once\n\n#include "cli/common/answer.h"\n\nnamespace nnd::cli {\n\nAnswer moon();\n\n}  // namespace nnd::cli\n',
    "tools/cli/moon/command.cc": '#include "cli/moon/command.h"\n\nnamespace nnd::cli {\n\nAnswer moon() { return {}; }\n\n}  // namespace nnd::cli\n',
    "tools/cli/commands/moon.cc": '#include "cli/moon/command.h"\n\n#include "cli/commands/options.h"\n\nnamespace nnd::cli {\n\n'
                                  "void add_moon(CLI::App& app, int& exit_code) {\n"
                                  '  add_command(app, "moon", "The moon.", exit_code, [](const Calling&) { return moon(); });\n}\n\n}  // namespace nnd::cli\n',
    "test/unit/cli/moon_test.cc": '#include "cli/moon/command.h"\n#include "support/catch.h"\n\n'
                                  'TEST_CASE("moon: the moon") { CHECK(nnd::cli::moon().exit_code == 0); }\n'}

# What is added: (new files, {file: [(what stands there, what stands there then)]}).
ADDITIONS = {
    "counter": ({}, {
        "plugin/facts/counters.cc": [("kParts = {\n", 'kParts = {\n      Part{"moon_dust", Counter::kLoss},\n')],
        "test/unit/facts/counters_test.cc": [("namespace {\n", 'TEST_CASE("counters: moon dust") { CHECK(kind_of_counter("moon_dust") == Counter::kLoss); }\n\nnamespace {\n')]}),
    "cause": ({}, {
        "include/nccl_net_diag/causes.h": [("  X(kHangNode,", '  X(kHangMoon, "HANG-MOON", kWarn, kNow, kOpen, "Everybody waits for the moon") \\\n  X(kHangNode,')],
        "plugin/diagnosis/catalogue_others.h": [("inline constexpr Explanation kHangNode{", 'inline constexpr Explanation kHangMoon{\n    "The moon.", "It is late.", '
                                                 '"Wait for it.", EventId::kJobStall, "It waits for the moon."};\ninline constexpr Explanation kHangNode{')],
        "plugin/diagnosis/root.cc": [("      return Cause::kHangNode;", "      return root.who.pid == 1 ? Cause::kHangMoon : Cause::kHangNode;")],
        "test/unit/diagnosis/root_test.cc": [("namespace {\n", 'TEST_CASE("root: the moon") { CHECK(Cause::kHangMoon != Cause::kHangNode); }\n\nnamespace {\n')]}),
    "field of an event": ({}, {
        "plugin/net/conn_events.cc": [('e.add("peer_wait_us", to_us(waited));', 'e.add("peer_wait_us", to_us(waited));\n    e.add("moon_us", to_us(waited));')],
        "include/nccl_net_diag/event.schema.json": [('    "peer_wait_us":', '    "moon_us": {"type": "number", "description": "conn.close: the moon"},\n    "peer_wait_us":')],
        "docs/events.md": [("| `conn.listen`, `conn.open`", "| `moon_us` | the moon |\n| `conn.listen`, `conn.open`")],
        "tools/log/event.h": [("lived_us, peer_wait_us;", "lived_us, peer_wait_us, moon_us;")],
        "tools/log/fields.cc": [('{"peer_wait_us", set<&Event::peer_wait_us>},', '{"peer_wait_us", set<&Event::peer_wait_us>},\n{"moon_us", set<&Event::moon_us>},')]}),
    "variable": ({}, {
        "plugin/config/settings.h": [("  Keep keep;", "  double moon_sec = 1;\n  Keep keep;")],
        "plugin/config/settings.cc": [('    {{"NCCL_NET_DIAG_CONNECT_SEC"', '    {{"NCCL_NET_DIAG_MOON_SEC", "1", "age of the moon"},\n     take_seconds<&Settings::moon_sec>},\n    {{"NCCL_NET_DIAG_CONNECT_SEC"')],
        "test/unit/config/settings_test.cc": [("namespace {\n", 'TEST_CASE("settings: the moon") { CHECK(nnd::config::Settings().moon_sec == 1); }\n\nnamespace {\n')],
        "docs/variables.md": [("| `NCCL_NET_DIAG_KEEP` |", "| `NCCL_NET_DIAG_MOON_SEC` | age of the moon | 1 |\n| `NCCL_NET_DIAG_KEEP` |")],
        "plugin/watch/judge.cc": [("namespace {\n", "namespace {\n\n// Its user.\n")]}),
    "key of the policy": ({}, {
        "plugin/policy/policy.h": [("  Action v1 = Action::kWarn;", "  Action v1 = Action::kWarn;\n  Action moon = Action::kWarn;")],
        "plugin/policy/keys.cc": [('      {"roce.subnets", "subnets",', '      {"roce.moon", kActions, "the moon", true, choice<kRoce, &RoceRules::moon>},\n      {"roce.subnets", "subnets",')],
        "plugin/policy/rules_own.cc": [('    add("roce.v1", picked(Fault::kRoceV1), rules.v1);',
                                        '    add("roce.v1", picked(Fault::kRoceV1), rules.v1);\n  else if (one.name() == "moon")\n    add("roce.moon", picked(Fault::kRoceV1), rules.moon);')],
        "docs/policy.md": [("| `roce.subnets` | subnets |", "| `roce.moon` | allow, warn, deny | the moon |\n| `roce.subnets` | subnets |")],
        "test/policy/rules_test.cc": [('      {"roce.subnets DEV-DENIED mlx5_3",', '      {"roce.moon GID-V1 mlx5_3", kWarned, {gpu_node(rail())}},\n      {"roce.subnets DEV-DENIED mlx5_3",')]}),
    "subcommand": (SHELL, {
        "tools/cli/CMakeLists.txt": [("  nnd_tool_part(demo ", "  nnd_tool_part(moon nnd_cli_common)\n  nnd_tool_part(demo "),
                                     ("list(APPEND commands demo ", "list(APPEND commands moon demo ")],
        "docs/architecture.md": [("| `cli/demo` |", "| `cli/moon` | `cli/common` | `nccl-net-diag moon` |\n| `cli/demo` |"), ("`cli/launch`, `cli/manual`, ", "`cli/launch`, `cli/manual`, `cli/moon`, ")],
        "docs/tool.md": [("| [`decode BOX...`]", "| `moon` | the moon |\n| [`decode BOX...`]")]}),
}
# Files that change, and new ones: of the subcommand's own.
MOST = {"counter": (2, 0), "cause": (4, 0), "field of an event": (5, 0), "variable": (5, 0), "key of the policy": (5, 0), "subcommand": (3, 4)}


def copy(folder):
    for part in PARTS:
        shutil.copytree(ROOT / part, folder / part)


def edit(folder, name):
    """The sources that it touched."""
    new, changed = ADDITIONS[name]
    for file, text in new.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(text)
    for file, places in changed.items():
        text = (folder / file).read_text()
        for before, after in places:
            if before not in text:
                raise ValueError(f"{name}: {file} has no {before!r} any more")
            text = text.replace(before, after, 1)
        (folder / file).write_text(text)
    return [file for file in (*new, *changed) if file.endswith(".cc")]


class Extending(unittest.TestCase):
    compiler = "c++"

    def added(self, name):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        folder = pathlib.Path(temporary.name)
        copy(folder)
        sources = edit(folder, name)
        new, changed = ADDITIONS[name]
        print(f"{name}: {len(changed)} files change" + (f", {len(new)} are new" if new else ""))
        self.assertEqual((len(changed), len(new)), MOST[name])
        self.assertEqual(rooms.check(folder), [])
        (folder / "commands.inc").write_text("NND_COMMAND(moon)\n")
        for source in sources:
            done = subprocess.run([self.compiler, *FLAGS, f"-I{folder}", source], cwd=folder, capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr[-3000:])

    def test_what_the_page_says(self):
        page = (ROOT / "docs/extending.md").read_text()
        for name, (changed, new) in MOST.items():
            wanted = f"{changed} files" if not new else f"{changed} files and {new} new ones"
            self.assertRegex(page, rf"(?i)\*\*An? [^*]*{re.escape(name.split()[0])}[^*]*\*\* \({wanted}\)")


for addition in ADDITIONS:
    setattr(Extending, "test_" + addition.replace(" ", "_"), lambda self, name=addition: self.added(name))

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="c++")
    options, rest = parser.parse_known_args()
    Extending.compiler = options.compiler
    unittest.main(argv=[sys.argv[0], *rest])
