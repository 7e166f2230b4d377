"""A job that is started by `nccl-net-diag run`, with a stock libnccl on the emulated fabric: run.py TOOL LIVES LIBNCCL

NCCL takes the plugin by its path from 2.21 on; before, by its name. Whoever takes it writes a log.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

STEPS = ["open-global", "init", "reduce", "destroy", "exit"]
# Nothing of what rehearse sets for its program is left: what counts is what `run` sets.
START = """
unset NCCL_NET_PLUGIN NCCL_PROFILER_PLUGIN NCCL_NET_PLUGIN_REF_COUNT
LD_LIBRARY_PATH=$(printf %s "$LD_LIBRARY_PATH" | tr : '\\n' | grep -vxF "$PLUGINS" | paste -sd:)
export LD_LIBRARY_PATH
exec "$TOOL" run $BY_NAME -- "$0" "$@"
"""


def loads(tool, lives, nccl, by_name):
    """What the logs of both ranks say first of the plugin; nothing where NCCL didn't load it."""
    plugin = json.loads(subprocess.run([tool, "env", "--json"], check=True, capture_output=True).stdout)["variables"]["NCCL_NET_PLUGIN"]
    with tempfile.TemporaryDirectory(prefix="nnd-run-") as folder:
        environment = dict(os.environ, MEET=folder, TOOL=tool, PLUGINS=os.path.dirname(plugin), BY_NAME="--by-name" if by_name else "")
        run = subprocess.run([tool, "rehearse", "--json", "--scenario", "two-nodes-8-hca-bond", "--logs", folder, "--deadline", "120", "--",
                              "sh", "-c", START, lives, nccl, *STEPS], capture_output=True, text=True, env=environment)
        assert run.returncode == 0, (run.returncode, run.stderr, run.stdout)
        assert all(f"rank {rank}: the sum is right" in run.stderr for rank in range(2)), run.stderr
        files = pathlib.Path(json.loads(run.stdout)["logs"]).glob("*.jsonl")
        return [event for file in files for event in map(json.loads, file.read_text().splitlines()) if event["ev"] == "plugin.load"]


def main():
    tool, lives, nccl = sys.argv[1:]
    if not pathlib.Path(nccl).exists():
        print(f"SKIPPED: {nccl} is not there (test/nccl/fetch-nccl)")
        return 77
    version = tuple(map(int, pathlib.Path(nccl).parent.name.split(".")))
    for by_name, count in ((True, 2), (False, 2 if version >= (2, 21) else 0)):
        events = loads(tool, lives, nccl, by_name)
        assert len(events) == count, (by_name, events)
        for event in events:
            assert event["inner"]["name"] == "IB", event
            assert ("profiler" in event["layers"]) == (version >= (2, 23)), event
        print(f"right: NCCL {'.'.join(map(str, version))}, {'by name' if by_name else 'by path'}: {len(events)} logs", flush=True)
    return 0


sys.exit(main())
