"""A program that is no framework, on two nodes of the emulated fabric: other_program.py PACKAGES TOOL COMPILER

It takes NCCL and the CUDA runtime of a PyTorch that fetch-torch brought, and nothing else of it. The same with the runtime linked in
doesn't find a GPU, as docs/torch.md says.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().with_suffix(".c")
VALIDATE = SOURCE.parents[1] / "support/validate_log.py"
NAME = "sum of ranks"  # of its communicator, where NCCL has a place for it and tells it to the profiler
# The rendezvous of NCCL's own: no launcher and no file.
START = 'NCCL_COMM_ID=$MASTER_ADDR:$MASTER_PORT exec "$0"'


def build(compiler, packages, out, runtime, *more):
    nccl = packages / "nvidia/nccl"
    folders = [nccl / "lib", runtime.parent]
    subprocess.run([compiler, "-x", "c", "-Wall", "-Wextra", "-Werror", SOURCE, "-x", "none", "-I", runtime.parents[1] / "include",
                    "-I", nccl / "include", nccl / "lib/libnccl.so.2", runtime, *more,
                    *(f"-Wl,-rpath,{folder}" for folder in folders), "-o", out], check=True)
    return out


def play(tool, program, logs):
    run = subprocess.run([tool, "rehearse", "--json", "--scenario", "two-nodes-8-hca-bond", "--logs", logs, "--deadline", "120", "--", "sh",
                          "-c", START, program], capture_output=True, text=True)
    print(run.stderr)
    return run, json.loads(run.stdout)


def events_of(logs):
    """(rank, event); the logs are valid."""
    files = sorted(pathlib.Path(logs).glob("*.jsonl"))
    subprocess.run(["python3", VALIDATE, *files], check=True)
    for file in files:
        rank = None
        for event in map(json.loads, file.read_text().splitlines()):
            if event["ev"] == "plugin.load":
                rank = event["launch"]["rank"]
            yield rank, event


def main():
    packages, tool, compiler = pathlib.Path(sys.argv[1]), *sys.argv[2:]
    if not packages.is_dir():
        print(f"SKIPPED: {packages} is not there (test/torch/fetch-torch)")
        return 77
    runtime, = packages.glob("nvidia/*/lib/libcudart.so.1?")
    with tempfile.TemporaryDirectory(prefix="nnd-other-") as folder:
        program = build(compiler, packages, f"{folder}/shared", runtime)
        run, answer = play(tool, program, f"{folder}/logs")
        events = list(events_of(answer["logs"]))
        made = {(rank, event["dev"]["name"]) for rank, event in events if event["ev"] == "conn.ready"}
        told = {(event["rank"], event.get("name")) for _, event in events if event["ev"] == "comm.init" and "nranks" in event}
        assert run.returncode == 0, answer["verdict"]
        assert set(re.findall(r"rank (\d+): all data right", run.stderr)) == {"0", "1"}, run.stderr
        assert answer["report"]["blame"] == "nothing", answer["report"]["verdict"]
        assert {rank for rank, _ in made} == {0, 1} and all(re.fullmatch(r"mlx5_\d", hca) for _, hca in made), made
        assert told == ({(0, NAME), (1, NAME)} if b"commName" in (packages / "nvidia/nccl/include/nccl.h").read_bytes() else set()), told
        if (inside := runtime.with_name("libcudart_static.a")).exists():
            program = build(compiler, packages, f"{folder}/inside", inside, "-ldl", "-lrt", "-lpthread", "-lstdc++", "-lm")
            run, _ = play(tool, program, f"{folder}/logs")
            assert run.returncode == 1 and "cudaSetDevice: API call is not supported" in run.stderr, run.stderr
    return 0


sys.exit(main())
