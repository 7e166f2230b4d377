"""Whole NCCL jobs whose processes ask each other whom they wait for (NCCL_NET_DIAG_PEERS): what each log says by itself. NCCL's own sockets,
and so the channel, are on another interface than the HCAs."""
import signal

from lab import fabric
from lab.events import expect, of, silent
from lab.job import Job, greet_all
from lab.ranks import Options
from lab.scenario import scenario
from lab.shell import ip, run, wait_for
from lab.traffic import wait_event, wait_sent

HCAS = ["mlx5_0", "mlx5_2"]
ASKING = {"NCCL_NET_DIAG_STALL_SEC": "2", "NCCL_NET_DIAG_PEERS": "on"}


def job(lab, *more, iterations=3):
    greet_all(HCAS)
    return Job(lab, HCAS, ASKING, *more, iterations=iterations)


def named(rank, *kinds):
    """Whom this log names, once it names somebody in one of these ways."""
    def found():
        return [event for event in of(rank.events(), "job.stall") if event["awaited"]["kind"] in kinds]
    wait_for(f"{rank.name} to name somebody as {kinds}", found)
    return found()[-1]


def names_rank_1(rank, kind):
    event = named(rank, kind)
    expect(event["awaited"].get("rank") == 1, "not rank 1", [event])
    return event


def in_traffic(lab):
    running = job(lab, iterations=100000)
    wait_event(running.ranks[1], "conn.ready")
    wait_sent("mlx5_2", 50)
    return running


@scenario
def healthy(lab):
    """no fault: nobody is named"""
    ranks = job(lab).wait()
    for rank in ranks:
        silent(rank)
        expect(not of(rank.events(), "job.stall"), "somebody is named", rank.events()[-2:])


@scenario
def late_rank(lab):
    """rank 1 leaves the last all-reduce out: rank 0's log names it, and the network is not blamed"""
    event = names_rank_1(job(lab, "--alone", "0:all_reduce:300000").ranks[0], "idle")
    expect(event["cause"] == "HANG-RANK" and event["sev"] == "info", "another story", [event])


@scenario
def dead_process(lab):
    """rank 1 is killed in the middle of traffic: rank 0's log says that it has ended"""
    running = in_traffic(lab)
    running.ranks[1].signal(signal.SIGKILL)
    names_rank_1(running.ranks[0], "ended")


@scenario
def paused_rank(lab):
    """rank 1 is stopped in the middle of traffic: rank 0's log says so, since the kernel answers"""
    running = in_traffic(lab)
    running.ranks[1].signal(signal.SIGSTOP)
    names_rank_1(running.ranks[0], "stopped")


@scenario
def cut_cable(lab):
    """the cable of rank 1's HCA is pulled under traffic: rank 0's log names that port"""
    running = in_traffic(lab)
    lab.callback(fabric.wait_state, "mlx5_2", "ACTIVE")
    lab.callback(ip, "link set pb0 up", netns="sw")
    ip("link set pb0 down", netns="sw")
    event = names_rank_1(running.ranks[0], "port")
    expect(event["awaited"]["place"] == "mlx5_2:1", "another port", [event])


@scenario
def lossy_interface(lab):
    """one message of five is lost between the processes: rank 1 is named all the same"""
    running = job(lab, "--alone", "0:all_reduce:300000")
    wait_event(running.ranks[1], "conn.ready")
    run("tc", "qdisc", "add", "dev", Options.interface, "root", "netem", "loss", "20%")
    lab.callback(run, "tc", "qdisc", "del", "dev", Options.interface, "root")
    names_rank_1(running.ranks[0], "idle")


@scenario
def filtered_interface(lab):
    """nothing of the channel passes: nobody is named, and the stall is told as without it"""
    ip("rule add pref 50 to 127.0.0.0/8 ipproto udp blackhole")
    lab.callback(ip, "rule del pref 50")
    running = job(lab, "--alone", "0:all_reduce:300000")
    wait_for("two lines of the stall", lambda: len(of(running.ranks[0].events(), "conn.stall", kind="nothing-came")) >= 2)
    expect(not of(running.ranks[0].events(), "job.stall"), "somebody is named", running.ranks[0].events()[-2:])
