"""The written list of what verbs must do (test/conformance), on rxe: conformance.py BUILD NCCL KEPT. Where rxe is known to differ is
in rxe-differences.txt; anything else that differs fails, and so does a known difference that is gone or has become another."""
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
sys.dont_write_bytecode = True

from lab.fabric import gid_index, wait_state  # noqa: E402
from lab.shell import ip, run  # noqa: E402


def known_differences():
    """{case: what is seen}"""
    with open(f"{here}/rxe-differences.txt") as file:
        rows = [line.split(" | ") for line in file if not line.startswith("#")]
    return {case: seen for case, seen, _ in rows}


def results(*command):
    """{case: the line after its name} of those that passed, and of those that failed."""
    done = subprocess.run(command, capture_output=True, text=True)
    print(done.stdout, done.stderr, flush=True)
    found = {"ok": {}, "FAIL": {}}
    for line in done.stdout.splitlines():
        verdict, _, rest = line.partition(" ")
        if verdict in found:
            case, _, text = rest.strip().partition(" ")
            found[verdict][case] = text
    return found["ok"], found["FAIL"]


def wrong(alike, known, of_alike, of_known):
    """What is not as the list and the known differences say; each pair is what results() gave."""
    passed, failed = of_alike
    gone, seen = of_known
    found = [f"{case}: differs, and that is not known" for case in failed]
    found += [f"{case}: did not run" for case in alike if case not in passed and case not in failed]
    found += [f"{case}: is as on the list now" for case in gone]
    found += [f"{case}: differs in another way than '{text}'" for case, text in known.items() if text not in seen.get(case, text)]
    return found + [f"{case}: no such case" for case in known if case not in gone and case not in seen]


def main(build, _nccl, _kept):
    ip("link add a0 type veth peer name b0", "link set b0 up", "link set a0 up", "addr add 10.1.0.1/24 dev a0")
    run("rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "a0")
    wait_state("rxe0", "ACTIVE")
    gid_index("rxe0", "10.1.0.1")
    program, known = f"{build}/test/conformance/nnd-verbs-conformance", known_differences()
    alike = [line.split()[0] for line in run(program, "--list").splitlines() if line.split()[0] not in known]
    of_alike = results(program, "rxe0", *alike)
    # What is known never to come need not be waited for long.
    of_known = results(program, "--patience", "300", "rxe0", *known)
    found = wrong(alike, known, of_alike, of_known)
    print("\n".join(f"not ok - {text}" for text in found), f"# {len(of_alike[0])} alike, {len(of_known[1])} different")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
