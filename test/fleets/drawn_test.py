#!/usr/bin/env python3
"""`nccl-net-diag check` on nodes that are drawn (drawn.py), in each mode, against what an expert says of them.

usage: drawn_test.py TOOL [--seed N] [--runs N] [--modes MODE …] [--brief]; a node is replayed by its seed with --runs 1. --brief prints a line for each
disagreement, and how many nodes were judged rightly.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # nothing stays in the tree
import drawn

MODES = ("observe", "warn", "enforce")
BOUND_SEC = 60


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--brief", action="store_true")
    return parser.parse_args()


ARGUMENTS = None


def place(name):
    return name if ":" in name else f"{name}:1"


def check(scenario, mode, verdict, home):
    """What check says. Nothing of this machine's own settings is in force. The emulated files go where the tool likes to have them, in
    memory: on a disk they would take twenty times as long."""
    environment = {key: value for key, value in os.environ.items() if key != "TMPDIR" and not key.startswith("NCCL_")}
    environment.update(verdict.get("env", {}), HOME=str(home))
    done = subprocess.run([ARGUMENTS.tool, "check", "--json", "--mode", mode, "--scenario", str(scenario)], env=environment, cwd=home,
                          capture_output=True, text=True, timeout=BOUND_SEC, check=False)
    if done.returncode not in (0, 1):
        raise AssertionError(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def listed(names):
    """NCCL takes its HCAs in an order of its own, whatever the list's."""
    return "list " + ",".join(sorted(names.split(",")))


def said(result):
    out = {f"exit {result['exit_code']}"}
    for hca in result["hcas"]:
        if hca["verdict"] != "skipped":
            out.add(f"{hca['name']}:{hca['port']} {hca['verdict']}")
    for verdict in result["verdicts"]:
        if (verdict["decision"], verdict["action"]) == ("info", "allow"):
            continue  # no broken rule
        if verdict["cause"].startswith("LIM-"):
            continue  # the limits of whoever runs this
        told = f"told: {verdict['decision']} {verdict['cause']}"
        out.add(f"{verdict['device']}:{verdict['port']} {told}" if verdict["device"] else told)
        out.update(f"{other} {told}" for other in verdict["also"])
    out.update(listed(line.split("NCCL_IB_HCA==")[1]) for line in result["proposal"] if line.startswith("export NCCL_IB_HCA=="))
    return out


def wanted(verdict, mode):
    enforced = mode == "enforce"
    told = f"told: {'info' if mode == 'observe' else 'warn'}"
    out = {f"exit {verdict.get('exit', 0)}"}
    refused, flagged, down = (verdict.get(key, {}) for key in ("refused", "flagged", "down"))
    for name in [*verdict.get("compute", []), *flagged]:
        if name not in refused and name not in down:
            out.add(f"{place(name)} taken")
    for name, cause in refused.items():
        out.add(f"{place(name)} {'refused' if enforced else 'taken'}")
        out.add(f"{place(name)} {'told: refuse' if enforced else told} {cause}")
    for name, cause in [*flagged.items(), *down.items()]:
        out.add(f"{place(name)} {told} {cause}")
    if "list" in verdict:
        out.add(listed(verdict["list"]))
    return out


class Drawn(unittest.TestCase):
    def test_nodes(self):
        wrong = []
        with tempfile.TemporaryDirectory() as home:
            for seed in range(ARGUMENTS.seed, ARGUMENTS.seed + ARGUMENTS.runs):
                node = drawn.draw(seed)
                scenario = pathlib.Path(home, "drawn.toml")
                scenario.write_text(node.scenario(), encoding="utf-8")
                with self.subTest(seed=seed):
                    try:
                        self.judge(node, scenario, home)
                    except AssertionError as error:
                        wrong.append(seed)
                        if not ARGUMENTS.brief:
                            raise
                        print(f"seed {seed}: {'; '.join(node.notes[1:])}: {error}", flush=True)
        print(f"{ARGUMENTS.runs - len(wrong)} of {ARGUMENTS.runs} nodes from seed {ARGUMENTS.seed} on are judged rightly")
        self.assertEqual(wrong, [])

    def judge(self, node, scenario, home):
        verdict = node.verdict()
        differences = {}
        for mode in ARGUMENTS.modes:
            result = check(scenario, mode, verdict, home)
            now, then = said(result), wanted(verdict, mode)
            if now != then:
                differences[mode] = (sorted(now - then), sorted(then - now), result)
        if not differences:
            return
        mode = "enforce" if "enforce" in differences else next(iter(differences))
        too_much, missing, result = differences[mode]
        if ARGUMENTS.brief:
            raise AssertionError(f"{'/'.join(differences)}: said {too_much}, missing {missing}")
        self.fail(f"""
{node.scenario()}
The verdict:
{node.verdict_text()}
In {', '.join(differences)}; in {mode}
  said, and wrong:   {too_much}
  right, and unsaid: {missing}
What was said:
{os.linesep.join(one['fact'] for one in result['verdicts']) or '-'}
{os.linesep.join(result['proposal'])}
Replay: {sys.argv[0]} {ARGUMENTS.tool} --seed {node.seed} --runs 1
""")


if __name__ == "__main__":
    ARGUMENTS = arguments()
    unittest.main(argv=sys.argv[:1])
