#!/usr/bin/env python3
"""package_test.py BUILD_DIR: the .deb holds what a user needs, and works from wherever it is unpacked."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
LACKING = [tool for tool in ("cpack", "dpkg-deb", "dpkg-shlibdeps", "pkg-config") if shutil.which(tool) is None]
SKIPPED = 77


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="nnd-package.")
        cls.addClassCleanup(folder.cleanup)
        out = pathlib.Path(folder.name)
        subprocess.run(["cpack", "--config", BUILD / "CPackConfig.cmake", "-B", out], cwd=out, check=True, stdout=subprocess.DEVNULL)
        (cls.file,) = out.glob("*.deb")
        cls.root = out / "root"
        subprocess.run(["dpkg-deb", "-x", cls.file, cls.root], check=True)

    def field(self, name):
        return subprocess.run(["dpkg-deb", "-f", self.file, name], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def tool(self, *arguments):
        environment = {name: os.environ[name] for name in ("HOME", "PATH", "XDG_CACHE_HOME", "NND_NCCL_DIR") if name in os.environ}
        done = subprocess.run([self.root / "usr/bin/nccl-net-diag", *arguments, "--json"], env=environment, stdout=subprocess.PIPE)
        return done.returncode, json.loads(done.stdout)

    def test_says_what_it_is_and_needs(self):
        self.assertEqual(self.field("Package"), "nccl-net-diag")
        needs = {one.split()[0] for one in self.field("Depends").split(", ")}
        self.assertIn("libc6", needs)
        # Loaded by name, where there is one: the plugin wraps the job's own.
        self.assertNotIn("libibverbs1", needs)
        self.assertNotIn("libnccl2", needs)

    def test_has_the_plugin_the_pages_and_the_completions(self):
        usr = self.root / "usr"
        for pattern in ("lib/**/libnccl-net-diag.so", "share/man/man1/nccl-net-diag-top.1*", "include/nccl_net_diag/events.h",
                        "share/bash-completion/completions/nccl-net-diag", "share/nccl-net-diag/examples/scenarios/all-bond.toml"):
            self.assertEqual(len(list(usr.glob(pattern))), 1, pattern)
        for file in self.root.rglob("*"):
            self.assertEqual(file.stat().st_mode & 0o022, 0, f"{file}: others may write it")

    def test_gives_other_programs_its_headers(self):
        (folder,) = self.root.glob("usr/lib/**/pkgconfig")
        flags = subprocess.run(["pkg-config", "--cflags", "nccl-net-diag"], env={**os.environ, "PKG_CONFIG_PATH": str(folder)},
                               check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertTrue((pathlib.Path(flags.strip().removeprefix("-I")) / "nccl_net_diag/events.h").samefile(
            self.root / "usr/include/nccl_net_diag/events.h"))

    def test_works_as_it_is_unpacked(self):
        code, answer = self.tool("check", "--scenario", "single-hca")
        self.assertEqual((code, answer["ok"]), (0, True))
        code, answer = self.tool("demo", "--scenario", "single-hca", "--nccl", "2.28.9")
        self.assertEqual((code, answer["ok"]), (0, True), answer)
        self.assertEqual(len(answer["processes"]), 2)


if __name__ == "__main__":
    if LACKING:
        print(f"SKIPPED: there is no {' and no '.join(LACKING)}")
        sys.exit(SKIPPED)
    unittest.main()
