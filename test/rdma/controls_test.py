"""Negative controls in the machine itself: controls_test.py BUILD. Scenarios that must fail are reported so and fail the run, and so does
a kernel that panics. Exit 77 with a line that begins with SKIPPED where the machine can't be had."""
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))

# And how the sentence begins, or what it contains, that says why.
MUST_FAIL = {
    "a_fault_is_not_silent": "a_fault_is_not_silent.1 warns although nothing is wrong",
    "another_errno": "wanted {'errno': 101",
    "no_such_events": "none of the three is there",
    "a_rank_dies": "a_rank_dies.1 is gone",
}
PANIC = ["sh", "-c", "echo c >/proc/sysrq-trigger; sleep 60"]


def call(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout, end="", flush=True)
    return done.returncode, done.stdout


def main(build):
    code, told = call(f"{here}/run", build, "controls", "main.py", "broken")
    if code == 77:
        return 77
    verdicts = [line.split(":")[0] for line in told.splitlines() if line.startswith(("ok - ", "not ok - "))]
    wanted = [f"not ok - {name}" for name in MUST_FAIL]
    problems = [] if verdicts == wanted else [f"wanted {wanted}, got {verdicts}"]
    problems += [] if code == 1 else [f"the run ended with {code}, not 1"]
    problems += [f"not told: {why}" for why in MUST_FAIL.values() if why not in told]
    left = f"{build}/test/rdma/panic"
    code, _ = call(f"{here}/../rdma-vm/run-in-vm", "-o", left, "--", *PANIC)
    with open(f"{left}/console", errors="replace") as console:
        panicked = "Kernel panic" in console.read()
    problems += [] if code == 97 and panicked else [f"a panic ended with {code}"]
    print("\n".join(problems) or "all as they must be")
    return 1 if problems else 0


sys.exit(main(*sys.argv[1:]))
