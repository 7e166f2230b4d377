"""Plays a job of jobs.py by `nccl-net-diag rehearse` and judges what became of it.

usage: judge.py JOB --torch VERSION|installed [--nodes N] [--ranks N] [--guilty RANK] [--tool FILE] [--without-plugin] [--gpu]

--without-plugin plays it with NCCL_NET_PLUGIN unset as well: data and NCCL's own lines have to be the same, but for those of plugins.
--gpu plays it on this machine's GPU, by the torch that is installed (`--torch installed`).
Exit code 0: as expected, 77: no such torch was fetched or there is no GPU, 1: not as expected.
"""
import argparse
import json
import os
import pathlib
import random
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
PLAYED = {"link_drop": "steps", "front_end_bond": "steps", "swapped_rails": "steps", "black_hole": "steps", "example": "steps", "example_fails": "system_exit"}
# What all kinds of job.py call in the first group, by kind and type: the sizes that the plugin has to have counted.
CALLED = {("AllReduce", "ncclUint8"): 65536, ("AllReduce", "ncclInt32"): 262144, ("AllReduce", "ncclFloat32"): 262144,
          ("AllReduce", "ncclBfloat16"): 131072}
EXAMPLE = HERE.parents[1] / "examples/torchrun/run.sh"


def cache():
    root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(os.environ.get("NND_TORCH_DIR") or f"{root}/nccl-net-diag/torch")


def free_port():
    """One that nobody is given who asks for any: it is taken seconds later."""
    first = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        with socket.socket() as listener:
            try:
                listener.bind(("", random.randrange(10000, first)))
                return listener.getsockname()[1]
            except OSError:
                continue


class Verdict:
    def __init__(self):
        self.wrong = []

    def check(self, right, what):
        if not right:
            self.wrong.append(what)


def events_of(logs):
    for file in sorted(logs.rglob("*.jsonl")):
        for line in file.read_text().splitlines():
            yield json.loads(line)


def torchrun_of(args, scratch):
    """The file that starts it; ends the test where there is none."""
    if args.torch == "installed":
        torchrun = scratch / "torchrun"
        torchrun.write_text(f'#!/bin/sh\nexec {sys.executable} -m torch.distributed.run "$@"\n')
        torchrun.chmod(0o755)
        return torchrun
    torchrun = cache() / f"{args.torch}-{sys.version_info[0]}.{sys.version_info[1]}" / "torchrun"
    if not torchrun.exists():
        print(f"{torchrun} is not there: test/torch/fetch-torch {args.torch}")
        sys.exit(77)
    return torchrun


def require_gpu():
    """Ends the test where this machine has none that its torch can use, or not for on_gpu.py."""
    if os.geteuid() != 0:
        print("SKIPPED: only root gives a node a host name and a /sys")
        sys.exit(77)
    asked = subprocess.run([sys.executable, "-c", "import torch; assert torch.cuda.is_available(); print(torch.__version__)"], capture_output=True, text=True)
    if asked.returncode != 0:
        print(f"SKIPPED: no GPU, or no PyTorch that can use it: {asked.stderr.strip().splitlines()[-1]}")
        sys.exit(77)
    print(f"torch {asked.stdout.strip()}")


def play(args, job, scratch, plugin=True):
    dumps, said = scratch / "dumps", scratch / "nccl"
    dumps.mkdir(parents=True)
    said.mkdir()
    torchrun = torchrun_of(args, scratch)
    environment = dict(os.environ, NCCL_DEBUG="INFO" if args.without_plugin else "WARN", TORCH_NCCL_TRACE_BUFFER_SIZE="2000",
                       TORCH_NCCL_DUMP_ON_TIMEOUT="1", TORCH_NCCL_DEBUG_INFO_TEMP_FILE=f"{dumps}/rank_", NND_GUILTY=str(args.guilty), **job.environment)
    if args.without_plugin:
        environment["NCCL_DEBUG_FILE"] = f"{said}/%h.%p"
    if not args.torch.startswith("2.7"):  # they were renamed
        environment |= dict(TORCH_FR_BUFFER_SIZE="2000", TORCH_FR_DUMP_ON_TIMEOUT="1", TORCH_FR_DUMP_TEMP_FILE=f"{dumps}/rank_")
    scenario = str(HERE.parents[1] / job.scenario) if "/" in job.scenario else job.scenario
    command = [args.tool, "rehearse", "--json", "--scenario", scenario, "--nodes", str(args.nodes), "--ranks", str(args.ranks),
               "--logs", str(scratch / "logs"), "--deadline", str(job.deadline + 8 * args.nodes * args.ranks if job.deadline else 240), "--"]
    if args.gpu:
        command += [sys.executable, str(HERE.parent / "gpu/on_gpu.py")]
    if not plugin:
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


def judge_plugin_lines(verdict, job, logs, args, groups):
    """groups: names of the process groups, by rank, of the ranks that came to their end."""
    ranks = args.nodes * args.ranks
    seen, of_process, called = set(), {}, {}
    for event in events_of(logs):
        if event["ev"] == "plugin.load":
            launch = event["launch"]
            seen.add(launch["rank"])
            of_process[event["host"], event["pid"]] = launch["rank"]
            verdict.check(launch["world_size"] == ranks, f"world_size {launch['world_size']}")
        if event["ev"] == "node.facts":
            verdict.check(event["hcas"] > 0, f"{event['host']} has no HCA: the job ran over TCP")
        rank = of_process.get((event["host"], event["pid"]))
        if event["ev"] in ("comm.init", "coll.count") and "nranks" in event:  # NCCL's profiler interface tells them
            name, nranks = event.get("name", ""), event["nranks"]
            verdict.check(0 <= event["rank"] < nranks <= ranks, f"rank {event['rank']} of {nranks}")
            verdict.check(nranks < ranks or event["rank"] == rank, f"rank {rank} is rank {event['rank']} in communicator {name!r}")
            if rank in groups and name:
                verdict.check(name in groups[rank], f"no process group {name!r} in rank {rank}, but {sorted(groups[rank])}")
        if event["ev"] == "coll.count":
            for one in event.get("called", event.get("ran", [])):
                sizes = called.setdefault((one["kind"], one.get("datatype")), set())
                sizes.update(int(size) for size in one.get("sizes", {}))
        if event["ev"] == "conn.close" and "rank" in event:  # from NCCL 2.28.3 on
            ends = event["rank"], event["peer"].get("rank", rank)
            verdict.check(all(0 <= end < ranks for end in ends) and event.get("channel", 0) >= 0, f"a connection of ranks {ends}")
            verdict.check(event["rank"] == rank or ranks > args.nodes, f"a connection of rank {event['rank']} in rank {rank}'s log")
        verdict.check(not re.search(r"\b0 bytes", event.get("msg", "")), f"\"{event.get('msg')}\": a size that isn't known is none")
    may_lack = {args.guilty} if job.may_be_open else set()  # NCCL up to 2.26 loads the plugin with the first communicator
    verdict.check(seen | may_lack == set(range(ranks)), f"ranks in the logs: {sorted(seen)}")
    if args.job == "healthy":
        for call, size in CALLED.items():
            verdict.check(size in called.get(call, {size} if call[1] not in {kind[1] for kind in called} else ()),
                          f"{call[0]} of {call[1]}, {size} bytes, is not among {called}")


def nccl_lines(folder):
    """What NCCL said, without what differs from run to run, and without what it says of plugins."""
    lines = set()
    for file in folder.iterdir():
        for line in file.read_text(errors="replace").splitlines():
            told = re.search(r"NCCL (INFO|WARN) (.*)", line)
            if told is None or re.search(r"[Pp]lugin|PLUGIN|diag|DIAG|libnccl-", told[2]):
                continue
            text = re.sub(r"0x[0-9a-f]+|\b[0-9a-f]{12,}\b", "X", told[2])
            lines.add(re.sub(r"\d+\.\d+(?!\.\d)|\d{4,}|<\d+>|(?<=CPU core )\d+", "N", text))
    return lines


def headline(report):
    parts = re.split(r"(?<=[.;])\s", report["verdict"])
    return " ".join(parts[:2] if parts[0].endswith("can't be told;") else parts[:1])  # then who they are


def names_guilty(text, args):
    """The guilty rank, alone or with others of its node that were ended in the same moment, is named first."""
    named = re.search(r"[Rr]anks? (\d[\d,-]*)", text)
    if named is None:
        return False
    ranks = set()
    for part in named[1].strip(",-").split(","):
        first, _, last = part.partition("-")
        ranks |= set(range(int(first), int(last or first) + 1))
    return args.guilty in ranks and len({rank // args.ranks for rank in ranks}) == 1


def data_right(run):
    """The process groups' names, by rank, of the ranks that came to their end with the right data."""
    return {int(rank): set(names.split()) for rank, names in re.findall(r"rank (\d+): all data right, groups (.*)", run.stderr)}


def judge_data(verdict, run, ranks):
    right = data_right(run)
    verdict.check(run.returncode == 0, f"exit code {run.returncode}")
    verdict.check(len(right) == ranks, f"data right only in ranks {sorted(right)}")


def judge_report(verdict, args, job, report):
    blames = {job.blame, "open"} if job.may_be_open else {job.blame}
    verdict.check(report["blame"] in blames, f"report blames {report['blame']!r}, not {job.blame!r}")
    text = headline(report)
    if job.guilty:
        verdict.check(names_guilty(text, args), f"rank {args.guilty} is not the first in \"{text}\"")
    if job.words:
        verdict.check(any(word in report["verdict"] for word in job.words), f"none of {job.words} in \"{report['verdict']}\"")
    for word in job.both:
        verdict.check(re.search(word, report["verdict"]) is not None, f"no \"{word}\" in \"{report['verdict']}\"")


def parts_of(logs):
    """What is left of the logs where not all is collected."""
    files = [file for file in sorted(logs.rglob("*")) if file.suffix in (".jsonl", ".nndbox")]
    yield "without boxes", [file for file in files if file.suffix == ".jsonl"]
    for host in sorted({file.name.split(".")[0] for file in files}):
        yield f"{host} alone", [file for file in files if file.name.startswith(f"{host}.")]


def judge_parts(verdict, args, job, logs):
    """With a part of the logs nobody may be named who is innocent, nor the network accused or acquitted; "open" is an answer."""
    wrong = []
    for part, files in parts_of(logs):
        told = subprocess.run([args.tool, "report", "--json", *map(str, files)], stdout=subprocess.PIPE, text=True)
        report = json.loads(told.stdout)
        text = headline(report)
        print(f"{part}: exit code {told.returncode}, blame {report['blame']!r}: {text}")
        if job.good:
            right = told.returncode == 0 and report["blame"] == "nothing"
        elif job.guilty and report["blame"] == "not the network":
            right = job.blame == report["blame"] and names_guilty(text, args)
        else:
            right = report["blame"] in {job.blame, "open", "nothing"}
        if not right:
            wrong.append(f"{part}: blame {report['blame']!r}, \"{text}\"")
    verdict.check(not wrong, f"with a part of the logs: {'; '.join(wrong)}")


def judge_dumps(verdict, args, job, dumps):
    """By Flight Recorder's dumps alone: "open" is an answer, since the guilty rank may leave none."""
    told = subprocess.run([args.tool, "report", "--json", str(dumps)], stdout=subprocess.PIPE, text=True)
    report = json.loads(told.stdout)
    print(f"dumps alone: exit code {told.returncode}, blame {report.get('blame')!r}: {report['verdict']}")
    verdict.check(report.get("blame") in {job.blame, "open"}, f"dumps alone: {report['verdict']}")
    if report.get("blame") == job.blame and job.guilty:
        verdict.check(report["others"]["flight_recorder"]["ranks"] == [args.guilty], f"dumps alone: not rank {args.guilty}: {report['verdict']}")
    flight = report.get("others", {}).get("flight_recorder", {})
    if flight.get("kind") == "behind":
        judge_by_torch(verdict, args, dumps, flight["ranks"])


def judge_by_torch(verdict, args, dumps, ranks):
    """PyTorch's own analyzer misses the same ranks in the same dumps. It needs PyTorch, and so the emulation."""
    home = cache() / f"{args.torch}-{sys.version_info[0]}.{sys.version_info[1]}"
    if not (home / "torch/distributed/flight_recorder/fr_trace.py").exists():
        return
    told = subprocess.run([args.tool, "rehearse", "--scenario", "two-nodes-8-hca-bond", "--nodes", "1", "--ranks", "1", "--", "env", f"PYTHONPATH={home}",
                           sys.executable, "-m", "torch.distributed.flight_recorder.fr_trace", str(dumps)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    missed = re.search(r"missing ranks: \{([\d, ]+)\}", told.stdout)
    print(f"PyTorch's analyzer: {missed[0] if missed else told.stdout[-1500:]}")
    verdict.check(missed is not None and {int(rank) for rank in missed[1].split(",")} == set(ranks), f"PyTorch's analyzer misses others than {ranks}")


def judge_output(verdict, args, job, run, scratch):
    """By what the job printed alone: "open", or no word of it, is an answer; a wrong one is not."""
    folder = scratch / "output"
    folder.mkdir()
    (folder / "job.out").write_text(run.stderr)
    told = subprocess.run([args.tool, "report", "--json", str(folder)], stdout=subprocess.PIPE, text=True)
    report = json.loads(told.stdout)
    text = report.get("verdict", "no word of it")
    print(f"output alone: exit code {told.returncode}, blame {report.get('blame')!r}: {text}")
    if job.good:
        verdict.check(told.returncode in (0, 3), f"output alone: exit code {told.returncode}: {text}")
    elif report.get("blame") == "not the network":
        right = job.blame == "not the network" and (not job.guilty or names_guilty(text, args) or "a rank: " in text)
        verdict.check(right, f"output alone: {text}")
    else:
        verdict.check(report.get("blame") in {None, "nothing", "open", job.blame}, f"output alone: {text}")


def outcome(args, job, code, report):
    """right: as expected, the guilty named first; open: it says that it can't tell, or nothing; wrong: all else."""
    blame, text = report.get("blame", "nothing"), headline(report) if "verdict" in report else ""
    if job.good:
        return "right" if code in (0, 3) and blame == "nothing" else "wrong"
    if job.survives:  # what it got over is told, or was nothing
        return "right" if blame in {"nothing", job.blame} else "wrong"
    if blame in {"nothing", "open"}:
        return "open"
    return "right" if blame == job.blame and (not job.guilty or names_guilty(text, args) or "a rank: " in text) else "wrong"


def judge_sources(verdict, args, job, logs, output, dumps):
    """What each source alone is worth, and all together; with NND_TORCH_TABLE, a file, a line of that is added to it."""
    sources = {"plugin": [logs], "output": [output]}
    if any(dumps.iterdir()):
        sources["dumps"] = [dumps]
    sources["all"] = [one for source in list(sources.values()) for one in source]
    found = {}
    for name, paths in sources.items():
        told = subprocess.run([args.tool, "report", "--json", *map(str, paths)], stdout=subprocess.PIPE, text=True)
        report = json.loads(told.stdout)
        found[name] = outcome(args, job, told.returncode, report)
        print(f"{name}: {found[name]}: exit code {told.returncode}, blame {report.get('blame')!r}: {report.get('verdict')}")
    verdict.check("wrong" not in found.values(), f"by source: {found}")
    if os.environ.get("NND_TORCH_TABLE"):
        ranks = args.nodes * args.ranks
        with open(os.environ["NND_TORCH_TABLE"], "a") as file:
            file.write(json.dumps({"job": args.job, "torch": args.torch, "ranks": ranks, **found}) + "\n")


def judge(verdict, args, job, scratch):
    run, answer, dumps = play(args, job, scratch)
    ranks = args.nodes * args.ranks
    logs = scratch / "shared" if job.example else pathlib.Path(answer["logs"])
    told = subprocess.run([args.tool, "report", "--json", str(logs)], stdout=subprocess.PIPE, text=True).stdout
    report = json.loads(told)
    if "blame" not in report:
        verdict.check(False, f"no report: {told}")
        return run
    print(f"report: blame {report['blame']!r}, kind {report['kind']!r}: {report['verdict']}")
    if job.good or job.survives:
        judge_data(verdict, run, ranks)
    else:
        verdict.check(run.returncode != 0, f"exit code {run.returncode}")
    if job.example:
        verdict.check((report["verdict"].split(".")[0] in " ".join(run.stderr.split())) != job.good,
                      "the example prints the verdict exactly where the job failed")
    judge_plugin_lines(verdict, job, logs, args, data_right(run))
    if job.good:
        valid = subprocess.run([sys.executable, str(HERE.parent / "support/validate_log.py"), *map(str, sorted(logs.rglob("*.jsonl")))],
                               stdout=subprocess.PIPE, text=True)
        verdict.check(valid.returncode == 0, f"not as the schema has it: {valid.stdout[:1000]}")
        verdict.check(report["blame"] == "nothing", f"report blames {report['blame']!r}")
    else:
        judge_report(verdict, args, job, report)
    if not job.survives:
        judge_parts(verdict, args, job, logs)
    judge_output(verdict, args, job, run, scratch)
    judge_sources(verdict, args, job, logs, scratch / "output", dumps)
    if job.flight_recorder:
        verdict.check(any(dumps.iterdir()), "no dump of the Flight Recorder's")
        judge_dumps(verdict, args, job, dumps)
    return run


def compare(verdict, args, job, scratch):
    run, _, _ = play(args, job, scratch / "with")
    judge_data(verdict, run, args.nodes * args.ranks)
    run, answer, _ = play(args, job, scratch / "without", plugin=False)
    judge_data(verdict, run, args.nodes * args.ranks)
    verdict.check(not answer.get("report"), "there are event logs without the plugin")
    ours, theirs = nccl_lines(scratch / "with/nccl"), nccl_lines(scratch / "without/nccl")
    print(f"{len(ours | theirs)} different lines of NCCL's")
    verdict.check(len(theirs) > 20, f"NCCL said only {len(theirs)} lines")
    for line in sorted(ours - theirs):
        verdict.check(False, f"only with the plugin: {line}")
    for line in sorted(theirs - ours):
        verdict.check(False, f"only without the plugin: {line}")
    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", choices=sorted(JOBS))
    parser.add_argument("--torch", required=True)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--ranks", type=int, help="of each node; by default as few as the job needs")
    parser.add_argument("--guilty", type=int, help="the rank that does something wrong, by default the last one")
    parser.add_argument("--tool", default=str(HERE.parents[1] / "build/tools/cli/nccl-net-diag"))
    parser.add_argument("--without-plugin", action="store_true")
    parser.add_argument("--gpu", action="store_true", help="on this machine's GPU")
    parser.add_argument("--keep", help="a directory for what the job leaves")
    args = parser.parse_args()
    job = JOBS[args.job]
    args.ranks = args.ranks or job.least_ranks // args.nodes
    if args.nodes * args.ranks > job.most_ranks:
        parser.error(f"{args.job} is played with {job.most_ranks} ranks at most")
    if args.guilty is None:
        args.guilty = args.nodes * args.ranks - 1
    if args.gpu:
        require_gpu()
    verdict = Verdict()
    with tempfile.TemporaryDirectory(prefix="nnd-torch-") as folder:
        run = (compare if args.without_plugin else judge)(verdict, args, job, pathlib.Path(folder))
        if verdict.wrong:
            print(run.stderr[-6000:])
        if args.keep:
            shutil.copytree(folder, args.keep, dirs_exist_ok=True)
            pathlib.Path(args.keep, "stderr").write_text(run.stderr)
    for wrong in verdict.wrong:
        print("WRONG:", wrong)
    sys.exit(1 if verdict.wrong else 0)


if __name__ == "__main__":
    main()
