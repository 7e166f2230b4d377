#!/usr/bin/env python3
"""packages_test.py BUILD PACKAGES LIBNCCL: what packaging/build made in PACKAGES, each installed as a user would and tried, where it
has never been. As root: Debian 11 and 12 are fresh roots (mmdebstrap), where LIBNCCL's job runs too.
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from elf_floor import is_elf, wrong_with

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD, PACKAGES, LIBNCCL = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
del sys.argv[1:4]
WORK = pathlib.Path(tempfile.mkdtemp(prefix="nnd-packages."))
unittest.addModuleCleanup(shutil.rmtree, WORK)
DEBS = ("nccl-net-diag", "nccl-net-diag-tools", "nccl-net-diag-emulation")
# What a job prints that was started by `nccl-net-diag run`: the library that NCCL would load does load.
LOADS = "import ctypes, os; ctypes.CDLL(os.environ['NCCL_NET_PLUGIN']).ncclNetPlugin_v8; print('loads', os.environ['NCCL_NET_PLUGIN_REF_COUNT'])"


def only(pattern):
    (file,) = PACKAGES.glob(pattern)
    return file


def debs():
    return [only(f"{name}_*.deb") for name in DEBS]


def clean_environment(**more):
    kept = {name: os.environ[name] for name in ("HOME", "PATH", "TMPDIR") if name in os.environ}
    return {**kept, **more}


def output(*words, **how):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)
    if done.returncode != 0:
        raise AssertionError(f"{words}: exit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


class Installed:
    """A tool somewhere, called by `call(words)`."""

    def try_it(self, call, prefix, nccl):
        self.assertRegex(call("nccl-net-diag", "--version"), r"^\d+\.\d+\.\d+")
        answer = json.loads(call("nccl-net-diag", "check", "--scenario", "single-hca", "--json"))
        self.assertTrue(answer["ok"], answer)
        variables = json.loads(call("nccl-net-diag", "env", "--json"))["variables"]
        self.assertEqual(variables["NCCL_NET_PLUGIN"], f"{prefix}/lib/libnccl-net-diag.so")
        self.assertEqual(call("nccl-net-diag", "run", "--", "python3", "-c", LOADS), "loads 1\n")
        answer = json.loads(call("nccl-net-diag", "demo", "--scenario", "single-hca", "--nccl", nccl, "--json"))
        self.addCleanup(shutil.rmtree, answer["logs"], ignore_errors=True)
        self.assertTrue(answer["ok"], answer)
        self.assertEqual(len(answer["processes"]), 2)


class AllOfThem(unittest.TestCase):
    def test_the_same_build_gives_the_same_bytes(self):
        subprocess.run([ROOT / "packaging/pack", BUILD, WORK / "again"], check=True, stdout=subprocess.DEVNULL)
        digests = [{file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()} for folder in (PACKAGES, WORK / "again")]
        self.assertEqual(len(digests[1]), 6)
        self.assertEqual(*digests)

    def test_nothing_asks_for_more_than_glibc_2_28(self):
        tree = WORK / "floor"
        tree.mkdir()
        subprocess.run(["tar", "xzf", only("*.tar.gz"), "-C", tree], check=True)
        files = [file for file in tree.rglob("*") if file.is_file() and not file.is_symlink() and is_elf(file)]
        self.assertGreaterEqual({file.name for file in files}, {"nccl-net-diag", "nnd-rank", "nnd-on-host", "libnccl-net-diag.so", "libsoftcuda.so"})
        self.assertEqual({file.name: wrong for file in files if (wrong := wrong_with(file, (2, 28)))}, {})

    def test_each_has_what_a_user_looks_for(self):
        inside = {
            "tar.gz": output("tar", "tzf", only("*.tar.gz")),
            "deb": "".join(output("dpkg-deb", "-c", file) for file in debs()),
            "rpm": output("rpm", "-qlp", only("*.rpm")),
            "wheel": output(sys.executable, "-m", "zipfile", "-l", only("*.whl")),
        }
        for kind, names in inside.items():
            for part in ("lib/libnccl-net-diag.so", "bin/nccl-net-diag", "man1/nccl-net-diag-run.1", "man5/nccl-net-diag-policy.5",
                         "man5/nccl-net-diag-events.5", "man7/nccl-net-diag-variables.7", "man7/nccl-net-diag-causes.7", "LICENSE",
                         "third-party-licences", "docs/install.md", "examples/policy/rails.toml", "examples/scenarios/single-hca.toml",
                         "examples/slurm/job.sbatch", "bash-completion/completions/nccl-net-diag"):
                self.assertIn(part, names, kind)


class Wheel(Installed, unittest.TestCase):
    def setUp(self):
        self.venv = WORK / "venv"
        output(sys.executable, "-m", "venv", self.venv)

    def pip(self, *words):
        return output(self.venv / "bin/python", "-m", "pip", "--disable-pip-version-check", *words)

    def call(self, *words):
        path = f"{self.venv / 'bin'}:{os.environ['PATH']}"
        return output(*words, env=clean_environment(PATH=path), cwd=WORK)

    def test_installed_in_a_fresh_environment(self):
        wheel = only("*.whl")
        self.pip("install", "--no-index", wheel)
        (package,) = self.venv.glob("lib/python*/site-packages/nccl_net_diag")
        self.try_it(self.call, package, LIBNCCL)
        code = "import nccl_net_diag as n; print(n.plugin, n.environment()['NCCL_NET_PLUGIN'], n.environment(True)['NCCL_NET_PLUGIN'])"
        self.assertEqual(self.call("python", "-c", code).split(), [f"{package}/lib/libnccl-net-diag.so"] * 2 + ["diag"])
        self.assertIn("Usage: nccl-net-diag", self.call("python", "-m", "nccl_net_diag", "--help"))
        self.pip("uninstall", "-y", "nccl-net-diag")
        self.assertFalse(package.exists())
        self.assertFalse((self.venv / "bin/nccl-net-diag").exists())

    def test_judged_by_auditwheel(self):
        self.pip("install", "-q", "auditwheel")
        shown = output(self.venv / "bin/python", "-m", "auditwheel", "show", only("*.whl"))
        # The oldest that it can be; the wheel's own name promises less.
        floor, machine = re.search(r'consistent with the following platform tag: "manylinux_2_(\d+)_(\w+)"', " ".join(shown.split())).groups()
        self.assertLessEqual(int(floor), 28)
        self.assertTrue(only("*.whl").name.endswith(f"_{machine}.whl"))


class Tarball(Installed, unittest.TestCase):
    def test_unpacked_anywhere(self):
        place = WORK / "un packed"
        place.mkdir()
        output("tar", "xzf", only("*.tar.gz"), "-C", place)
        (prefix,) = place.iterdir()
        path = f"{prefix / 'bin'}:{os.environ['PATH']}"
        self.try_it(lambda *words: output(*words, env=clean_environment(PATH=path)), prefix, LIBNCCL)


class Debian(Installed):
    """A fresh root below a folder of ours, with its own glibc and Python."""

    @classmethod
    def setUpClass(cls):
        cls.root = WORK / cls.SUITE
        # libstdc++ is for NCCL, which needs it.
        output("mmdebstrap", "--quiet", "--variant=essential", "--include=python3-venv,libstdc++6", cls.SUITE, cls.root)
        (cls.root / "nccl").mkdir()

    def inside(self, *words):
        # The mounts are in a name space of their own: gone with the processes.
        script = ('mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" && mount --bind "$2" "$1/nccl" && '
                  'root=$1 && shift 2 && exec chroot "$root" "$@"')
        return output("unshare", "--mount", "sh", "-c", script, "sh", self.root, LIBNCCL.parent, *words,
                      env={"PATH": "/v/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"})

    def test_deb(self):
        for file in debs():
            shutil.copy(file, self.root)
        plugin, tools, emulation = (f"/{file.name}" for file in debs())
        self.inside("dpkg", "-i", plugin)
        self.inside("python3", "-c", "import ctypes; ctypes.CDLL('libnccl-net-diag.so')")  # where the loader looks
        self.assertFalse((self.root / "usr/bin/nccl-net-diag").exists())
        self.inside("dpkg", "-i", tools, emulation)
        self.try_it(self.inside, "/usr", "/nccl/libnccl.so.2")
        self.inside("dpkg", "-r", "nccl-net-diag-emulation")
        with self.assertRaisesRegex(AssertionError, "exit code 3\\s+.*install the package nccl-net-diag-emulation"):
            self.inside("nccl-net-diag", "demo", "--nccl", "/nccl/libnccl.so.2")
        self.inside("dpkg", "-r", "nccl-net-diag-tools", "nccl-net-diag")
        self.assertFalse((self.root / "usr/bin/nccl-net-diag").exists())
        self.assertFalse((self.root / "usr/share/nccl-net-diag").exists())

    def test_wheel(self):
        shutil.copy(only("*.whl"), self.root)
        self.inside("python3", "-m", "venv", "/v")
        self.inside("/v/bin/pip", "install", "--no-index", f"/{only('*.whl').name}")
        (package,) = self.root.glob("v/lib/python*/site-packages/nccl_net_diag")
        self.try_it(self.inside, f"/{package.relative_to(self.root)}", "/nccl/libnccl.so.2")
        self.inside("rm", "-r", "/v")


class Debian11(Debian, unittest.TestCase):
    SUITE = "bullseye"


class Debian12(Debian, unittest.TestCase):
    SUITE = "bookworm"


class Rpm(Installed, unittest.TestCase):
    """Debian's rpm and a root with a database of its own: nothing of Debian is in it, so what the package asks for is read here."""

    def test_installed_in_a_root_of_its_own(self):
        file, root = only("*.rpm"), WORK / "rpm"
        for line in output("rpm", "-qp", "--requires", file).splitlines():
            self.assertRegex(line, r"^(rpmlib\(|/bin/sh|lib(c|m|dl|rt|pthread)\.so|ld-linux|rtld\(GNU_HASH\))")
        for line in output("rpm", "-qp", "--provides", file).splitlines():
            self.assertRegex(line, r"^(nccl-net-diag|libnccl-net-diag\.so)")  # not the emulated libibverbs
        root.mkdir()
        output("rpm", "--root", root, "--initdb")
        output("rpm", "--root", root, "--nodeps", "--install", file)
        self.assertEqual((root / "usr/lib64/libnccl-net-diag.so").resolve(), root / "usr/lib/libnccl-net-diag.so")
        path = f"{root / 'usr/bin'}:{os.environ['PATH']}"
        self.try_it(lambda *words: output(*words, env=clean_environment(PATH=path)), root / "usr", LIBNCCL)
        output("rpm", "--root", root, "--verify", "--nodeps", "nccl-net-diag")
        output("rpm", "--root", root, "--nodeps", "--erase", "nccl-net-diag")
        self.assertFalse((root / "usr/bin/nccl-net-diag").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
