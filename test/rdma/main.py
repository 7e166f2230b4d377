"""Runs scenario files in the emulated machine: main.py BUILD NCCL KEPT FILE[:SCENARIO,...]... Exit 1 when one fails."""
import importlib
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
sys.dont_write_bytecode = True

from lab import fabric, scenario  # noqa: E402
from lab.ranks import Options, prepare_logs  # noqa: E402
from lab.shell import read  # noqa: E402


def main(build, nccl, kept, *files):
    Options.build, Options.nccl, Options.kept = build, nccl, kept
    prepare_logs()
    fabric.build()
    failed = 0
    for name in files:
        module, _, names = name.partition(":")
        importlib.import_module(f"scenarios.{module}")
        failed += scenario.run_all(names.split(",") if names else ())
    print(f"# {failed} failed, {read('/proc/uptime').split()[0]} s after the machine's start", flush=True)
    return 1 if failed else 0


sys.exit(main(*sys.argv[1:]))
