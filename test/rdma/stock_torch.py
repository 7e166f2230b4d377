"""Runs the scenarios of scenarios/stock_torch.py in the emulated machine: stock_torch.py BUILD NCCL KEPT PYTHON PACKAGES [SCENARIO...]. Exit 1 when one fails."""
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
sys.dont_write_bytecode = True

from lab import fabric, scenario  # noqa: E402
from lab.ranks import Options, prepare_logs  # noqa: E402


def main(build, nccl, kept, python, packages, *only):
    Options.build, Options.nccl, Options.kept = build, nccl, kept
    Options.python, Options.packages = python, packages
    prepare_logs()
    fabric.build()
    import scenarios.stock_torch  # noqa: F401
    return 1 if scenario.run_all(only) else 0


sys.exit(main(*sys.argv[1:]))
