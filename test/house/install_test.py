#!/usr/bin/env python3
"""docs/install.md says the versions that the code has, and the recipes of containers and of Spack fit the project."""
import pathlib
import re
import sys
import types
import unittest

ROOT = pathlib.Path(__file__).parents[2]
INSTRUCTIONS = {"FROM", "ARG", "RUN", "COPY", "WORKDIR", "ENTRYPOINT", "ENV"}


def number(file, name):
    return re.search(rf"{name} = (\d+)", (ROOT / file).read_text()).group(1)


def version():
    return re.search(r"project\(nccl-net-diag VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


class Page(unittest.TestCase):
    def test_versions(self):
        page = (ROOT / "docs/install.md").read_text()
        rows = {cells[1]: cells[2] for cells in (re.split(r" *\| *", line) for line in page.splitlines() if line.startswith("|")) if len(cells) > 3}
        self.assertEqual(rows["package"], version())
        self.assertEqual(rows["event log, member `v` of each line"], number("include/nccl_net_diag/events.h", "kSchemaVersion"))
        self.assertEqual(rows["black box, layout"], number("include/nccl_net_diag/black_box.h", "kVersion"))
        self.assertEqual(rows["what a listener adds to NCCL's handle"], number("include/nccl_net_diag/handle_trailer.h", "kVersion"))
        exported = (ROOT / "plugin/exports.map").read_text() + (ROOT / "plugin/exports.cc").read_text()
        for row, symbol in (("NCCL's net API", r"ncclNetPlugin_v(\d+)"), ("NCCL's profiler API", r"ncclProfiler_v(\d+)")):
            numbers = sorted(map(int, set(re.findall(symbol, exported))))
            self.assertEqual(rows[row], f"v{numbers[0]} to v{numbers[-1]}")
        for file in set(re.findall(r"nccl[-_]net[-_]diag[-_](\d+\.\d+\.\d+)", page)):
            self.assertEqual(file, version())


class Dockerfile(unittest.TestCase):
    def test_stages_and_files(self):
        text = re.sub(r"^#.*\n", "", (ROOT / "packaging/container/Dockerfile").read_text(), flags=re.M)
        stages = []
        for line in text.replace("\\\n", " ").splitlines():
            if not line:
                continue
            word, *rest = line.split()
            self.assertIn(word, INSTRUCTIONS)
            if word == "FROM":
                self.assertEqual(rest[1], "AS")
                stages.append(rest[2])
            for stage in re.findall(r"--from=(\S+)", line):
                self.assertIn(stage, stages[:-1])
            for script in re.findall(r"\b(packaging/\w+)", line):
                self.assertTrue((ROOT / script).stat().st_mode & 0o100, script)
        self.assertEqual(stages, ["build", "packages", "plugin", "tool"])


class Spack(unittest.TestCase):
    """Read as Spack reads it: a class whose body calls directives."""

    def test_recipe(self):
        called = []
        module = types.ModuleType("spack.package")
        for name in ("version", "license", "depends_on", "conflicts"):
            setattr(module, name, lambda first, name=name, **how: called.append((name, first)))
        module.CMakePackage = type("CMakePackage", (), {"define": lambda self, name, value: (name, value)})
        sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": module})
        self.addCleanup(lambda: [sys.modules.pop(name) for name in ("spack", "spack.package")])
        scope = {}
        exec((ROOT / "packaging/spack/packages/nccl_net_diag/package.py").read_text(), scope)
        self.assertIn(("version", version()), called)
        wanted = {re.split("[@+~]", what)[0] for name, what in called if name == "depends_on"}
        # One for each package that ./dev installs to build.
        self.assertGreaterEqual(wanted, {"fmt", "nlohmann-json", "cli11", "tomlplusplus", "rdma-core", "elfutils", "libmicrohttpd", "libsodium",
                                         "simdjson", "zlib-api", "zstd", "cmake", "cxx", "pkgconfig"})
        self.assertEqual(scope["NcclNetDiag"]().cmake_args(), [("NND_TESTS", False)])


if __name__ == "__main__":
    unittest.main()
