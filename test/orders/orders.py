"""NCCL and the plugin loaded, used, forked beside, closed and ended in every order that frameworks have: orders.py TOOL LIVES LIBNCCL

Each order is played by two processes on two nodes of the emulated fabric, with a stock libnccl. Whatever the order: every sum is right,
the process ends as it wants to, the logs are valid and tell of no fault, and each life has a summary or left its black box.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

VALIDATE = pathlib.Path(__file__).resolve().parents[1] / "support/validate_log.py"
START = 'NCCL_COMM_ID=$MASTER_ADDR:$MASTER_PORT exec "$0" "$@"'
USE = ["init", "reduce", "destroy"]

# name: the steps, summaries, black boxes that stay; of each rank
ORDERS = {
    # PyTorch: NCCL is a dependency of its libraries, communicators are made by threads, workers are forked
    "torch": (["open-global", "thread:init", "reduce", "fork-_exit", "reduce", "thread:destroy", "exit"], 1, 0),
    "torch, no destroy_process_group": (["open-global", "init", "reduce", "exit"], 1, 0),
    "torch, destroyed by an exit handler": (["open-global", "init", "reduce", "destroy-at-exit", "exit"], 1, 0),
    "torch, a watchdog aborts and it begins again": (
        ["open-global", "init", "reduce", "thread:abort", "thread:init", "reduce", "thread:abort", "init", "reduce", "destroy", "exit"], 1, 0),
    "torch, workers before and after": (["fork-exit", "open-global", "fork-_exit", "init", "fork-_exit", "fork-exec", "reduce", "fork-_exit",
                                         "destroy", "fork-_exit", "exit"], 1, 0),
    "a worker that exits as a program does": (["open-global", "init", "fork-exit", "reduce", "fork-exit", "destroy", "fork-exit", "exit"], 1, 0),
    "torch, os._exit": (["open-global", "init", "reduce", "destroy", "_exit"], 0, 1),
    # Horovod: all by one thread of its own, which outlives main; shut down and begun again
    "horovod": (["thread:open-global", "thread:init", "thread:reduce", "thread:destroy", *(f"thread:{s}" for s in USE), "exit-in-thread"], 1, 0),
    # JAX: NCCL is opened late and locally, several communicators live at once, none is destroyed
    "jax": (["open", "thread:init", "thread:init", "reduce", "exit"], 1, 0),
    "jax, quick_exit": (["open", "init", "init", "reduce", "quick_exit"], 0, 1),
    # mpi4py: a process that was forked or executed before, NCCL opened and closed by the program
    "mpi4py": (["fork-rest", "open", *USE, "close", "exit"], 1, 0),
    "mpi4py, closed and opened again": (["open", "close", "open", *USE, "close", "open", *USE, "close", "exit"], 1, 0),
    "mpi4py, closed with a communicator": (["open", "init", "reduce", "close", "exit"], 1, 0),
    "mpi4py, the same process executes itself": (["open", *USE, "exec-rest", "open", *USE, "close", "exit"], 1, 1),
    # whoever opens the plugin by itself
    "the plugin first": (["plugin", "open", *USE, "unplug", "close", "exit"], 1, 0),
    "the plugin opened and closed": (["plugin", "unplug", "open", "init", "plugin", "reduce", "unplug", "unplug", "reduce", "destroy", "exit"], 1, 0),
}
# What an NCCL can't do without us either: a child of 2.32.3 that runs exit handlers dies of std::terminate.
NOT_OF = {"a worker that exits as a program does": "2.32.3"}


def lives_in(logs):
    """Of each host: its summaries and the boxes that stayed. The logs are valid, and tell of no fault."""
    files = sorted(logs.glob("*.jsonl*"))
    subprocess.run([sys.executable, VALIDATE, *files], check=True)
    summaries, boxes = collections.Counter(), collections.Counter()
    for file in files:
        host = file.name.split(".")[0]
        for event in map(json.loads, file.read_text().splitlines()):
            assert event["sev"] != "error", event
            summaries[host] += event["ev"] == "summary"
    for file in logs.glob("*.nndbox*"):
        boxes[file.name.split(".")[0]] += 1
    return summaries, boxes, {file.name.split(".")[0] for file in files}


def play(tool, lives, nccl, name, folder):
    steps, summaries, boxes = ORDERS[name]
    run = subprocess.run([tool, "rehearse", "--json", "--scenario", "two-nodes-8-hca-bond", "--logs", folder, "--deadline", "120", "--",
                          "sh", "-c", START, lives, nccl, *steps], capture_output=True, text=True, env=dict(os.environ, MEET=folder))
    assert run.returncode == 0, (run.returncode, run.stderr, run.stdout)
    answer = json.loads(run.stdout)
    for rank in range(2):
        right, wanted = run.stderr.count(f"rank {rank}: the sum is right"), sum(s.endswith("reduce") for s in steps)
        assert right == wanted, (rank, right, wanted, run.stderr)
    seen = lives_in(pathlib.Path(answer["logs"]))
    hosts = seen[2]
    assert len(hosts) == 2, seen
    assert all(seen[0][host] == summaries and seen[1][host] == boxes for host in hosts), (seen, summaries, boxes)


def main():
    tool, lives, nccl, *wanted = sys.argv[1:]
    if not pathlib.Path(nccl).exists():
        print(f"SKIPPED: {nccl} is not there (test/nccl/fetch-nccl)")
        return 77
    failed = 0
    for name in wanted or [name for name in ORDERS if NOT_OF.get(name) != pathlib.Path(nccl).parent.name]:
        with tempfile.TemporaryDirectory(prefix="nnd-orders-") as folder:
            try:
                play(tool, lives, nccl, name, folder)
                print(f"right: {name}", flush=True)
            except (AssertionError, subprocess.CalledProcessError, json.JSONDecodeError) as error:
                failed += 1
                print(f"WRONG: {name}: {error}", flush=True)
    return 1 if failed else 0


sys.exit(main())
