#!/usr/bin/env python3
"""Validates event logs: validate_log.py [--schema FILE] PATH...

Every line against the JSON Schema; in each log: one process (host, pid, proc), and numbers (seq)
that start at 0 and have no gap. A log that was full is read with the two files beside it, in the
order of their numbers; what it says that it gave up may be missing. Prints what is wrong, file and line first; exit 1 if anything is.
"""
import argparse
import json
import pathlib
import re
import sys

import jsonschema

TAILS = (".tail1.jsonl", ".tail2.jsonl")
SCHEMA = pathlib.Path(__file__).parents[2] / "include" / "nccl_net_diag" / "event.schema.json"


def no_twins(pairs):
    names = [name for name, _ in pairs]
    twins = {name for name in names if names.count(name) > 1}
    if twins:
        raise ValueError(f"field given twice: {', '.join(sorted(twins))}")
    return dict(pairs)


def numbered_lines(path):
    """Where and what, by number where there are several files."""
    parts = [path, *(part for tail in TAILS if (part := f"{path.removesuffix('.jsonl')}{tail}") and pathlib.Path(part).exists())]
    out = []
    for part in parts:
        with open(part, encoding="utf-8") as log:
            out += [(f"{part}:{number}", text) for number, text in enumerate(log, 1)]
    if len(parts) > 1:
        out.sort(key=lambda one: int(re.search(r'"seq":(\d+)', one[1])[1]))
    return out


def problems(path, validator):
    identity = None
    seq = missing = given_up = 0
    gaps = []
    for where, text in numbered_lines(path):
        if not text.endswith("\n"):
            yield f"{where}: the line has no end"
        try:
            line = json.loads(text, object_pairs_hook=no_twins)
        except ValueError as error:
            yield f"{where}: {error}"
            continue
        for error in validator.iter_errors(line):
            spot = "/".join(map(str, error.absolute_path)) or line.get("ev", "?")
            yield f"{where}: {spot}: {error.message}"
        given_up = line.get("lost", {}).get("size_limit", given_up)
        if line.get("seq") != seq:
            gaps.append(f"{where}: seq is {line.get('seq')}, {seq} was due")
            ahead = line.get("seq", seq) - seq
            missing += ahead if ahead > 0 else float("inf")
        seq = line.get("seq", seq) + 1
        who = (line.get("host"), line.get("pid"), line.get("proc"))
        if identity not in (None, who):
            yield f"{where}: another process: {who}, before {identity}"
        identity = who
    if missing > given_up:
        yield from gaps
    if seq == 0:
        yield f"{path}: empty"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--schema", default=SCHEMA, type=pathlib.Path)
    parser.add_argument("path", nargs="+")
    args = parser.parse_args()
    schema = json.loads(args.schema.read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    logs = [path for path in args.path if not path.endswith(TAILS)]
    found = [problem for path in logs for problem in problems(path, validator)]
    print("\n".join(found) or f"{len(args.path)} valid")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
