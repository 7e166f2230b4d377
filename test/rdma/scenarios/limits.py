"""What a process may not do: limits, device nodes, namespaces."""
import os
import stat

from lab.events import expect, of, sentence
from lab.scenario import scenario
from lab.shell import ip, read, run


def uverbs_of(device):
    """The path of its device node."""
    for name in os.listdir("/sys/class/infiniband_verbs"):
        if name.startswith("uverbs") and read(f"/sys/class/infiniband_verbs/{name}/ibdev") == device:
            return f"/dev/infiniband/{name}"
    raise AssertionError(f"no uverbs node of {device}")


@scenario
def memlock(lab):
    """a process that may lock 4 KiB: memory can't be registered, errno 12"""
    limited = ["prlimit", "--memlock=4096:4096", "setpriv", "--bounding-set=-ipc_lock", "--"]
    connection = lab.pair("mlx5_0", "mlx5_2", wrap=limited)
    connection.open_fails()
    failed = [event for rank in lab.ranks for event in of(rank.events(), "mr.register") if event["sev"] == "warn"]
    expect(failed, "no failed registration told", lab.ranks[1].events()[-4:])
    expect(failed[0]["errno"] == 12, "wrong errno", failed)
    expect(failed[0]["dev"]["name"] in ("mlx5_0", "mlx5_2"), "wrong device", failed)
    sentence(failed[0])


@scenario
def nofile(lab):
    """a process that has used up its descriptors: it can't listen, and the failure is told"""
    connection = lab.pair("mlx5_0", "mlx5_2")
    receiver = connection.receiver
    used = {int(name) for name in os.listdir(f"/proc/{receiver.pid}/fd")}
    first_free = min(set(range(len(used) + 1)) - used)
    run("prlimit", f"--pid={receiver.pid}", f"--nofile={first_free}:")
    listening = receiver.run("listen", context=receiver.context, dev=0)
    expect(listening["rc"] != 0, f"listen did not fail: {listening}")
    receiver.exit()
    failed = of(receiver.events(), "conn.fail")
    expect(len(failed) == 1 and failed[0]["stage"] == "listen", "no failure told", receiver.events()[-3:])
    sentence(failed[0])


@scenario
def unusable_uverbs_node(lab):
    """an HCA whose uverbs node this process may not open: it is not taken, and the log says why"""
    node = uverbs_of("mlx5_0")
    hidden = "/tmp/nodev"
    os.makedirs(hidden, exist_ok=True)
    run("mount", "-t", "tmpfs", "-o", "nodev", "tmpfs", hidden)
    lab.callback(run, "umount", hidden)
    os.mknod(f"{hidden}/node", stat.S_IFCHR | 0o666, os.stat(node).st_rdev)
    run("mount", "--bind", f"{hidden}/node", node)
    lab.callback(run, "umount", node)
    rank = lab.bare_rank("mlx5_0")
    rank.wait_load()
    rank.must("init")
    devices = rank.must("devices")
    expect(devices["count"] == 0, f"NCCL got a device: {devices}")
    rank.exit()
    port, = of(rank.events(), "hca.port", dev="mlx5_0")
    expect(port["verdict"] == "skipped" and port["errno"] == 2, "taken in spite of it", [port])
    told = [event for event in of(rank.events(), "policy.warn", dev="mlx5_0") if event["cause"] == "DEV-UNUSABLE"]
    expect(len(told) == 1, "not told, or told twice", told)
    sentence(told[0])


@scenario
def other_network_namespace(lab):
    """a process in a network namespace of its own: the GIDs' netdevs are not there"""
    run("ip", "netns", "add", "empty")
    lab.callback(run, "ip", "netns", "del", "empty")
    ip("link set lo up", netns="empty")
    rank = lab.rank("mlx5_0", wrap=["nsenter", "--net=/run/netns/empty", "--"])
    rank.exit()
    port, = of(rank.events(), "hca.port", dev="mlx5_0")
    expect("subnet" not in port["dev"], "a subnet of another namespace", [port])
