"""What the plugin costs a job of stock PyTorch on this machine's GPU, which two ranks share over the emulated fabric: bench.py --tool FILE [--rounds N]

A round is the job with and without the plugin, the order turned each time. Printed: microseconds of an all-reduce by size, medians of both, and
the median of the rounds' ratios with the middle half of them. Exit code 77: there is no GPU here.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing stays in the tree
HERE = pathlib.Path(__file__).resolve().parent
TIMES = {1 << 10: 400, 1 << 16: 200, 1 << 20: 60, 1 << 24: 10}  # by bytes


def rank():
    import time

    import torch
    import torch.distributed as dist
    torch.cuda.set_device(0)
    dist.init_process_group("nccl")
    took = {}
    for size, times in TIMES.items():
        data = torch.ones(size // 4, device="cuda")
        for count in (times // 10, times):  # the first to warm up
            torch.cuda.synchronize()
            began = time.perf_counter()
            for _ in range(count):
                dist.all_reduce(data)
            torch.cuda.synchronize()
        took[size] = (time.perf_counter() - began) / times * 1e6
    if dist.get_rank() == 0:
        pathlib.Path(os.environ["NND_TOOK"]).write_text(json.dumps(took))
    dist.destroy_process_group()


def play(tool, scratch, plugin):
    took = scratch / "took"
    command = [tool, "rehearse", "--scenario", "two-nodes-8-hca-bond", "--nodes", "2", "--ranks", "1", "--logs", str(scratch / "logs"), "--",
               sys.executable, str(HERE / "on_gpu.py")]
    if not plugin:
        command += ["env", "-u", "NCCL_NET_PLUGIN"]
    command += [sys.executable, "-m", "torch.distributed.run", __file__]
    run = subprocess.run(command, env=dict(os.environ, NND_TOOK=str(took)), capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"exit code {run.returncode}\n{run.stdout[-3000:]}{run.stderr[-3000:]}")
    return {int(size): value for size, value in json.loads(took.read_text()).items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--rounds", type=int, default=8)
    args = parser.parse_args()
    import torch
    if not torch.cuda.is_available():
        print("SKIPPED: no GPU")
        sys.exit(77)
    rounds = []
    for number in range(args.rounds):
        both = {}
        for plugin in ((True, False) if number % 2 else (False, True)):
            with tempfile.TemporaryDirectory(prefix="nnd-gpu-") as folder:
                both[plugin] = play(args.tool, pathlib.Path(folder), plugin)
        rounds.append(both)
    print(f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}, {args.rounds} rounds")
    for size in TIMES:
        ratios = sorted(both[True][size] / both[False][size] for both in rounds)
        low, middle, high = statistics.quantiles(ratios, n=4)
        with_it, plain = (statistics.median(both[plugin][size] for both in rounds) for plugin in (True, False))
        print(f"all-reduce of {size} bytes: {plain:.0f} us, with the plugin {with_it:.0f} us, ratio {middle:.3f} ({low:.3f} to {high:.3f})")


rank() if "RANK" in os.environ else main()
