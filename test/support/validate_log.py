#!/usr/bin/env python3
"""Validates event logs: validate_log.py [--schema FILE] PATH...

Every line against the JSON Schema; in each file: one process (host, pid, proc), and numbers (seq)
that start at 0 and have no gap. Prints what is wrong, file and line first; exit 1 if anything is.
"""
import argparse
import json
import pathlib
import sys

import jsonschema

SCHEMA = pathlib.Path(__file__).parents[2] / "include" / "nccl_net_diag" / "event.schema.json"


def no_twins(pairs):
    names = [name for name, _ in pairs]
    twins = {name for name in names if names.count(name) > 1}
    if twins:
        raise ValueError(f"field given twice: {', '.join(sorted(twins))}")
    return dict(pairs)


def problems(path, validator):
    identity = None
    seq = 0
    with open(path, encoding="utf-8") as log:
        for number, text in enumerate(log, 1):
            where = f"{path}:{number}"
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
            if line.get("seq") != seq:
                yield f"{where}: seq is {line.get('seq')}, {seq} was due"
            seq = line.get("seq", seq) + 1
            who = (line.get("host"), line.get("pid"), line.get("proc"))
            if identity not in (None, who):
                yield f"{where}: another process: {who}, before {identity}"
            identity = who
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
    found = [problem for path in args.path for problem in problems(path, validator)]
    print("\n".join(found) or f"{len(args.path)} valid")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
