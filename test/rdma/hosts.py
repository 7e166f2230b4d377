"""Two machines with HCAs of the same names: hosts.py BUILD NCCL KEPT A|B. A runs scenarios/ping.py,
two_hosts.py, rehearse.py and power_off.py; B does what A tells it.

    eth0  172.16.0.1, .2   what NCCL's sockets and this program use
    eth1  10.1.0.1, .2     mlx5_0
    eth2  10.1.1.1, .2     mlx5_1
    bond0 10.2.0.1, .2     mlx5_bond_0, over eth3

The wires of eth1 and eth2 end in bridges on A, so that a router can be plugged in between.
"""
import importlib
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
sys.dont_write_bytecode = True

from lab import agent, fabric, scenario  # noqa: E402
from lab.ranks import Options, prepare_logs  # noqa: E402
from lab.shell import ip, write  # noqa: E402


def build(number):
    fabric.HCAS = {"mlx5_0": ("eth1", f"10.1.0.{number}/24"), "mlx5_1": ("eth2", f"10.1.1.{number}/24"),
                   "mlx5_bond_0": ("bond0", f"10.2.0.{number}/24")}
    # Strict ARP, or a machine answers on one rail for the address of another.
    write("/proc/sys/net/ipv4/conf/all/arp_ignore", 1)
    write("/proc/sys/net/ipv4/conf/all/arp_announce", 2)
    write("/proc/sys/net/ipv4/neigh/default/base_reachable_time_ms", 3600000)
    if number == 1:
        fabric.add_switch("br0", "br1")
        fabric.put_behind("eth1", "br0")
        fabric.put_behind("eth2", "br1")
    ip(*fabric.bond_lines("bond0", "active-backup", "eth3"))
    ip(f"addr add 172.16.0.{number}/24 dev eth0", "link set eth0 up",
       *(f"link set {netdev} up" for netdev, _ in fabric.HCAS.values()),
       *(f"addr add {address} dev {netdev}" for netdev, address in fabric.HCAS.values()))
    fabric.add_hcas()


def main(build_dir, nccl, kept, role):
    Options.build, Options.nccl, Options.kept, Options.interface = build_dir, nccl, kept, "eth0"
    prepare_logs()
    write("/proc/sys/kernel/hostname", f"machine-{role}")
    build(1 if role == "A" else 2)
    if role == "B":
        return agent.serve("172.16.0.2")
    agent.Peer.current = agent.Peer("172.16.0.2")
    failed = 0
    for name in ("ping", "two_hosts", "rehearse", "power_off"):
        agent.Peer.current.keep_logs()
        importlib.import_module(f"scenarios.{name}")
        failed += scenario.run_all()
    agent.Peer.current.end()
    print(f"# {failed} failed", flush=True)
    return 1 if failed else 0


sys.exit(main(*sys.argv[1:]))
