"""Plays a job of jobs.py by `nccl-net-diag rehearse` and judges what became of it.

usage: judge.py JOB --torch VERSION [--nodes N] [--ranks N] [--tool FILE] [--without-plugin]
Exit code 0: as expected, 77: no such torch was fetched, 1: not as expected.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # nothing stays in the tree
from jobs import JOBS

HERE = pathlib.Path(__file__).resolve().parent
# What a job plays that differs from another only by its scenario.
PLAYED = {"link_drop": "steps", "front_end_bond": "steps", "example": "steps", "example_fails": "system_exit"}
EXAMPLE = HERE.parents[1] / "examples/torchrun/run.sh"


def cache():
    root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(os.environ.get("NND_TORCH_DIR") or f"{root}/nccl-net-diag/torch")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Verdict:
    def __init__(self, known):
        self.known, self.wrong = known, []

    def check(self, right, what, kind=""):
        if kind in self.known:
            if right:
                self.wrong.append(f"{what}: that is right now; take {kind!r} out of `known` in jobs.py")
            else:
                print(f"known: {what}")
        elif not right:
            self.wrong.append(what)


def events_of(logs):
    for file in sorted(logs.rglob("*.jsonl")):
        for line in file.read_text().splitlines():
            yield json.loads(line)


def play(args, job, scratch):
    torchrun = cache() / f"{args.torch}-{sys.version_info[0]}.{sys.version_info[1]}" / "torchrun"
    if not torchrun.exists():
        print(f"{torchrun} is not there: test/torch/fetch-torch {args.torch}")
        sys.exit(77)
    dumps = scratch / "dumps"
    dumps.mkdir()
    environment = dict(os.environ, NCCL_DEBUG="WARN", TORCH_NCCL_TRACE_BUFFER_SIZE="2000", TORCH_NCCL_DUMP_ON_TIMEOUT="1",
                       TORCH_NCCL_DEBUG_INFO_TEMP_FILE=f"{dumps}/rank_", **job.environment)
    if args.torch.startswith("2.15"):  # they were renamed
        environment |= dict(TORCH_FR_BUFFER_SIZE="2000", TORCH_FR_DUMP_ON_TIMEOUT="1", TORCH_FR_DUMP_TEMP_FILE=f"{dumps}/rank_")
    command = [args.tool, "rehearse", "--json", "--scenario", job.scenario, "--nodes", str(args.nodes), "--ranks", str(args.ranks),
               "--logs", str(scratch / "logs"), "--deadline", str(job.deadline or 240), "--"]
    if args.without_plugin:
        command += ["env", "-u", "NCCL_NET_PLUGIN"]
    port = free_port()
    launcher = [str(torchrun), *(word.format(port=port) for word in job.torchrun)]
    if job.example:
        tools = pathlib.Path(args.tool).resolve().parent
        launcher = ["env", "HEAD=node0", f"LOGS={scratch}/shared", f"PATH={torchrun.parent}:{tools}:{os.environ['PATH']}", str(EXAMPLE)]
    command += [*launcher, str(HERE / "job.py"), PLAYED.get(args.job, args.job)]
    began = time.monotonic()
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=400)
    print(f"{time.monotonic() - began:.1f} s, exit code {run.returncode}")
    return run, json.loads(run.stdout), dumps


def judge_plugin_lines(verdict, logs, args):
    ranks = args.nodes * args.ranks
    seen, comms = set(), set()
    for event in events_of(logs):
        if event["ev"] == "plugin.load":
            launch = event["launch"]
            seen.add(launch["rank"])
            verdict.check(launch["world_size"] == ranks, f"world_size {launch['world_size']}")
        if event["ev"] == "comm.init":
            comms.add(event.get("name", ""))
        if event["ev"] == "conn.ready" and "rank" in event:
            verdict.check(0 <= event["rank"] < ranks, f"a connection of rank {event['rank']}")
        verdict.check("0 bytes" not in event.get("msg", ""), f"\"{event.get('msg')}\": a size that isn't known is none")
    verdict.check(seen == set(range(ranks)), f"ranks in the logs: {sorted(seen)}")
    return comms


def headline(report):
    return re.split(r"(?<=[.;])\s", report["verdict"])[0]


def judge(args, job):
    verdict = Verdict(job.known)
    with tempfile.TemporaryDirectory(prefix="nnd-torch-") as folder:
        scratch = pathlib.Path(folder)
        run, answer, dumps = play(args, job, scratch)
        report = answer.get("report", {})
        if job.example:
            told = subprocess.run([args.tool, "report", "--json", str(scratch / "shared")], stdout=subprocess.PIPE, text=True).stdout
            report = json.loads(told)
            in_its_output = report["verdict"].split(".")[0] in " ".join(run.stderr.split())
            verdict.check(in_its_output != job.good, "the example prints the verdict exactly where the job failed")
        print(f"report: blame {report.get('blame')!r}, kind {report.get('kind')!r}: {report.get('verdict')}")
        ranks = args.nodes * args.ranks
        if job.good or job.survives:
            verdict.check(run.returncode == 0, f"exit code {run.returncode}")
            right = set(re.findall(r"rank (\d+): all data right", run.stderr))
            verdict.check(len(right) == ranks, f"data right only in ranks {sorted(right)}")
        else:
            verdict.check(run.returncode != 0, f"exit code {run.returncode}")
        if args.without_plugin:
            verdict.check(not report, "there are event logs without the plugin")
        else:
            logs = scratch / "shared" if job.example else pathlib.Path(answer["logs"])
            if args.job not in ("raise_before_init",):
                judge_plugin_lines(verdict, logs, args)
            if job.good:
                verdict.check(report.get("blame") == "nothing", f"report blames {report.get('blame')!r}")
            else:
                verdict.check(report.get("blame") == job.blame, f"report blames {report.get('blame')!r}, not {job.blame!r}", "blame")
                text = headline(report) if report else ""
                named = re.search(r"[Rr]anks? (\d+)", text)
                if job.guilty:
                    verdict.check(named is not None and int(named[1]) == ranks - 1, f"rank {ranks - 1} is not the first in \"{text}\"", "guilty")
                if job.words:
                    verdict.check(any(word in report.get("verdict", "") for word in job.words), f"none of {job.words} in \"{report.get('verdict')}\"", "words")
        if job.flight_recorder:
            verdict.check(any(dumps.iterdir()), "no dump of the Flight Recorder's")
        if verdict.wrong:
            print(run.stderr[-6000:])
        if args.keep:
            shutil.copytree(scratch, args.keep, dirs_exist_ok=True)
            pathlib.Path(args.keep, "stderr").write_text(run.stderr)
    for wrong in verdict.wrong:
        print("WRONG:", wrong)
    return 1 if verdict.wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", choices=sorted(JOBS))
    parser.add_argument("--torch", required=True)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--ranks", type=int, default=1, help="of each node")
    parser.add_argument("--tool", default=str(HERE.parents[1] / "build/tools/cli/nccl-net-diag"))
    parser.add_argument("--without-plugin", action="store_true")
    parser.add_argument("--keep", help="a directory for what the job leaves")
    args = parser.parse_args()
    sys.exit(judge(args, JOBS[args.job]))


main()
