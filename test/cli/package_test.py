#!/usr/bin/env python3
"""package_test.py BUILD_DIR: each .deb holds what its user needs, and they work from wherever they are unpacked."""
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
NAMES = ("nccl-net-diag", "nccl-net-diag-tools", "nccl-net-diag-emulation")


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="nnd-package.")
        cls.addClassCleanup(folder.cleanup)
        out = pathlib.Path(folder.name)
        subprocess.run(["cpack", "--config", BUILD / "CPackConfig.cmake", "-B", out], cwd=out, check=True, stdout=subprocess.DEVNULL)
        cls.files = {file.name.split("_")[0]: file for file in out.glob("*.deb")}
        cls.roots = {name: cls.unpacked(out / name, name) for name in NAMES}
        cls.root = cls.unpacked(out / "root", *NAMES)

    @classmethod
    def unpacked(cls, folder, *names):
        for name in names:
            subprocess.run(["dpkg-deb", "-x", cls.files[name], folder], check=True)
        return folder

    def field(self, name, field):
        return subprocess.run(["dpkg-deb", "-f", self.files[name], field], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def needs(self, name):
        return {one.split()[0] for one in self.field(name, "Depends").split(", ")}

    def tool(self, root, command, *arguments):
        environment = {name: os.environ[name] for name in ("HOME", "PATH", "XDG_CACHE_HOME", "NND_NCCL_DIR") if name in os.environ}
        environment["TMPDIR"] = str(self.root.parent)  # a demo's logs stay
        done = subprocess.run([root / "usr/bin/nccl-net-diag", command, "--json", *arguments], env=environment, stdout=subprocess.PIPE)
        return done.returncode, json.loads(done.stdout)

    def test_each_says_what_it_is_and_needs(self):
        self.assertEqual(set(self.files), set(NAMES))
        for name in NAMES:
            self.assertEqual(self.field(name, "Package"), name)
            # Loaded by name, where there is one: the plugin wraps the job's own.
            self.assertFalse(self.needs(name) & {"libibverbs1", "libnccl2"}, name)
        self.assertEqual(self.needs("nccl-net-diag"), {"libc6"})
        self.assertIn("nccl-net-diag", self.needs("nccl-net-diag-tools"))
        self.assertFalse(self.needs("nccl-net-diag-emulation") & set(NAMES))

    def test_each_file_is_in_one_of_them(self):
        for name, patterns in {
                "nccl-net-diag": ("lib/**/libnccl-net-diag.so", "include/nccl_net_diag/events.h", "share/nccl-net-diag/docs/install.md"),
                "nccl-net-diag-tools": ("bin/nccl-net-diag", "share/man/man1/nccl-net-diag-top.1*", "libexec/nccl-net-diag/nnd-rank",
                                        "share/bash-completion/completions/nccl-net-diag", "share/nccl-net-diag/examples/slurm/job.sbatch"),
                "nccl-net-diag-emulation": ("lib/**/libibverbs.so.1", "lib/**/libsoftcuda.so", "bin/nnd-on-host",
                                            "share/nccl-net-diag/examples/scenarios/all-bond.toml", "share/nccl-net-diag/tools/emulation/README.md")}.items():
            for pattern in patterns:
                self.assertEqual([other for other in NAMES if list((self.roots[other] / "usr").glob(pattern))], [name], pattern)
            self.assertTrue((self.roots[name] / "usr/share/doc" / name / "copyright").exists(), name)
        held = [file.relative_to(root) for root in self.roots.values() for file in root.rglob("*") if not file.is_dir()]
        self.assertEqual(len(held), len(set(held)))
        for file in self.root.rglob("*"):
            self.assertEqual(file.stat().st_mode & 0o022, 0, f"{file}: others may write it")

    def test_without_the_emulation_it_says_what_to_install(self):
        root = self.unpacked(self.root.parent / "without", "nccl-net-diag", "nccl-net-diag-tools")
        for words in (["demo"], ["demo", "--list"], ["rehearse", "--scenario", "single-hca"], ["check", "--scenario", "single-hca"],
                      ["ping", "--scenario", "single-hca"], ["rehearse", "--scenario", "single-hca", "--", "true"]):
            code, answer = self.tool(root, *words)
            self.assertEqual((code, answer["error"]["kind"]), (3, "parts"), words)
            self.assertIn("the emulated fabric is not installed: install the package nccl-net-diag-emulation", answer["error"]["message"])
        code, answer = self.tool(root, "env")
        self.assertEqual(code, 0, answer)

    def test_gives_other_programs_its_headers(self):
        (folder,) = self.root.glob("usr/lib/**/pkgconfig")
        flags = subprocess.run(["pkg-config", "--cflags", "nccl-net-diag"], env={**os.environ, "PKG_CONFIG_PATH": str(folder)},
                               check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertTrue((pathlib.Path(flags.strip().removeprefix("-I")) / "nccl_net_diag/events.h").samefile(
            self.root / "usr/include/nccl_net_diag/events.h"))

    def test_works_as_it_is_unpacked(self):
        code, answer = self.tool(self.root, "check", "--scenario", "single-hca")
        self.assertEqual((code, answer["ok"]), (0, True))
        code, answer = self.tool(self.root, "demo", "--scenario", "single-hca", "--nccl", "2.28.9")
        self.assertEqual((code, answer["ok"]), (0, True), answer)
        self.assertEqual(len(answer["processes"]), 2)


if __name__ == "__main__":
    if LACKING:
        print(f"SKIPPED: there is no {' and no '.join(LACKING)}")
        sys.exit(SKIPPED)
    unittest.main()
