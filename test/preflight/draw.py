"""Allocations drawn from a seed: nodes with HCAs, GPUs, addresses and variables, and what is wrong with one of them.

The truth is written down here, before anything runs; nothing in this file knows what `preflight` says.
"""
import dataclasses
import ipaddress
import random
import re
import typing

LEAVE, MEND, NOTE = "leave out", "mend", "note"


class Dice:
    """Chance that is the same with every Python: only random() is promised to be."""

    def __init__(self, *seed):
        self.random = random.Random("/".join(map(str, seed))).random

    def below(self, most):
        return int(self.random() * most)

    def between(self, low, high):
        return low + self.below(high - low + 1)

    def percent(self, chance):
        return self.below(100) < chance

    def of(self, some):
        some = list(some)
        return some[self.below(len(some))]

    def shuffled(self, some):
        left = list(some)
        return [left.pop(self.below(len(left))) for _ in range(len(left))]


@dataclasses.dataclass
class Hca:
    name: str
    pci: str
    parent: str
    numa: int
    netdev: str = ""  # Ethernet
    address: str = ""
    rail: int = -1  # -1: no rail
    keys: dict = dataclasses.field(default_factory=dict)  # as the scenario has them

    @property
    def subnet(self):
        return str(ipaddress.ip_interface(self.address).network)


@dataclasses.dataclass
class Node:
    name: str
    number: int
    hcas: list = dataclasses.field(default_factory=list)
    gpus: list = dataclasses.field(default_factory=list)  # (pci, parent)
    front: dict = dataclasses.field(default_factory=dict)  # the front end's netdev, where there is one
    netdev_mtu: dict = dataclasses.field(default_factory=dict)
    sysfs: dict = dataclasses.field(default_factory=dict)
    variables: dict = dataclasses.field(default_factory=dict)
    memlock: int = 0  # bytes; 0: as this process has it
    locks_all: bool = True  # may keep CAP_IPC_LOCK
    nccl: str = ""
    kernel: str = ""  # in place of this machine's

    def hca_of(self, rail):
        return next(hca for hca in self.hcas if hca.rail == rail)

    @property
    def rails(self):
        return [hca for hca in self.hcas if hca.rail >= 0]


@dataclasses.dataclass
class Truth:
    kind: str
    words: str
    guilty: str = ""  # a node
    weights: tuple = ()  # of the first finding; none: nothing is wrong
    hcas: tuple = ()  # of these the first finding names one
    subject: str = ""  # what the verdict names beside the node, as a pattern
    values: tuple = ()  # what the first finding's text holds: patterns
    tie: bool = False  # two nodes, and nothing tells which of them is right
    may_accuse_alone: bool = False  # a tie for who compares nodes; the guilty's own other rails tell more
    may_be_silent: bool = False
    notes: bool = False  # there may be notes
    touched: int = 1  # HCAs that are not as they should be

    @property
    def go(self):
        return not set(self.weights) & {LEAVE, MEND}


@dataclasses.dataclass
class Allocation:
    seed: typing.Any
    fabric: str  # "rails", "leaves", "racks", "flat" or "infiniband"
    rails: int
    gpus: int
    speed: int  # Mbit/s
    extra: str
    naming: str
    nodes: list = dataclasses.field(default_factory=list)
    routes: list = dataclasses.field(default_factory=list)
    truth: typing.Any = None
    stale: typing.Any = None  # (number of a node, the node as it was): it is there twice

    @property
    def numbered(self):
        """By the order in which the kernel found them."""
        return self.naming in ("mlx5_{k}", "mlx5_ib{k}", "bnxt_re{k}")

    @property
    def ethernet(self):
        return self.fabric != "infiniband"

    def node(self, name):
        return next(node for node in self.nodes if node.name == name)


# ---- the shape

NODE_NAMES = ("node{}", "gpu-a{:02}", "dgx-{:03}", "h{}r7", "ip-10-0-3-{}", "n{:04}", "rack7-gpu{}", "GPU{:02}-b")
ADDRESSES = ("10.{net}.{rail}.{host}/24", "192.168.{rail10}.{host}/24", "10.{net_rail}.0.{host}/16", "172.{rail16}.4.{host}/22")


def draw_shape(dice, nodes):
    fabric = dice.of(["rails"] * 5 + ["leaves"] * 3 + ["flat"] * 2 + ["infiniband"] * 4 + (["racks"] if nodes >= 4 and nodes % 2 == 0 else []))
    rails = dice.of([1, 2, 2, 4, 4, 8, 8, 8])
    if fabric == "infiniband":
        naming = dice.of(["mlx5_{k}", "mlx5_{k}", "mlx5_ib{k}", "ibp{bus}s0", "dgx"])
    else:
        naming = dice.of(["mlx5_{k}", "mlx5_{k}", "rocep{bus}s0", "bnxt_re{k}", "rdma{k}"])
    if naming == "dgx" and rails != 8:
        naming = "mlx5_{k}"
    extras = ["none", "none", "netdev", "netdev", "bond", "bond HCA", "bond HCA", "management HCA"]
    if naming == "mlx5_{k}" and rails <= 4:
        extras += ["second ports"]
    speed = dice.of([100000, 200000, 400000, 400000])
    return Allocation(seed=None, fabric=fabric, rails=rails, gpus=dice.of([0, rails, rails, 8, 8, max(1, rails // 2)]), speed=speed,
                      extra=dice.of(extras), naming=naming)


def draw_nodes(one, dice, count):
    pattern, first = dice.of(NODE_NAMES), dice.between(0, 95)
    base = dice.between(1, 90)
    plan = dice.of(ADDRESSES)
    net = dice.between(20, 200)
    # In racks of two and more, each with leaf switches of its own.
    rack_of = (lambda h: h * 2 // count) if one.fabric == "racks" else (lambda h: 0)
    link_31 = dice.percent(50)
    switches = dice.percent(70)  # a PCI switch joins GPU and HCA; else all are at the root, as in a virtual machine
    bus_base = dice.between(1, 12)
    netdevs = dice.of(("ens{n}np0", "enp{bus}s0np0", "eth{k1}", "rdma_{k}"))
    if one.naming == "rdma{k}" and netdevs == "rdma_{k}":
        netdevs = "ens{n}np0"
    firmware = dice.of(("28.39.1002", "28.43.2026"))
    driver = dice.of(("", "550.90.07", "570.124.06")) if one.gpus else ""
    numbers = dice.shuffled(range(count)) if dice.percent(30) else list(range(count))
    for h in numbers:
        node = Node(name=pattern.format(first + h), number=h)
        for k in range(one.rails):
            node.hcas.append(make_rail(one, h, k, switches, bus_base, netdevs))
            hca = node.hcas[-1]
            hca.keys["firmware"] = firmware
            if not one.ethernet:
                hca.keys["link_layer"] = "infiniband"
                hca.netdev = ""
            elif one.fabric == "rails":
                hca.address = plan.format(net=net, rail=k, rail10=k + 10, net_rail=net + k, rail16=16 + k, host=base + h)
            elif one.fabric == "racks":
                hca.address = f"10.{net}.{rack_of(h) * 16 + k}.{base + h}/24"
            elif one.fabric == "flat":
                hca.address = f"10.{net}.{base}.{h * one.rails + k + 1}/16"
            elif link_31:
                hca.address = f"10.{net}.{k}.{h * 2}/31"
            else:
                hca.address = f"10.{net}.{h * one.rails + k}.{base}/24"
        node.gpus = [place_of_gpu(one, g, switches) for g in range(one.gpus)]
        if driver:
            node.sysfs["module/nvidia/version"] = driver
            node.sysfs["module/nvidia_peermem/version"] = driver
            node.sysfs["kernel/mm/memory_peers/nv_mem/version"] = driver
        add_extra(one, node, h, switches)
        one.nodes.append(node)
    if one.fabric in ("leaves", "racks"):
        one.routes = [f"10.{net}.0.0/16"]


def make_rail(one, h, k, switches, bus_base, netdevs):
    if switches:
        pci, parent = f"0000:{k + 1:x}3:00.0", f"0000:{k + 1:x}0:01.0/0000:{k + 1:x}1:00.0/0000:{k + 1:x}2:00.0"
    else:
        pci, parent = f"{1000 + k}:01:00.0", f"{1000 + k}:00:01.0"
    bus = bus_base + 16 * k
    places = {"k": k, "k1": k + 1, "n": 10 + 2 * k, "bus": bus}
    dgx = (0, 3, 4, 5, 6, 9, 10, 11)
    number = 2 * k if one.extra == "second ports" else k
    name = f"mlx5_{dgx[k]}" if one.naming == "dgx" else one.naming.format(k=number, bus=bus)
    hca = Hca(name=name, pci=pci, parent=parent, numa=int(one.rails > 1 and k >= one.rails // 2), rail=k)
    hca.netdev = netdevs.format(**places)
    hca.keys = {"speed_mbps": one.speed, "mtu": 4096}
    if one.naming.startswith("bnxt"):
        hca.keys["look"] = "bnxt"
    return hca


def place_of_gpu(one, g, switches):
    if not switches:
        return f"{3000 + g}:01:00.0", f"{3000 + g}:00:01.0"
    rail = g * one.rails // one.gpus if one.gpus >= one.rails else g
    slot = g - min(i for i in range(one.gpus) if (i * one.rails // one.gpus if one.gpus >= one.rails else i) == rail)
    return f"0000:{rail + 1:x}{4 + slot:x}:00.0", f"0000:{rail + 1:x}0:01.0/0000:{rail + 1:x}1:00.0/0000:{rail + 1:x}2:{1 + slot:02x}.0"


def add_extra(one, node, h, switches):
    """What a node has beside its rails: the front end, as an interface alone or as an HCA too; ports without a cable."""
    if one.extra in ("netdev", "management HCA"):
        node.front = {"name": "eno1", "speed_mbps": 25000, "address": f"10.8.0.{h + 11}/16", "gateway": "10.8.0.1"}
    if one.extra in ("bond", "bond HCA"):
        node.front = {"name": "bond0", "kind": "bond", "slaves": ["eno1", "eno2"], "speed_mbps": 50000, "address": f"10.8.0.{h + 11}/16",
                      "gateway": "10.8.0.1"}
    place = {"pci": "0000:a1:00.0", "parent": "0000:a0:01.0", "numa": 0}
    if one.extra == "bond HCA":
        node.hcas.append(Hca(name="mlx5_bond_0", netdev="bond0", keys={"speed_mbps": 25000}, **place))
    if one.extra == "management HCA":
        names = {"mlx5_{k}": f"mlx5_{one.rails}", "mlx5_ib{k}": "mlx5_an0", "dgx": "mlx5_2", "bnxt_re{k}": f"bnxt_re{one.rails}"}
        name = names.get(one.naming, "rocep161s0")
        keys = {"speed_mbps": 25000} | ({"look": "bnxt"} if name.startswith("bnxt") else {})
        node.hcas.append(Hca(name=name, netdev="eno1", keys=keys, **place))
    if one.extra == "second ports":
        for hca in list(node.hcas):
            keys = {"speed_mbps": one.speed, "state": "down", "phys_state": "disabled"} | {
                key: value for key, value in hca.keys.items() if key == "link_layer"}
            node.hcas.append(Hca(name=f"mlx5_{2 * hca.rail + 1}", pci=hca.pci[:-1] + "1", parent=hca.parent, numa=hca.numa,
                                 netdev=f"second{hca.rail}" if one.ethernet else "", keys=keys))


def draw_variables(one, dice):
    """What the job's script sets on all nodes."""
    both = {}
    rails = one.nodes[0].rails
    # Whoever has an HCA that is no rail names the rails: else NCCL takes it too.
    if one.extra in ("bond HCA", "management HCA") or dice.percent(25):
        both["NCCL_IB_HCA"] = "=" + ",".join(hca.name for hca in rails)
    if one.ethernet and dice.percent(30):
        both["NCCL_IB_TC"] = dice.of(("106", "41"))
    if one.ethernet and dice.percent(20):
        both["NCCL_IB_GID_INDEX"] = "3"
    if dice.percent(30):
        both["NCCL_DEBUG"] = dice.of(("INFO", "WARN"))
    if dice.percent(20):
        both["NCCL_IB_QPS_PER_CONNECTION"] = dice.of(("2", "4"))
    if dice.percent(15):
        both["NCCL_IB_TIMEOUT"] = "22"
    if one.nodes[0].front and dice.percent(40):
        both["NCCL_SOCKET_IFNAME"] = one.nodes[0].front["name"]
    for node in one.nodes:
        node.variables = dict(both)


# ---- what goes wrong

def gbit(mbps):
    return mbps // 1000


def word(text):
    """It stands for itself: 10.1.0.1 is not in 10.1.0.11."""
    return rf"(?<![\w.]){re.escape(str(text))}(?![\w])(?!\.\d)"


def either(*texts):
    return "|".join(word(text) for text in texts)


def about(kind, node, hca=None, words="", **more):
    truth = {"subject": word(hca.name) if hca else "", "hcas": (hca.name,) if hca else (), "weights": (LEAVE,)} | more
    return Truth(kind=kind, words=f"{node.name}: " + (f"{hca.name} {words}" if hca else words), guilty=node.name, **truth)


def subnet_truth(kind, one, node, hca, right, words, **more):
    """`right` is the subnet that the other nodes have there."""
    address = hca.address.split("/")[0]
    return about(kind, node, hca, words, values=(either(hca.subnet, address, hca.address), either(right)), tie=True,
                 may_accuse_alone=one.rails >= 3, **more)


def foreign_address(one, node, hca, dice):
    right = hca.subnet
    bits = hca.address.split("/")[1]
    hca.address = dice.of(("10.9.{}.{}", "172.29.{}.{}", "192.168.{}.{}")).format(77 if bits == "24" else 76, 30 + node.number) + "/" + bits
    return subnet_truth("foreign address", one, node, hca, right, f"has {hca.address} in place of {right}")


def narrow_mask(one, node, hca, dice):
    right = ipaddress.ip_network(hca.subnet)
    # In the upper half, where the others are not.
    hca.address = f"{right[right.num_addresses // 2 + 3 + node.number]}/{right.prefixlen + 1}"
    return subnet_truth("narrow mask", one, node, hca, str(right), f"has {hca.address} in {right}")


def wide_mask(one, node, hca, dice):
    right = ipaddress.ip_network(hca.subnet)
    hca.address = f"{hca.address.split('/')[0]}/{dice.of((8, 12)) if right.prefixlen < 24 else dice.of((16, 20))}"
    return subnet_truth("wide mask", one, node, hca, str(right), f"has {hca.address} in {right}")


def swapped(one, node, hca, dice):
    other = dice.of([rail for rail in node.rails if rail is not hca])
    hca.address, other.address = other.address, hca.address
    # Each of the two is in the other's subnet.
    return Truth("rails swapped", f"{node.name}: the addresses of {hca.name} and {other.name} are swapped", node.name, (LEAVE,),
                 (hca.name, other.name), either(hca.name, other.name), (either(hca.subnet, other.name), either(other.subnet, hca.name)),
                 tie=True, touched=2)


def natural(hca):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", hca.name)]


def numbering(one, node, hca, dice):
    rails = node.rails
    places = list(range(len(rails)))
    if len(rails) > 2 and dice.percent(60):
        shift = dice.between(1, len(rails) - 1)
        places = places[shift:] + places[:shift]
    else:
        other = dice.of([k for k in places if k != hca.rail])
        places[hca.rail], places[other] = other, hca.rail
    before = {rail.name: rail.subnet for rail in rails}
    names = list(before)
    moved = [k for k, place in enumerate(places) if k != place]
    for k, place in enumerate(places):
        rails[k].name = names[place]
    node.hcas.sort(key=natural)
    wrong = {rails[k].name: (rails[k].subnet, before[rails[k].name]) for k in moved}
    return renumbered("numbering", one, node, wrong, f"the HCAs are numbered otherwise, so that {rails[moved[0]].name} is in rail {moved[0]}")


def renumbered(kind, one, node, wrong, words):
    """wrong: {HCA: (its subnet, the others')}. Any of these may be named; or the order by itself, with HCAs for values."""
    told = "|".join(f"(?=.*({either(one_is)}))(?=.*({either(others)}))" for one_is, others in wrong.values())
    names = either(*wrong)
    return Truth(kind, f"{node.name}: {words}", node.name, (LEAVE,), tuple(wrong), rf"{names}|number|order",
                 (rf"(?s)^(?:{told}|(?=.*(number|order|name)).*(?:{names}).*(?:{names}))",), tie=True, may_accuse_alone=True, touched=len(wrong))


def shifted(one, node, hca, dice):
    """The management HCA was found first and took number 0."""
    rails, (management,) = node.rails, [one for one in node.hcas if one.rail < 0]
    before = {rail.name: rail.subnet for rail in rails}
    names = [rail.name for rail in rails] + [management.name]
    management.name = names[0]
    for k, rail in enumerate(rails):
        rail.name = names[k + 1]
    node.hcas = [management] + rails
    front = str(ipaddress.ip_interface(node.front["address"]).network)
    wrong = {rail.name: (rail.subnet, before.get(rail.name, front)) for rail in rails} | {management.name: (front, before[management.name])}
    truth = renumbered("numbering shifted", one, node, wrong, f"{names[0]} is the management HCA, and the rails' names are one on")
    speeds = rf"^(?=.*{word(gbit(one.speed))})(?=.*{word(25)})"  # of number 0
    return dataclasses.replace(truth, values=(f"{truth.values[0]}|{speeds}",))


def half_speed(one, node, hca, dice):
    hca.keys["speed_mbps"] = one.speed // 2
    return about("half speed", node, hca, f"runs at {gbit(one.speed // 2)} Gbit/s of {gbit(one.speed)}",
                 values=(word(gbit(one.speed // 2)), word(gbit(one.speed))))


def port_down(one, node, hca, dice):
    hca.keys |= {"state": "down", "phys_state": dice.of(("disabled", "polling"))}
    return about("port down", node, hca, f"is DOWN ({hca.keys['phys_state']})", values=("(?i)down|polling|disabled",))


def port_init(one, node, hca, dice):
    """InfiniBand without a subnet manager, or a link that doesn't come up."""
    if one.ethernet:
        hca.keys |= {"phys_state": dice.of(("polling", "training"))}
        return about("port in INIT", node, hca, f"is ACTIVE without a link ({hca.keys['phys_state']})", values=("(?i)polling|training",))
    hca.keys |= {"state": dice.of(("init", "init", "armed"))}
    return about("port in INIT", node, hca, f"is in {hca.keys['state'].upper()}", values=("(?i)" + hca.keys["state"],))


def small_mtu(one, node, hca, dice):
    small = 1024 if one.ethernet else 2048
    hca.keys["mtu"] = small
    if one.ethernet:
        node.netdev_mtu[hca.netdev] = 1500
    return about("small MTU", node, hca, f"has an MTU of {small} in place of 4096", values=(either(small, 1500), either(4096, 9000)), tie=True,
                 may_accuse_alone=True)


def no_gid(one, node, hca, dice):
    hca.keys["gids"] = [{"index": 0, "gid": "::", "type": "v2"}]  # an empty slot, as all the others
    return about("no GID", node, hca, "has no GID", values=("(?i)no GID|empty|none|without|lacks",))


def link_local(one, node, hca, dice):
    subnet, hca.address = hca.subnet, ""
    return about("link-local only", node, hca, "has no address, and so a link-local GID alone",
                 values=("(?i)link-local|fe80", rf"{either(subnet)}|(?i:ipv4|routable|address|subnet)"))


def roce_v1(one, node, hca, dice):
    address = hca.address.split("/")[0]
    hca.keys["gids"] = [{"index": 0, "gid": f"fe80::5e:{node.number + 1}:{hca.rail + 1}", "type": "v1"},
                        {"index": 1, "gid": f"::ffff:{address}", "type": "v1"}]
    return about("RoCE v1 only", node, hca, "has GIDs of RoCE v1 alone", values=("v1", "v2"))


def link_layer(one, node, hca, dice):
    if one.ethernet:
        hca.keys["link_layer"] = "infiniband"
        hca.netdev = hca.address = ""
    else:
        del hca.keys["link_layer"]
        hca.netdev = f"ens{70 + hca.rail}np0"
        hca.address = f"10.99.{hca.rail}.{node.number + 1}/24"
    return about("link layer", node, hca, "is Ethernet" if hca.netdev else "is InfiniBand", values=("InfiniBand", "Ethernet|RoCE"), tie=True,
                 may_accuse_alone=True)


def hca_missing(one, node, hca, dice):
    node.hcas.remove(hca)
    return about("HCA missing", node, hca, "is not there", values=(word(hca.name),))


def hca_missing_renumbered(one, node, hca, dice):
    """The kernel gives the later ones its number and the next: what a driver that failed for one card leaves."""
    rails = node.rails
    names = [rail.name for rail in rails]
    node.hcas.remove(hca)
    for rail, name in zip(node.rails, names):
        rail.name = name
    truth = about("HCA missing, renumbered", node, None, f"rail {hca.rail} is not there, and later HCAs have the names before theirs")
    # By names the last is the one that is missing; by subnets those from there on are elsewhere. Or it is one too few, whichever.
    return dataclasses.replace(truth, hcas=("", *names[hca.rail:]), subject=either(*names[hca.rail:]) + "|fewer|missing|lacks", values=(),
                               touched=len(names) - hca.rail)


def narrow_link(one, node, hca, dice):
    hca.keys |= {"pcie_max_width": 16, "pcie_width": 8}
    return about("narrow PCIe link", node, hca, "has 8 PCIe lanes of 16", values=(r"(?<!\d)x?8(?!\d)", r"(?<!\d)x?16(?!\d)"))


def slow_link(one, node, hca, dice):
    hca.keys |= {"pcie_max_speed": "32.0 GT/s PCIe", "pcie_speed": "16.0 GT/s PCIe"}
    return about("slow PCIe link", node, hca, "runs at 16 GT/s of 32",
                 values=(r"(?<!\d)16(\.0)? ?GT|Gen ?4", r"(?<!\d)32(\.0)? ?GT|(?<!\d)32\b|Gen ?5"))


def narrow_slot(one, node, hca, dice):
    hca.keys |= {"pcie_max_width": 8}
    return about("narrow slot", node, hca, "is in a slot of 8 lanes", values=(r"(?<!\d)x?8(?!\d)", r"(?<!\d)x?16(?!\d)"))


def gpu_missing(one, node, hca, dice):
    del node.gpus[dice.below(len(node.gpus))]
    left = len(node.gpus)
    in_words = {0: r"|\bno\b", 1: r"|\bone\b"}
    return about("GPU missing", node, None, f"has {left} GPUs of {left + 1}", subject="GPU",
                 values=tuple(word(count) + in_words.get(count, "") for count in (left, left + 1)))


def variable(name, *pairs):
    """pairs: (what the others have, what this node has); None: not set."""

    def plant(one, node, hca, dice):
        others, own = dice.of([pair for pair in pairs if pair[0] != pair[1]])
        pick = lambda value: value(one, node) if callable(value) else value
        return set_apart(one, node, name, pick(others), pick(own))

    return plant


def set_apart(one, node, name, others, own):
    for each in one.nodes:
        value = own if each is node else others
        each.variables.pop(name, None)
        if value is not None:
            each.variables[name] = value
    unset = r"(?i:not set|unset|isn't set|not have|no value|without|lacks|nothing|none|only)"
    values = tuple(unset if value is None else re.escape(value) for value in (own, others))
    words = f"{node.name}: {name} is {own or 'not set'}, and elsewhere {others or 'not set'}"
    return Truth(f"variable {name}", words, node.name, (MEND,), (), word(name), (word(name),) + values, tie=True, may_accuse_alone=True)


def named_rails(one, node):
    return "=" + ",".join(rail.name for rail in node.rails)


def half_of_rails(one, node):
    return "=" + ",".join(rail.name for rail in node.rails[:max(1, one.rails // 2)])


def partition(one, node, hca, dice):
    if dice.percent(50):  # the second key is there, and is another partition
        for each in one.nodes:
            for rail in each.rails:
                rail.keys["pkeys"] = ["0xffff", "0x8001"]
    return set_apart(one, node, "NCCL_IB_PKEY", dice.of((None, "0")), "1")


def no_rdma(one, node, hca, dice):
    name, value = dice.of((("NCCL_IB_DISABLE", "1"), ("NCCL_NET", "Socket")))
    truth = set_apart(one, node, name, None, value)
    return dataclasses.replace(truth, kind="variable: TCP")


def another_variable(one, node, hca, dice):
    name, others, own = dice.of((("NCCL_PROTO", "Simple", "LL"), ("NCCL_PROTO", None, "Simple"), ("NCCL_IB_SL", None, "3"), ("NCCL_IB_SL", "1", None),
                                 ("NCCL_CROSS_NIC", "0", "1"), ("NCCL_IB_RETRY_CNT", "7", "3"), ("NCCL_MIN_NCHANNELS", "16", "4"),
                                 ("NCCL_P2P_NET_CHUNKSIZE", None, "524288"), ("NCCL_IB_SPLIT_DATA_ON_QPS", "1", "0")))
    return dataclasses.replace(set_apart(one, node, name, others, own), kind="variable: another")


def locked_memory(one, node, hca, dice):
    for each in one.nodes:
        each.locks_all = False
    node.memlock = 65536
    # Which of the two it is the page leaves open.
    return about("locked memory", node, None, "may lock 64 KiB", subject="(?i)lock|LIM-MEMLOCK", weights=(LEAVE, MEND), values=("64 ?KiB|65536",))


def locked_memory_by_right(one, node, hca, dice):
    """Who has CAP_IPC_LOCK is under no limit."""
    node.memlock = 65536
    return about("locked memory with CAP_IPC_LOCK", node, None, "has a limit of 64 KiB, and CAP_IPC_LOCK", weights=(NOTE,), values=("(?i)lock",),
                 may_be_silent=True)


def driver(one, node, hca, dice):
    versions = ("550.90.07", "570.124.06")
    for each in one.nodes:
        for file in ("nvidia", "nvidia_peermem"):
            each.sysfs[f"module/{file}/version"] = versions[each is node]
        each.sysfs["kernel/mm/memory_peers/nv_mem/version"] = versions[0]
    return about("driver", node, None, f"has driver {versions[1]}, the others {versions[0]}", weights=(NOTE,), values=tuple(map(word, versions)),
                 tie=True, may_accuse_alone=True)


def kernel(one, node, hca, dice):
    kernels = ("6.8.0-51-generic", "5.15.0-1042-nvidia")
    for each in one.nodes:
        each.kernel = kernels[each is node]
    return about("kernel", node, None, f"has kernel {kernels[1]}, the others {kernels[0]}", weights=(NOTE,), values=tuple(map(re.escape, kernels)),
                 tie=True, may_accuse_alone=True)


def release(one, node, hca, dice):
    own, others = dice.of((("2.27.3", "2.28.9"), ("2.28.9", "2.26.2"), ("2.21.5", "2.23.4")))
    for each in one.nodes:
        each.nccl = own if each is node else others
    # NCCL itself refuses such a job. Which of the two it is the page leaves open.
    return about("NCCL's release", node, None, f"has NCCL {own}, the others {others}", subject="NCCL", weights=(LEAVE, MEND),
                 values=(word(own), word(others)), tie=True, may_accuse_alone=True)


def no_gpudirect(one, node, hca, dice):
    for each in one.nodes:
        each.sysfs |= {"module/nvidia/version": "550.90.07", "module/nvidia_peermem/version": "550.90.07",
                       "kernel/mm/memory_peers/nv_mem/version": "550.90.07"}
        for one_hca in each.hcas:
            one_hca.keys["dmabuf_errno"] = "EOPNOTSUPP"
    del node.sysfs["module/nvidia_peermem/version"]
    del node.sysfs["kernel/mm/memory_peers/nv_mem/version"]
    return about("no GPUDirect", node, None, "lacks nvidia_peermem", subject="(?i)GPUDirect|peermem|GDR", weights=(LEAVE, MEND),
                 values=("(?i)GPUDirect|peermem",))


def all_down(one, node, hca, dice):
    for rail in node.rails:
        rail.keys |= {"state": "down", "phys_state": "polling"}
    return about("all ports down", node, None, "all its rails are DOWN", values=("(?i)down|no HCA|no network|none|TCP",), touched=one.rails,
                 subject="(?i)down|no network|no HCA|none|TCP|" + either(*[rail.name for rail in node.rails]))


def no_hca(one, node, hca, dice):
    node.hcas = [other for other in node.hcas if other.rail < 0]
    return about("no HCA", node, None, "has none of its HCAs", subject="(?i)HCA|RDMA|network|InfiniBand", values=("(?i)HCA|RDMA|network|TCP",),
                 touched=one.rails)


def foreign_prefix(one, node, hca, dice):
    hca.keys["subnet_prefix"] = "fec0:0:0:7::"
    return about("another InfiniBand subnet", node, hca, "has the subnet prefix fec0:0:0:7::", values=("fec0", "fe80"), tie=True,
                 may_accuse_alone=True)


def unopenable(one, node, hca, dice):
    hca.keys["open_errno"] = dice.of(("EACCES", "EIO", "ENODEV"))
    return about("HCA can't be opened", node, hca, f"can't be opened ({hca.keys['open_errno']})",
                 values=("(?i)open|unusable|can't be used|unreadable",))


@dataclasses.dataclass
class Fault:
    name: str
    plant: typing.Callable
    fits: typing.Callable = lambda one: True


def with_gpus(one):
    return one.gpus > 0


def railed(one):
    return one.fabric in ("rails", "flat")


FAULTS = (
    Fault("foreign address", foreign_address, railed),
    Fault("narrow mask", narrow_mask, lambda one: one.fabric == "rails"),
    Fault("wide mask", wide_mask, lambda one: one.fabric == "rails"),
    Fault("rails swapped", swapped, lambda one: one.fabric == "rails" and one.rails > 1),
    Fault("numbering", numbering, lambda one: one.fabric == "rails" and one.rails > 1 and one.numbered and one.extra != "second ports"),
    Fault("numbering shifted", shifted, lambda one: one.fabric == "rails" and one.numbered and one.extra == "management HCA"),
    Fault("half speed", half_speed),
    Fault("port down", port_down),
    Fault("port in INIT", port_init),
    Fault("small MTU", small_mtu),
    Fault("no GID", no_gid, lambda one: one.ethernet),
    Fault("link-local only", link_local, lambda one: one.ethernet),
    Fault("RoCE v1 only", roce_v1, lambda one: one.ethernet),
    Fault("link layer", link_layer),
    Fault("HCA missing", hca_missing, lambda one: one.rails > 1),
    Fault("HCA missing, renumbered", hca_missing_renumbered,
          lambda one: one.fabric in ("rails", "infiniband") and one.rails > 1 and one.numbered and
          one.extra not in ("second ports", "management HCA")),
    Fault("narrow PCIe link", narrow_link),
    Fault("slow PCIe link", slow_link),
    Fault("narrow slot", narrow_slot),
    Fault("GPU missing", gpu_missing, with_gpus),
    Fault("NCCL_IB_TC", variable("NCCL_IB_TC", (None, "106"), ("106", None), ("106", "41")), lambda one: one.ethernet),
    Fault("NCCL_IB_QPS_PER_CONNECTION", variable("NCCL_IB_QPS_PER_CONNECTION", (None, "4"), ("4", None), ("4", "2"))),
    Fault("NCCL_IB_HCA", variable("NCCL_IB_HCA", (named_rails, half_of_rails), (None, half_of_rails), (named_rails, None)),
          lambda one: one.rails > 1),
    Fault("NCCL_IB_GID_INDEX", variable("NCCL_IB_GID_INDEX", ("3", "1"), (None, "1"), ("3", "2"), ("3", "7")), lambda one: one.ethernet),
    Fault("NCCL_IB_PKEY", partition, lambda one: not one.ethernet),
    Fault("NCCL_ALGO", variable("NCCL_ALGO", (None, "Tree"), ("Ring", None), ("Ring", "Tree"))),
    Fault("NCCL_IB_TIMEOUT", variable("NCCL_IB_TIMEOUT", (None, "14"), ("22", None), ("22", "18"))),
    Fault("variable: TCP", no_rdma),
    Fault("variable: another", another_variable),
    Fault("locked memory", locked_memory),
    Fault("locked memory with CAP_IPC_LOCK", locked_memory_by_right),
    Fault("driver", driver, with_gpus),
    Fault("kernel", kernel),
    Fault("NCCL's release", release, lambda one: not one.naming.startswith("bnxt")),  # 2.28.9 crashes where no HCA is mlx5
    Fault("no GPUDirect", no_gpudirect, lambda one: one.gpus > 0 and not one.naming.startswith("bnxt")),
    Fault("all ports down", all_down, lambda one: one.rails > 1),
    Fault("no HCA", no_hca),
    Fault("another InfiniBand subnet", foreign_prefix, lambda one: not one.ethernet),
    Fault("HCA can't be opened", unopenable),
)
FOUR = 40  # of each 52 faults are among four nodes
OTHERS = (2, 2, 2, 2, 3, 3, 5, 5, 6, 7, 8, 8)
ROUND = FOUR + len(OTHERS)
TIES = ("foreign address", "narrow mask", "rails swapped", "numbering", "small MTU")  # where two nodes can't tell: two of each round


def draw_fitting(dice, count, fits):
    for _ in range(1000):
        one = draw_shape(dice, count)
        if fits(one):
            draw_nodes(one, dice, count)
            draw_variables(one, dice)
            return one
    raise AssertionError("no shape fits")


def plant(one, fault, dice, node):
    return fault.plant(one, node, dice.of(node.rails), dice)


def draw_faulty(seed, number, only=""):
    """The number-th of a seed: each kind of fault is there before one is there twice."""
    place = number % ROUND
    count = 4 if place < FOUR else OTHERS[place - FOUR]
    dice = Dice(seed, number)
    name = only or (dice.of(TIES) if place in (FOUR, FOUR + 1) else "")
    at = place % len(FAULTS) if place < FOUR else dice.below(len(FAULTS))
    fault = next(fault for fault in FAULTS if fault.name == name) if name else FAULTS[at]
    one = draw_fitting(dice, count, fault.fits)
    one.truth = plant(one, fault, dice, dice.of(one.nodes))
    one.truth.tie = one.truth.tie and count == 2
    # What a script that sets an HCA's name says of one that is gone or another is a warning worth a note.
    one.truth.notes = True
    one.seed = (seed, number)
    draw_stale(one, dice)
    return one


OWN_VARIABLES = (("NCCL_DEBUG_FILE", "/tmp/nccl.{}.%p"), ("NCCL_HOSTID", "{}"), ("NCCL_TOPO_DUMP_FILE", "/tmp/{}.xml"))
HEALTHY = ("plain", "plain", "plain", "own variables", "two kinds", "unnamed extra")


def draw_healthy(seed, number):
    dice = Dice("healthy", seed, number)
    count = dice.of((2, 3, 4, 4, 4, 4, 5, 6, 8))
    kind = HEALTHY[number % len(HEALTHY)]
    if kind == "two kinds":
        count = dice.of((4, 4, 6))
    one = draw_fitting(dice, count, lambda one: kind != "unnamed extra" or one.extra in ("bond HCA", "management HCA"))
    one.truth = Truth(kind, f"healthy: {kind}")
    if kind == "own variables":  # a node's own by their nature
        for name, value in dice.shuffled(OWN_VARIABLES)[:2]:
            for node in one.nodes:
                node.variables[name] = value.format(node.name)
    if kind == "two kinds":
        for node in one.nodes:
            if node.number >= count // 2:
                for rail in node.rails:
                    rail.keys["speed_mbps"] = one.speed * 2
        one.truth.words += f", half of the nodes with {gbit(one.speed * 2)} Gbit/s"
        one.truth.notes = True
    if kind == "unnamed extra":  # NCCL takes the front end's HCA as well, on all nodes alike
        for node in one.nodes:
            node.variables.pop("NCCL_IB_HCA", None)
        one.truth.notes = True
    one.seed = (seed, number)
    draw_stale(one, dice)
    return one


def draw_stale(one, dice):
    """Of some nodes an older result lies before the one that counts: a port was down then."""
    if not dice.percent(12):
        return
    number = dice.below(len(one.nodes))
    node = one.nodes[number]
    if not node.rails:
        return
    old = dataclasses.replace(node, hcas=[dataclasses.replace(hca, keys=dict(hca.keys)) for hca in node.hcas])
    dice.of(old.rails).keys |= {"state": "down", "phys_state": "polling"}
    one.stale = (number, old)


# ---- as a scenario

def toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + " }"
    return f'"{value}"'


def table(name, keys):
    return [f"[[{name}]]"] + [f"{key} = {toml(value)}" for key, value in keys.items() if value != ""] + [""]


def host_of(one, node):
    lines = table("host", {"name": node.name, "nvswitch": len(node.gpus) > 1})
    if node.front:
        lines += table("host.netdev", node.front)
    for hca in node.hcas:
        if hca.netdev and hca.netdev != node.front.get("name"):
            lines += table("host.netdev", {"name": hca.netdev, "mtu": node.netdev_mtu.get(hca.netdev, 9000), "speed_mbps": hca.keys["speed_mbps"],
                                           "up": hca.keys.get("state", "active") == "active"})
    for hca in node.hcas:
        lines += table("host.hca", {key: getattr(hca, key) for key in ("name", "pci", "parent", "numa", "netdev", "address")} | hca.keys)
    for pci, parent in node.gpus:
        lines += table("host.gpu", {"pci": pci, "parent": parent})
    if node.sysfs:
        lines += ["[host.sysfs]"] + [f'"{path}" = "{text}"' for path, text in node.sysfs.items()] + [""]
    return lines


def scenario(one, nodes=None):
    lines = [f'description = "{one.truth.kind}"', ""]
    for node in nodes or one.nodes:
        lines += host_of(one, node)
    for network in one.routes:
        lines += table("route", {"from": network, "to": network})
    return "\n".join(lines)
