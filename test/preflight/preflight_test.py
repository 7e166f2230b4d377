#!/usr/bin/env python3
"""What `preflight` says of allocations whose fault is known: preflight_test.py TOOL drawn|healthy [--seed N] [--runs N]

Each allocation (draw.py) is a scenario. `check --json` runs on each of its hosts with that host's variables and limits, the results go where
pdsh, srun or a shared directory would put them, and `preflight --from ... --json` reads them. A case that is not right is printed with its
truth, what was said, and how to play it again.
"""
import argparse
import collections
import concurrent.futures
import ctypes
import dataclasses
import json
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import tempfile

import draw

BOUND_SEC = 120  # of a busy machine
CAP_IPC_LOCK = 14
PR_CAPBSET_DROP = 24


class NoAnswer(Exception):
    pass


# ---- the nodes' own results

def limit(node):
    """What is done between fork and exec. One who is not root has no right to lose."""

    def apply():
        if not node.locks_all:
            ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0)
        if node.memlock:
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (node.memlock, node.memlock))

    return apply


def environment(folder, more=None):
    """Nothing of this machine's own settings. Without TMPDIR an emulated host's files are in memory, which is ten times as fast."""
    own = ("NCCL", "UCX", "SLURM", "PMI", "OMPI", "MASTER_", "TMPDIR")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    return kept | {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder)} | (more or {})


def check(tool, folder, file, node):
    words = [tool, "check", "--scenario", str(file), "--host", node.name, "--json"] + (["--nccl", node.nccl] if node.nccl else [])
    done = subprocess.run(words, env=environment(folder, node.variables), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BOUND_SEC,
                          preexec_fn=limit(node) if node.memlock or not node.locks_all else None)
    if done.returncode not in (0, 1):
        raise NoAnswer(f"check on {node.name} ended with {done.returncode}: {done.stdout[-600:]} {done.stderr[-600:]}")
    if not node.kernel:
        return done.stdout
    said = json.loads(done.stdout)
    here = said["system"]["kernel"]  # which a scenario can't be told
    return done.stdout.replace(json.dumps(here), json.dumps(node.kernel))


# ---- where they lie

def labelled(dice, results, label):
    """Lines of all nodes as they come: each node's in order."""
    left = [[label(n, name) + line for line in text.splitlines()] for n, (name, text) in enumerate(results)]
    out = []
    while left := [lines for lines in left if lines]:
        lines = dice.of(left)
        count = dice.between(1, 60)
        out += lines[:count]
        del lines[:count]
    return "\n".join(out) + "\n"


def lay_out(dice, folder, results, fresh):
    """Puts [(node, text)] into files; returns preflight's words and what is on standard input. fresh: the results that count."""
    one_file = fresh != results  # where the order of two results has to be plain
    form = dice.of(["one file", "stdin"] if one_file else ["files", "directory", "one file", "stdin", "labels", "labels", "srun", "mixed"])
    place = folder / "checks"
    place.mkdir()

    def write(name, text):
        (place / name).write_text(text)
        return str(place / name)

    whole = "".join(text if text.endswith("\n") else text + "\n" for _, text in results)
    if form == "files":
        return form, ["--from"] + [write(f"{name}.json", text) for name, text in dice.shuffled(results)], None
    if form == "directory":
        for name, text in results:
            write(f"{name}.json", text)
        return form, ["--from", str(place)], None
    if form == "mixed":  # some of a pdsh, one by itself
        alone, *rest = dice.shuffled(results)
        return form, ["--from", write("alone.json", alone[1]), write("rest.txt", labelled(dice, rest, lambda n, name: f"{name}: "))], None
    if form == "labels":
        text = labelled(dice, results, lambda n, name: f"{name}: ")
    elif form == "srun":
        text = labelled(dice, results, lambda n, name: f"{n}: ")
    else:
        text = whole
    if form == "stdin" or dice.percent(30):
        return form, ["--from", "-"], text
    return form, ["--from", write("all.txt", text)], None


# ---- what was said

@dataclasses.dataclass
class Said:
    code: int
    answer: dict
    form: str
    call: list


def play(tool, one, folder):
    dice = draw.Dice("forms", *one.seed)
    file = folder / "scenario.toml"
    file.write_text(draw.scenario(one))
    fresh = [(node.name, check(tool, folder, file, node)) for node in one.nodes]
    results = list(fresh)
    if one.stale:
        number, old = one.stale
        before = folder / "before.toml"
        before.write_text(draw.scenario(one, [old if n == number else node for n, node in enumerate(one.nodes)]))
        results = [(old.name, check(tool, folder, before, old))] + results
    form, words, text = lay_out(dice, folder, results, fresh)
    call = [tool, "preflight", *words, "--json"]
    done = subprocess.run(call, env=environment(folder), input=text, stdin=None if text else subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=BOUND_SEC)
    if text:
        (folder / "checks" / "stdin").write_text(text)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise NoAnswer(f"preflight ended with {done.returncode} and no JSON: {done.stdout[-600:]} {done.stderr[-600:]}") from None
    return Said(done.returncode, answer, form, call)


def named(text, names):
    return {name for name in names if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])(?!\.\w)", text)}


def weighty(findings):
    return [one for one in findings if one["weight"] in (draw.LEAVE, draw.MEND)]


def judge_frame(one, said):
    """What holds for every answer."""
    answer, truth = said.answer, one.truth
    code = 0 if truth.go else 1
    if said.code != code:
        yield f"exit code {said.code}, not {code}"
    if answer.get("go") is not truth.go:
        yield f"go is {answer.get('go')}"
    if not re.match(r"go\b" if truth.go else r"no-go\b", answer["verdict"]):
        yield "the verdict does not begin with go or no-go as it should"
    if (answer.get("v"), answer.get("command"), answer.get("exit_code"), answer.get("ok")) != (1, "preflight", said.code, said.code == 0):
        yield "v, command, exit_code and ok don't fit"
    # Natural order: the numbers in a name count as numbers.
    names = sorted((node.name for node in one.nodes), key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])
    if answer.get("hosts") != names:
        yield f"hosts are {answer.get('hosts')}, not {names}"
    if answer.get("problems"):
        yield f"problems: {answer['problems']}"
    weights = [finding["weight"] for finding in answer["findings"]]
    if weights != sorted(weights, key=[draw.LEAVE, draw.MEND, draw.NOTE].index):
        yield f"the order of weights is {weights}"
    leaves = {host for finding in answer["findings"] if finding["weight"] == draw.LEAVE for host in finding["hosts"]}
    if leaves != set(answer["leave_out"]):
        yield f"leave_out is {answer['leave_out']}, the findings that say so have {sorted(leaves)}"


def judge_healthy(one, said):
    yield from judge_frame(one, said)
    if said.answer["leave_out"]:
        yield f"leave_out is {said.answer['leave_out']}"
    findings = said.answer["findings"] if not one.truth.notes else weighty(said.answer["findings"])
    for finding in findings:
        yield f"nothing is wrong, and it says {finding['weight']}: {finding['msg']}"


def judge_silence(one, said):
    """What may be told, and is no reason to wait."""
    yield from judge_frame(one, said)
    if said.answer["leave_out"]:
        yield f"leave_out is {said.answer['leave_out']}"
    for finding in weighty(said.answer["findings"]):
        yield f"it is no reason to wait, and it says {finding['weight']}: {finding['msg']}"
    about = [finding for finding in said.answer["findings"] if all(re.search(value, finding["msg"]) for value in one.truth.values)]
    if not about and not one.truth.may_be_silent:
        yield f"no finding tells {one.truth.values}"
    for finding in about:
        if one.truth.guilty not in finding["hosts"] and finding["hosts"]:
            yield f"it is told of {finding['hosts']}"
        if len(finding["hosts"]) > (2 if one.truth.tie else 1):
            yield f"it is told of {finding['hosts']}"


def judge_accusation(one, said):
    truth, answer = one.truth, said.answer
    yield from judge_frame(one, said)
    both = {node.name for node in one.nodes}
    alone = {truth.guilty}
    heavy = weighty(answer["findings"])
    if not heavy:
        yield "nothing is found"
        return
    first = heavy[0]
    may_be_accused = [both, alone] if truth.tie and truth.may_accuse_alone else [both] if truth.tie else [alone]
    if set(first["hosts"]) not in may_be_accused:
        yield f"the first finding is of {first['hosts']}"
    tied = truth.tie and set(first["hosts"]) == both
    weights = (draw.MEND,) if tied else truth.weights
    if first["weight"] not in weights:
        yield f"the first finding weighs \"{first['weight']}\", not \"{' or '.join(weights)}\""
    if draw.LEAVE not in truth.weights or tied:
        if answer["leave_out"]:
            yield f"leave_out is {answer['leave_out']}, not empty"
    elif first["weight"] == draw.LEAVE and answer["leave_out"] != [truth.guilty]:
        yield f"leave_out is {answer['leave_out']}, not [{truth.guilty}]"
    if truth.hcas and (first.get("hca") or "") not in truth.hcas:
        yield f"the first finding's hca is {first.get('hca')}, not {' or '.join(truth.hcas)}"
    for value in truth.values:
        if not re.search(value, first["msg"]):
            yield f"the first finding's text does not hold {value}"
    if tied and not re.search(r"(?i)\btwo\b|\bboth\b|either|which of", first["msg"] + answer["verdict"] + first.get("fix", "")):
        yield "it does not say that two can't tell"
    verdict = answer["verdict"]
    # The other of two is what the one is compared with.
    accused = named(verdict.split(" of 2 nodes:")[0] if len(both) == 2 and not tied else verdict, both)
    if accused != (both if tied else alone):
        yield f"the verdict names {sorted(accused)}"
    if truth.subject and not re.search(truth.subject, verdict):
        yield f"the verdict does not name {truth.subject}"
    for finding in heavy[1:]:
        if not finding["hosts"] or not set(finding["hosts"]) <= set(first["hosts"]):
            yield f"it accuses {finding['hosts'] or 'all'} too: {finding['msg']}"
    # What only follows from it is left out.
    if len(heavy) > truth.touched:
        yield f"{len(heavy)} findings weigh, where {truth.touched} is wrong"


def judge(one, said):
    if not one.truth.weights:
        return list(judge_healthy(one, said))
    if one.truth.go:
        return list(judge_silence(one, said))
    return list(judge_accusation(one, said))


# ---- many of them

def brief(said):
    lines = [f"exit code {said.code}, go {said.answer.get('go')}, leave_out {said.answer.get('leave_out')}", f"verdict: {said.answer.get('verdict')}"]
    for finding in said.answer.get("findings", [])[:6]:
        lines.append(f"{finding['weight']} {finding['hosts']} {finding.get('hca') or '-'} {finding.get('cause') or '-'}: {finding['msg']}")
    return lines


def run(tool, part, seed, number, only, keep):
    """(number, kind, nodes, complaints, lines to print)"""
    one = draw.draw_healthy(seed, number) if part == "healthy" else draw.draw_faulty(seed, number, only)
    again = f"preflight_test.py {shlex.quote(tool)} {part} --seed {seed} --case {number}" + (f" --only {shlex.quote(only)}" if only else "")
    shape = f"{len(one.nodes)} nodes, {one.rails} rails ({one.fabric}), {one.gpus} GPUs, {one.extra}"
    lines = [f"truth: {one.truth.words} ({shape})"]
    with tempfile.TemporaryDirectory(prefix="nnd-preflight-") as temporary:
        folder = pathlib.Path(keep) / f"{part}-{seed}-{number}" if keep else pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            said = play(tool, one, folder)
            complaints = judge(one, said)
            lines += [f"said ({said.form}): {line}" for line in brief(said)]
            if keep:
                (folder / "said.json").write_text(json.dumps(said.answer, indent=1))
                (folder / "call").write_text(shlex.join(said.call) + "\n")
        except (NoAnswer, subprocess.TimeoutExpired) as problem:
            complaints = [str(problem)]
    return number, one.truth.kind, len(one.nodes), complaints, lines + [f"again: {again} --keep DIR"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("part", choices=("drawn", "healthy"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--case", type=int, help="this one alone")
    parser.add_argument("--only", default="", help="faults of this kind alone", choices=[""] + [fault.name for fault in draw.FAULTS])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", help="a directory that keeps the scenario, the nodes' results and the answer")
    parser.add_argument("--verbose", action="store_true", help="prints what was said of those that are right, too")
    asked = parser.parse_args()
    runs = asked.runs or (60 if asked.part == "healthy" else draw.ROUND)
    numbers = range(runs) if asked.case is None else [asked.case]
    right, wrong = collections.Counter(), collections.Counter()
    # Processes, and not threads: each forks with one thread alone.
    with concurrent.futures.ProcessPoolExecutor(asked.jobs) as pool:
        played = [pool.submit(run, os.path.abspath(asked.tool), asked.part, asked.seed, number, asked.only, asked.keep) for number in numbers]
        for future in played:
            number, kind, nodes, complaints, lines = future.result()
            (wrong if complaints else right)[kind] += 1
            if complaints or asked.verbose:
                print(f"{'WRONG' if complaints else 'right'}: {kind}, seed {asked.seed}, case {number}")
                for line in [f"but: {complaint}" for complaint in complaints] + lines:
                    print("  " + line)
                print(flush=True)
    for kind in sorted(set(right) | set(wrong)):
        print(f"{kind}: {right[kind]} of {right[kind] + wrong[kind]} right")
    print(f"{sum(right.values())} of {sum(right.values()) + sum(wrong.values())} right, seed {asked.seed}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
