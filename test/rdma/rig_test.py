"""The rig itself, without the machine: what must make a test fail does. rig_test.py [unittest's arguments]"""
import datetime
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
sys.dont_write_bytecode = True

import conformance  # noqa: E402
from lab import events, health, scenario  # noqa: E402
from lab.ranks import Failed  # noqa: E402
from scenarios import ping  # noqa: E402

# In place of qemu: does to /vmshare what a guest does that ends like this.
FAKE_QEMU = """#!/bin/sh
case $* in *-netdev\ help) echo dgram; exit ;; esac
for argument; do case $argument in local,id=share,path=*) share=${argument#*path=}; share=${share%%,*} ;; esac; done
touch "$share/up"
echo $$ >"$share/pid"
eval "$FAKE_GUEST"
"""


class Machine(unittest.TestCase):
    """run-in-vm and run, with guests that end in one way or another."""

    def setUp(self):
        self._made = tempfile.TemporaryDirectory()
        self.addCleanup(self._made.cleanup)
        self.dir = self._made.name
        os.makedirs(f"{self.dir}/bin")
        os.makedirs(f"{self.dir}/vm")
        with open(f"{self.dir}/bin/qemu-system-x86_64", "w") as file:
            file.write(FAKE_QEMU)
        os.chmod(f"{self.dir}/bin/qemu-system-x86_64", 0o755)
        recipe = b"".join(pathlib.Path(f"{here}/../rdma-vm/{name}").read_bytes() for name in ("init", "prepare"))
        pathlib.Path(f"{self.dir}/vm/stamp").write_text(hashlib.sha256(recipe).hexdigest())  # prepared
        nccl = pathlib.Path(f"{self.dir}/nccl/x86_64/2.28.9")
        nccl.mkdir(parents=True)
        (nccl / "libnccl.so.2").touch()

    def call(self, guest, *command):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("NND_")}
        environment.update(PATH=f"{self.dir}/bin:{os.environ['PATH']}", FAKE_GUEST=guest, NND_VM_DIR=f"{self.dir}/vm",
                           NND_NCCL_DIR=f"{self.dir}/nccl", TMPDIR=self.dir)
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    def in_vm(self, guest, *options):
        return self.call(guest, f"{here}/../rdma-vm/run-in-vm", *options, "--", "true")

    def run_test(self, guest):
        return self.unless_skipped(self.call(guest, f"{here}/run", f"{self.dir}/build", "fake", "main.py", "healthy"))

    def run_hosts(self, guest_a, guest_b):
        guest = f'case $share in *.A) {guest_a} ;; *.B) {guest_b} ;; esac'
        return self.unless_skipped(self.call(guest, f"{here}/run-hosts", f"{self.dir}/build", "fake"))

    def unless_skipped(self, done):
        if done.returncode == 77:
            self.skipTest(done.stdout.strip())
        return done

    def test_exit_code_is_the_commands(self):
        for code in (0, 1, 42):
            self.assertEqual(self.in_vm(f'echo {code} >"$share/rc"; exit {2 * code + 1}').returncode, code)

    def test_a_guest_without_an_answer_fails(self):
        """as after a panic (-no-reboot), a loss of power, or a qemu that crashed"""
        for end in ("exit 0", "exit 1", "kill -SEGV $$"):
            done = self.in_vm(f'echo the last words >"$share/console"; {end}')
            self.assertEqual(done.returncode, 97, end)
            self.assertIn("the last words", done.stderr)

    def test_an_old_answer_does_not_count(self):
        os.makedirs(f"{self.dir}/share")
        pathlib.Path(f"{self.dir}/share/rc").write_text("0\n")
        self.assertEqual(self.in_vm("exit 0", "-o", f"{self.dir}/share").returncode, 97)

    def test_a_guest_that_hangs_fails(self):
        done = self.in_vm("exec sleep 60", "-t", "1")
        self.assertEqual(done.returncode, 124)
        self.assertIn("timed out after 1 s", done.stderr)

    def test_run_hands_the_end_on(self):
        self.assertEqual(self.run_test('echo 0 >"$share/rc"').returncode, 0)
        self.assertEqual(self.run_test('echo 1 >"$share/rc"').returncode, 1)
        self.assertEqual(self.run_test("exit 0").returncode, 97)

    def test_run_refuses_a_log_that_breaks_the_schema(self):
        log = 'mkdir -p "$share/logs/rank"; echo "{}" >"$share/logs/rank/log.jsonl"; echo 0 >"$share/rc"'
        self.assertEqual(self.run_test(log).returncode, 1)

    def test_two_machines_fail_when_either_does(self):
        for of_a, of_b in ((0, 0), (1, 0), (0, 1)):
            ends = self.run_hosts(f'sleep 1; echo {of_a} >"$share/rc"', f'sleep 1; echo {of_b} >"$share/rc"')
            self.assertEqual(ends.returncode != 0, of_a != 0 or of_b != 0, f"{of_a} {of_b}: {ends}")

    def test_a_machine_whose_other_is_gone_does_not_wait(self):
        for end in ("exit 1", 'echo the reason; echo 3 >"$share/rc"'):
            done = self.run_hosts("exec sleep 250", end)
            self.assertEqual(done.returncode, 97, f"{end}: {done}")
        self.assertIn("the reason", done.stdout)


class Runner(unittest.TestCase):
    """What becomes of a scenario's end."""

    def run_all(self, *functions, only=()):
        for function in functions:
            scenario.scenario(function)
        with mock.patch("lab.fabric.forget_neighbours"), mock.patch("lab.scenario.keep_logs"), mock.patch("builtins.print") as printed:
            failed = scenario.run_all(only)
        return failed, [call.args[0].split(":")[0] for call in printed.call_args_list if call.args[0].startswith(("ok", "not ok"))]

    def test_each_kind_of_failure_counts(self):
        def fine(lab):
            """works"""

        def wrong(lab):
            events.expect(False, "an assertion")

        def gone(lab):
            raise Failed("a rank is gone")

        def not_undone(lab):
            lab.callback(lambda: 1 / 0)

        def skipped(lab):
            return "no such library"

        failed, verdicts = self.run_all(fine, wrong, gone, not_undone, skipped)
        self.assertEqual(failed, 3)
        self.assertEqual(verdicts, ["ok - fine", "not ok - wrong", "not ok - gone", "not ok - not_undone", "ok - skipped"])

    def test_a_name_that_is_none_fails(self):
        def fine(lab):
            """works"""

        with self.assertRaises(LookupError):
            self.run_all(fine, only=("fien",))
        with self.assertRaises(LookupError):
            self.run_all()


class Log:
    """A rank that only has a log."""

    name = "rank"

    def __init__(self, *lines):
        self._lines = lines

    def events(self):
        return list(self._lines)


def line(name, **fields):
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
    return {"ev": name, "sev": "info", "ts": now, "mono_ns": 1, **fields}


SAID = {"cause": "QP-110", "msg": "seen", "fix": "do"}


def refusal(**fields):
    whole = {"sev": "warn", "rc": 110, "errno": 110, "conn": 1, "dev": {"name": "mlx5_0", "port": 1, "gid": "::ffff:10.1.0.1"},
             "peer": {"gid": "::ffff:10.1.1.2"}, "qp": {"num": 7, "from": "INIT", "to": "RTR", "attempt": 1}, **SAID, **fields}
    return line("qp.transition", **{key: value for key, value in whole.items() if value is not None})


def by_policy(name, **fields):
    whole = {"sev": "error", "rule": "pair.subnet", "conn": 1, "dev": {"name": "mlx5_0", "port": 1, "gid": "::ffff:10.1.0.1"},
             "peer": {"gid": "::ffff:10.1.1.2"}, **SAID, **fields}
    return line(name, **{key: value for key, value in whole.items() if value is not None})


def counters(**grown):
    return [{"name": "mlx5_0", "port": 1, "grown": grown}]


def completion(**fields):
    whole = {"sev": "error", "conn": 1, "dev": {"name": "mlx5_0"}, "wc": {"status": 12}, "failure": 1, **SAID, **fields}
    return line("wc.error", **{key: value for key, value in whole.items() if value is not None})


def counted(failure=1, **grown):
    return line("port.event", sev="info", event="counters", failure=failure, counters=counters(**grown))


class Assertions(unittest.TestCase):
    """Each passes on the right log, and fails where one thing in it is wrong."""

    def fails(self, check, *logs):
        for log in logs:
            with self.assertRaises(AssertionError, msg=f"{log}"):
                check(Log(*log))

    def test_refused_rtr(self):
        def check(rank):
            return events.refused_rtr(rank, 110, "mlx5_0", "::ffff:10.1.0.1", "::ffff:10.1.1.2")

        check(Log(refusal()))
        again = {"num": 7, "from": "INIT", "to": "RTR", "attempt": 1}
        self.fails(check, [], [line("qp.transition", rc=0, qp={"to": "RTR"})], [refusal(errno=101)], [refusal(dev={"name": "mlx5_1", "port": 1})],
                   [refusal(peer={"gid": "::ffff:10.1.0.9"})], [refusal(sev="info")], [refusal(cause=None)], [refusal(fix=None)],
                   [refusal(conn=None)], [refusal(ts="2020-01-01T00:00:00.000000000Z")], [refusal(), refusal()],
                   [refusal(), refusal(sev="info", qp=again)])

    def test_refused_pair(self):
        def check(rank):
            return events.refused_pair(rank, "pair.subnet", "QP-110", "mlx5_0", "::ffff:10.1.0.1", "::ffff:10.1.1.2")

        move, rule = refusal(errno=113, dur_us=900), by_policy("policy.refuse")
        check(Log(rule, move))
        self.fails(check, [], [rule], [move], [rule, move, move], [rule, rule, move], [rule, refusal(errno=110, dur_us=900)],
                   [rule, refusal(errno=113, dur_us=50_000)], [by_policy("policy.warn"), move], [by_policy("policy.refuse", sev="warn"), move],
                   [by_policy("policy.refuse", rule="pair.mtu"), move], [by_policy("policy.refuse", cause="SUB-RAIL"), move],
                   [by_policy("policy.refuse", fix=None), move], [by_policy("policy.refuse", peer={"gid": "::ffff:10.1.1.9"}), move],
                   [rule, refusal(errno=113, dur_us=900, dev={"name": "mlx5_1", "port": 1, "gid": "::ffff:10.1.0.1"})])

    def test_warned_pair(self):
        def check(rank):
            return events.warned_pair(rank, "pair.subnet", before=refusal())

        def told(**fields):
            return by_policy("policy.warn", **{"sev": "warn", **fields})

        check(Log(told()))
        self.fails(check, [], [told(rule="pair.mtu")], [told(sev="info")], [told(cause="SUB-RAIL")], [told(mono_ns=2)], [told(msg=None)],
                   [told(), told()], [by_policy("policy.refuse")])

    def test_failed_completion(self):
        def check(rank):
            return events.failed_completion(rank, 12, "mlx5_0")

        late = counted(retry_exceeded_err=1)
        check(Log(completion(), late))
        self.fails(check, [], [completion(wc={"status": 5}), late], [completion(dev={"name": "mlx5_1"}), late], [completion(conn=None), late],
                   [completion(msg=None), late], [completion()], [completion(), counted(sent_pkts=1)],
                   [completion(), counted(failure=2, retry_exceeded_err=1)])

    def test_counters_of_a_healthy_run(self):
        def check(rank):
            health.check_counters(rank, "mlx5_0")

        def summary(**grown):
            return [line("summary", counters=counters(**grown))]

        check(Log(*summary(sent_pkts=4, rcvd_pkts=1, completer_retry_err=1)))
        self.fails(check, [], [line("summary")], summary(sent_pkts=4), summary(rcvd_pkts=1),
                   summary(sent_pkts=4, rcvd_pkts=1, retry_exceeded_err=1), summary(sent_pkts=4, rcvd_pkts=1, link_downed=1))

    def test_silent(self):
        events.silent(Log(line("plugin.load")))
        self.fails(events.silent, [line("env.lint", sev="warn")], [completion()])

    def test_ping(self):
        pair = {"state": "reachable", "latency_us": {"p50": 1, "p99": 2}, "bandwidth": [{"there_gb_per_s": 1, "back_gb_per_s": 1}],
                "troubles": [], "policy": "fine"}
        ping.check_reachable(pair)
        for wrong in ({"state": "unreachable"}, {"latency_us": {"p50": 2, "p99": 1}}, {"policy": "warned"}, {"troubles": ["one"]},
                      {"bandwidth": [{"there_gb_per_s": 0, "back_gb_per_s": 1}]}):
            with self.assertRaises(AssertionError, msg=f"{wrong}"):
                ping.check_reachable({**pair, **wrong})


class Conformance(unittest.TestCase):
    """The list of differences is exact."""

    KNOWN = {"error.rkey": "no async event came"}

    def wrong(self, of_alike, of_known):
        return conformance.wrong(["state.rtr", "data.write"], self.KNOWN, of_alike, of_known)

    def test_as_known(self):
        self.assertEqual(self.wrong(({"state.rtr": "", "data.write": ""}, {}), ({}, {"error.rkey": "no async event came"})), [])

    def test_any_other_end_fails(self):
        alike, known = ({"state.rtr": "", "data.write": ""}, {}), ({}, {"error.rkey": "no async event came"})
        for ends in ((({"state.rtr": ""}, {"data.write": "got 5"}), known), (({"state.rtr": ""}, {}), known),
                     (alike, ({"error.rkey": ""}, {})), (alike, ({}, {"error.rkey": "got 10"})), (alike, ({}, {}))):
            self.assertEqual(len(self.wrong(*ends)), 1, ends)


if __name__ == "__main__":
    unittest.main()
