"""A real NCCL job on emulated nodes for the tests of launchers, each called with TOOL ON_HOST PROGRAM PLUGIN."""
import os
import pathlib
import platform
import sys

TOOL, ON_HOST, PROGRAM, PLUGIN = sys.argv[1:5]
ROOT = pathlib.Path(__file__).parents[2]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))) / "nccl-net-diag/nccl"
NCCL = pathlib.Path(os.environ.get("NND_NCCL_DIR", CACHE)) / platform.machine() / "2.28.9/libnccl.so.2"


def environment(programs, scenario, **more):
    """Of a launcher: the tool is in `programs`, and what a rank starts is named by variables."""
    programs.mkdir()
    (programs / "nccl-net-diag").symlink_to(TOOL)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NCCL", "OMPI", "SLURM"))}
    return kept | {"PATH": f"{programs}:{kept['PATH']}", "ON_HOST": ON_HOST, "PROGRAM": PROGRAM, "NCCL": str(NCCL), "NO_COLOR": "1",
                   "SCENARIO": str(ROOT / "examples/scenarios" / scenario), **more}


def script(path, text):
    path.write_text(text)
    path.chmod(0o755)
