"""Two hosts' HCAs in one machine: rxe devices on veths and bonds, one bridge per subnet.

rxe (Linux 6.1) routes and receives in the first network namespace only, so all its netdevs stay there. Policy routing makes
their traffic leave one veth and come in at another, instead of being cut short through lo: each netdev has a routing table of
its own, as if it were alone on its host. The veths' other ends are in the namespace "sw", one bridge per subnet.

    host A   a0 10.1.0.1 mlx5_0   a1 10.1.1.1 mlx5_1   bond0 (s0, s1) 10.2.0.1 mlx5_bond_0
    host B   b0 10.1.0.2 mlx5_2   b1 10.1.1.2 mlx5_3   bond1 (s2, s3) 10.2.0.2 mlx5_bond_1

bond0 is an active-backup bond, bond1 one of 802.3ad.
"""
import ipaddress
import os
import socket

from lab.shell import ip, read, run, wait_for, write

SYSFS = "/sys/class/infiniband"
PLACES = "/tmp/infiniband"

HCAS = {
    "mlx5_0": ("a0", "10.1.0.1/24"),
    "mlx5_1": ("a1", "10.1.1.1/24"),
    "mlx5_2": ("b0", "10.1.0.2/24"),
    "mlx5_3": ("b1", "10.1.1.2/24"),
    "mlx5_bond_0": ("bond0", "10.2.0.1/24"),
    "mlx5_bond_1": ("bond1", "10.2.0.2/24"),
}
BONDS = {"bond0": ("active-backup", "s0", "s1"), "bond1": ("802.3ad", "s2", "s3")}
ACTIVE_SLAVE = "/sys/class/net/bond0/bonding/active_slave"
BRIDGES = {"a0": "br0", "b0": "br0", "a1": "br1", "b1": "br1", "s0": "br2", "s1": "br2", "s2": "br2", "s3": "br2"}


def gid_text(address):
    """How the events write the GID of an address."""
    parsed = ipaddress.ip_address(address)
    return f"::ffff:{parsed}" if parsed.version == 4 else str(parsed)


def table_of(netdev):
    """The number of a netdev's own routing table."""
    return 101 + [name for name, _ in HCAS.values()].index(netdev)


def gids(device):
    """{index: (address, netdev)} of a device's GID table; rxe has 1024 places, what is in use comes first."""
    found = {}
    port = f"/sys/class/infiniband/{device}/ports/1"
    for index in range(32):
        raw = ipaddress.IPv6Address(read(f"{port}/gids/{index}"))
        if int(raw) == 0:
            continue
        found[index] = (str(raw.ipv4_mapped or raw), read(f"{port}/gid_attrs/ndevs/{index}"))
    return found


def gid_index(device, address):
    """Waits for the address in the GID table, since the kernel updates it from a work queue."""
    address = str(ipaddress.ip_address(address))

    def look():
        return [index for index, (own, _) in gids(device).items() if own == address]

    return wait_for(f"GID {address} of {device}", look)[0]


def state(device):
    return read(f"/sys/class/infiniband/{device}/ports/1/state").split()[-1]


def wait_state(device, wanted):
    wait_for(f"{device} {wanted}", lambda: state(device) == wanted)


def own_rules(netdev):
    """Lines that make traffic leave by the netdev's own table, or not at all, and come in at the netdev."""
    table = table_of(netdev)
    return [f"rule add pref {table} iif {netdev} lookup local", f"rule add pref {100 + table} oif {netdev} lookup {table}",
            f"rule add pref {200 + table} oif {netdev} unreachable"]


def own_routes(netdev, address):
    """Lines for an address and its subnet in the netdev's own table. The kernel drops them with the address or the link."""
    own = ipaddress.ip_interface(address)
    where = f"dev {netdev} table {table_of(netdev)}"
    return [f"route replace {own.network} src {own.ip} {where}", f"route replace local {own.ip} {where}"]


def strict(netdev):
    """ARP and source checks as on hosts that have one NIC in a subnet."""
    for name, value in (("rp_filter", 0), ("accept_local", 1), ("arp_ignore", 1), ("arp_announce", 2)):
        write(f"/proc/sys/net/ipv4/conf/{netdev}/{name}", value)


def bond_lines(bond, mode, *slaves):
    lines = [f"link add {bond} type bond mode {mode} miimon 50"]
    for slave in slaves:
        lines += [f"link set {slave} down", f"link set {slave} master {bond}"]
    return lines + [f"link set {bond} up"]


def plug(bridges):
    """Veths, each with its far end, p<netdev>, as a port of a bridge in sw: {netdev: bridge}."""
    ip(*(f"link add {netdev} type veth peer name p{netdev} netns sw" for netdev in bridges))
    ip(*(line for netdev, bridge in bridges.items() for line in (f"link set p{netdev} master {bridge}", f"link set p{netdev} up")), netns="sw")


def add_switch(*bridges):
    """The namespace sw, with these bridges."""
    run("ip", "netns", "add", "sw")
    ip("link set lo up", *(f"link add {name} type bridge" for name in bridges),
       *(f"link set {name} up" for name in bridges), netns="sw")


def put_behind(netdev, bridge):
    """The netdev becomes a port of the bridge, and a veth that is plugged in there too takes its name."""
    ip(f"link set {netdev} netns sw name w{netdev}")
    ip(f"link set w{netdev} master {bridge}", f"link set w{netdev} up", netns="sw")
    plug({netdev: bridge})


def add_router(addresses):
    """A namespace that forwards between bridges, with an address in each ({bridge: address}). Who has no route by it doesn't use it."""
    run("ip", "netns", "add", "router")
    for bridge in addresses:
        ip(f"link add {bridge} netns router type veth peer name r{bridge} netns sw")
        ip(f"link set r{bridge} master {bridge}", f"link set r{bridge} up", netns="sw")
    ip(*(f"addr add {address} dev {bridge}" for bridge, address in addresses.items()),
       *(f"link set {bridge} up" for bridge in addresses), netns="router")
    run("ip", "netns", "exec", "router", "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")


def add_hca(device, netdev):
    run("rdma", "link", "add", device, "type", "rxe", "netdev", netdev)
    place(device)


def remove_hca(device):
    run("rdma", "link", "delete", device)
    run("rm", "-rf", f"{PLACES}/{device}")


def place(device):
    """A device path in sysfs (one of this machine's PCI devices), which rxe lacks, NCCL's topology search wants, and NCCL
    2.20 to 2.23 crash without."""
    free = sorted(os.listdir("/sys/bus/pci/devices"))[2:]
    taken = {os.path.basename(os.path.realpath(f"{PLACES}/{name}/device")) for name in os.listdir(PLACES)}
    free = [name for name in free if name not in taken]
    real = os.path.realpath(f"/sys/devices/virtual/infiniband/{device}")
    os.mkdir(f"{PLACES}/{device}")
    for name in os.listdir(real):
        os.symlink(f"{real}/{name}", f"{PLACES}/{device}/{name}")
    os.symlink(os.path.realpath(f"/sys/bus/pci/devices/{free[0]}"), f"{PLACES}/{device}/device")


def forget_neighbours():
    """As if the hosts had never talked: what a scenario left behind must not help or hinder the next."""
    ip("neigh flush all")


def greet(netdev, address):
    """Resolves a neighbour, so that a loaded machine's slow ARP answer cannot be taken for a fault."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, netdev.encode())

        def known():
            probe.sendto(b"", (address, 9))
            return "lladdr" in run("ip", "neigh", "show", address, "dev", netdev)

        wait_for(f"{address} by {netdev}", known)


def add_hcas():
    """The devices of HCAS, each with its PCI place, ready for use."""
    os.mkdir(PLACES)
    for device, (netdev, _) in HCAS.items():
        add_hca(device, netdev)
    run("mount", "--bind", PLACES, SYSFS)
    for device, (_, address) in HCAS.items():
        wait_state(device, "ACTIVE")
        gid_index(device, address.split("/")[0])


def build():
    """All of it, once."""
    add_switch(*sorted(set(BRIDGES.values())))
    write("/proc/sys/net/ipv4/conf/all/rp_filter", 0)
    # Neighbours stay known until a scenario forgets them: healthy runs must not wait for ARP now and then.
    write("/proc/sys/net/ipv4/neigh/default/base_reachable_time_ms", 3600000)
    plug(BRIDGES)
    for bond, (mode, *slaves) in BONDS.items():
        ip(*bond_lines(bond, mode, *slaves))
    ip("rule add pref 1000 lookup local", "rule del pref 0")  # local after the rules of the netdevs
    lines = []
    for netdev, address in HCAS.values():
        strict(netdev)
        lines += [f"link set {netdev} up", f"addr add {address} dev {netdev} noprefixroute"]
        lines += [*own_rules(netdev), *own_routes(netdev, address)]
    ip(*lines)
    six = ["rule add pref 1000 lookup local", "rule del pref 0"]
    run("ip", "-6", "-batch", "-", text="\n".join(six + [line for name, _ in HCAS.values() for line in own_rules(name)]) + "\n")
    add_hcas()
