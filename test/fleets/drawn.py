#!/usr/bin/env python3
"""A node drawn at random, as a scenario, and what an expert says of it, known from the draw: drawn.py SEED prints both.

The verdict has the keys of verdicts.toml. Drawn is only what somebody who runs such clusters would be sure of from what the node
shows, or what docs/policy.md says stays undecided: then the verdict is that it is told, or that nothing is, and no list. Nothing here
weighs anything as the rules do: a node is told as a story, whose roles are known, and a comment says why they can be seen.
"""
import dataclasses
import random
import sys

SPEEDS = (25000, 50000, 100000, 200000, 400000)


@dataclasses.dataclass
class Port:
    """One function of a card; all have one port."""
    role: str
    pci: str
    parent: str
    numa: int
    link: str
    speed: int
    gpus: tuple = ()         # the numbers of those that are below its switch
    bond: bool = False       # over one
    enslaved: str = ""       # the bond that its interface is in, which is no RDMA device
    address: str = ""
    gateway: str = ""
    up: bool = True
    prefix: str = ""         # InfiniBand's
    mtu: int = 4096
    width: tuple = (16, 16)  # of its PCIe link: now, at most
    gts: tuple = (32, 32)
    physfn: str = ""
    elsewhere: bool = False
    card: int = 0            # not 0: the functions of one card have one number
    look: str = "mlx5"
    name: str = ""
    netdev: str = ""


@dataclasses.dataclass(frozen=True)
class Shape:
    """How GPUs and rails hang.

    switch: a switch for each rail, or each GPU with its rails; levels: the same, two such switches below another one; shared: several
    GPUs and as many rails below one switch; apart: as shared, but GPUs and rails on different switches below a third; second: a switch
    for each GPU, and a rail below every second; flat: everything on a root port of its own, as on Grace and in virtual machines.
    """
    layout: str
    gpus: int
    rails: int
    group: int = 1  # rails below one switch

    @property
    def beside(self):
        """Every GPU has a rail below its own switch: where a port is says what it is for."""
        return self.layout in ("switch", "levels", "shared")

    @property
    def own(self):
        return self.beside and self.rails >= self.gpus


    @property
    def of_planes(self):
        """A card of four functions, each of which is a rail: of one that is odd nobody who has few such cards is sure."""
        return self.layout == "switch" and self.group > 2


def shapes():
    found = []
    for gpus in (1, 2, 4, 8, 16):
        found += [Shape("switch", gpus, gpus * each, each) for each in (1, 2, 4) if gpus * each <= 16]
        found += [Shape("switch", gpus, gpus // several) for several in (2, 4) if gpus % several == 0]
        found += [Shape("levels", gpus, rails) for rails in (gpus, gpus // 2) if rails >= 2 and rails % 2 == 0]
        found += [Shape(layout, gpus, gpus, group) for layout in ("shared", "apart") for group in (2, 4) if gpus in (4, 8) and gpus >= group]
    found += [Shape("second", gpus, gpus // 2) for gpus in (8, 16)]
    found += [Shape("flat", gpus, rails) for gpus in (0, 1, 2, 4, 8, 16) for rails in (1, 2, 4, 8) if rails <= 2 * max(gpus, 4)]
    return found


SHAPES = shapes()


class Plan:
    """Where the rails have their addresses, and where nobody of them has."""

    def __init__(self, rng, rails):
        kind = rng.choice(["rail", "rail", "rail", "slash31", "tight31", "one", "wide", "octet", "v6", "v6 one"])
        a, b, host = rng.randrange(100, 180), rng.randrange(0, 90), rng.randrange(2, 120)
        far = [f"172.{rng.randrange(20, 31)}.{b}.{host}/24", f"192.168.{b}.{host}/24"]
        self.kind, self.routed, self.gateways = kind, "", None
        # The last is one more, numbered on.
        numbers = range(rails + 1)
        if kind == "rail":
            self.inside = [f"10.{a}.{b + i}.{host}/24" for i in numbers]
            far.append(f"10.{rng.randrange(1, 60)}.{b}.{host}/20")
        elif kind == "slash31":
            self.inside = [f"10.{a}.{b + i}.{host * 2}/31" for i in numbers]
            self.gateways = [f"10.{a}.{b + i}.{host * 2 + 1}" for i in numbers]
        elif kind == "tight31":
            self.inside = [f"10.{a}.{b}.{100 + i * 2}/31" for i in numbers]
            self.gateways = [f"10.{a}.{b}.{101 + i * 2}" for i in numbers]
        elif kind == "one":
            self.inside = [f"10.{a}.{b}.{100 + i}/24" for i in numbers]
        elif kind == "wide":
            self.inside = [f"10.{a + i}.0.{host}/16" for i in numbers]
        elif kind == "octet":  # The rails' subnets go on in the next second octet somewhere.
            first = 256 - rng.randrange(1, max(2, rails))
            self.inside = [f"10.{a + (first + i) // 256}.{(first + i) % 256}.{host}/24" for i in numbers]
        elif kind == "v6":
            self.inside = [f"fd00:{a}:{i + 1}::{host}/64" for i in numbers]
        else:
            self.inside = [f"fd00:{a}::{100 + i}/64" for i in numbers]
        self.v6 = kind.startswith("v6")
        if self.v6:
            far = [f"2401:db00:{b}::{host}/64"]
        self.more = self.inside.pop()
        self.outside = far
        if kind in ("rail", "slash31") and rng.random() < 0.4:
            self.routed = f"10.{a}.0.0/16"

    def other(self, rng):
        """A network that is no rail's; each call gives another."""
        return self.outside.pop(rng.randrange(len(self.outside)))


def gateway_of(address):
    if ":" in address:
        return address.split("::")[0] + "::ffff"
    return address.split("/")[0].rsplit(".", 1)[0] + ".1"


class Node:
    def __init__(self, rng):
        self.rng = rng
        self.rails, self.others, self.functions, self.idle = [], [], [], []
        self.gpus = {}  # number: (pci, parent, numa)
        self.netdevs = []  # that are no RDMA devices: (name, address, gateway, speed, whether it is a bond)
        self.environment = {}
        self.refused, self.flagged, self.down = {}, {}, {}  # ports, by identity: see say()
        self.listed = True
        self.every_rail_leaves = False
        self.notes = []
        self.cards = 0
        self.roots = 0

    def say(self, where, port, cause):
        where[id(port)] = (port, cause)

    # Places.

    def make_rails(self, fits=lambda shape: True, link=None, bonds=None, plan=None):
        rng = self.rng
        while True:
            layout = rng.choice(["switch", "switch", "levels", "shared", "apart", "second", "flat", "flat"])
            shape = rng.choice([one for one in SHAPES if one.layout == layout])
            if fits(shape):
                break
        self.shape = shape
        self.link = link or rng.choice(["ethernet", "ethernet", "infiniband"])
        bonded = bonds if bonds is not None else rng.random() < 0.2
        # A card's two ports make a bond, so there is one a card.
        self.bonds = bonded and self.link == "ethernet" and not (shape.layout == "switch" and shape.group > 1)
        self.speed = rng.choice(SPEEDS[2:])
        self.numa_unknown = shape.layout == "flat" and rng.random() < 0.3
        {"switch": self.by_switch, "levels": self.by_levels, "shared": self.by_shared, "apart": self.by_shared,
         "second": self.by_second, "flat": self.by_flat}[shape.layout](shape)
        self.look = "bnxt" if self.link == "ethernet" and not self.bonds and rng.random() < 0.15 else "mlx5"
        for rail in self.rails:
            rail.bond, rail.look = self.bonds, self.look
        if self.link == "ethernet":
            self.plan = Plan(rng, shape.rails)
            while plan and not plan(self.plan):
                self.plan = Plan(rng, shape.rails)
            for rail, address in zip(self.rails, self.plan.inside):
                rail.address = address
            if self.plan.v6:
                self.environment["NCCL_IB_ADDR_FAMILY"] = "AF_INET6"
        else:
            self.prefix = rng.choice(["", "", "fec0:0:0:1::"])
            for rail in self.rails:
                rail.prefix = self.prefix
        self.notes.append(f"{shape.gpus} GPUs, {shape.rails} {'InfiniBand' if self.link == 'infiniband' else 'RoCE'} rails"
                          f"{' over bonds' if self.bonds else ''} ({shape.layout}, {shape.group} a switch)"
                          f"{', addresses: ' + self.plan.kind if self.link == 'ethernet' else ''}")

    def numa(self, number, of):
        return -1 if self.numa_unknown else int(number * 2 >= of)

    def rail(self, pci, parent, numa, gpus=()):
        self.rails.append(Port("rail", pci, parent, numa, self.link, self.speed, tuple(gpus)))

    def by_switch(self, shape):
        """Domain 1000 + n: the rails are functions of the card at 03:00, the GPUs at 04:00 and on."""
        switches = max(1, shape.rails // shape.group)
        each = shape.gpus // switches
        for n in range(switches):
            at, numa = f"{1000 + n}", self.numa(n, switches)
            switch = f"{at}:00:01.0/{at}:01:00.0"
            numbers = range(n * each, (n + 1) * each)
            card = self.new_card() if shape.group > 1 else 0
            for function in range(shape.group):
                self.rail(f"{at}:03:00.{function}", f"{switch}/{at}:02:00.0", numa, numbers)
                self.rails[-1].card = card
            for place, number in enumerate(numbers):
                self.gpus[number] = (f"{at}:{4 + place:02x}:00.0", f"{switch}/{at}:02:{1 + place:02x}.0", numa)

    def by_levels(self, shape):
        each = shape.gpus // shape.rails
        for n in range(shape.rails):
            at, numa = f"{1000 + n // 2}", self.numa(n, shape.rails)
            bus = 0x10 + 0x10 * (n % 2)
            switch = f"{at}:00:01.0/{at}:01:00.0/{at}:02:{n % 2:02x}.0/{at}:{bus:02x}:00.0"
            numbers = range(n * each, (n + 1) * each)
            self.rail(f"{at}:{bus + 2:02x}:00.0", f"{switch}/{at}:{bus + 1:02x}:00.0", numa, numbers)
            for place, number in enumerate(numbers):
                self.gpus[number] = (f"{at}:{bus + 3 + place:02x}:00.0", f"{switch}/{at}:{bus + 1:02x}:{1 + place:02x}.0", numa)

    def by_shared(self, shape):
        apart = shape.layout == "apart"
        for n in range(shape.rails):
            group = n // shape.group
            at, numa = f"{1000 + group}", self.numa(n, shape.rails)
            place = n % shape.group
            top = f"{at}:00:01.0/{at}:01:00.0"
            here = f"{top}/{at}:02:00.0/{at}:20:00.0/{at}:21" if apart else f"{top}/{at}:02"
            there = f"{top}/{at}:02:01.0/{at}:40:00.0/{at}:41" if apart else f"{top}/{at}:02"
            numbers = () if apart else range(group * shape.group, (group + 1) * shape.group)
            self.rail(f"{at}:{0x22 + place:02x}:00.0", f"{here}:{place:02x}.0", numa, numbers)
            self.gpus[n] = (f"{at}:{0x42 + place:02x}:00.0", f"{there}:{16 + place:02x}.0", numa)

    def by_second(self, shape):
        for n in range(shape.gpus):
            at, numa = f"{1000 + n}", self.numa(n, shape.gpus)
            switch = f"{at}:00:01.0/{at}:01:00.0"
            if n % 2 == 0:
                self.rail(f"{at}:03:00.0", f"{switch}/{at}:02:00.0", numa, [n])
            self.gpus[n] = (f"{at}:04:00.0", f"{switch}/{at}:02:01.0", numa)

    def by_flat(self, shape):
        for n in range(shape.rails):
            self.rail(f"{2000 + n}:01:00.0", f"{2000 + n}:00:01.0", self.numa(n, shape.rails))
        for n in range(shape.gpus):
            self.gpus[n] = (f"{3000 + n}:01:00.0", f"{3000 + n}:00:01.0", self.numa(n, shape.gpus))

    def new_card(self):
        self.cards += 1
        return self.cards

    def at_a_cpu(self, role, link, speed, with_port=None):
        """A port on a root port of its own, or the next function of another's card."""
        if with_port:
            with_port.card = with_port.card or self.new_card()
            return Port(role, with_port.pci[:-1] + str(int(with_port.pci[-1]) + 1), with_port.parent, with_port.numa, link, speed,
                        with_port.gpus, card=with_port.card)
        at = f"{4000 + self.roots}"
        self.roots += 1
        numa = -1 if self.numa_unknown else self.rng.randrange(2)
        return Port(role, f"{at}:01:00.0", f"{at}:00:01.0", numa, link, speed)

    def beside_a_gpu(self, role, link, speed, rail):
        """One more device below the switch of a rail."""
        parent, _, last = rail.parent.rpartition("/")
        bus = last.split(":")[0] + ":" + last.split(":")[1]
        return Port(role, f"{rail.pci.split(':')[0]}:{0x7e:02x}:00.0", f"{parent}/{bus}:1e.0", rail.numa, link, speed, rail.gpus)

    # Who else is there.

    def strange(self, port):
        """What an expert would name who is asked why this is no rail."""
        found = set()
        if port.link != self.link:
            return {"link layer"}
        if bool(port.bond or port.enslaved) != self.bonds:
            found.add("bond")
        if port.speed != self.speed:
            found.add("speed")
        if port.gateway and not self.every_rail_leaves:
            found.add("default route")
        if self.link == "infiniband":
            if port.prefix != self.prefix and len(self.rails) >= 2:
                found.add("network")
        elif port.address and len(self.rails) >= 2 and not self.every_rail_leaves and (":" in port.address) == self.plan.v6:
            found.add("network")  # One address makes no plan, and an address of another family is none to NCCL.
        if not port.gpus and (self.shape.beside or (self.shape.layout == "second" and found & {"default route", "network"})):
            found.add("place")  # Every second GPU has no HCA beside it either, so there the place only adds to something else.
        return found

    def outweighed(self, others):
        """The rails are plainly what the node was bought for."""
        rails = sum(rail.speed for rail in self.rails if rail.up)
        theirs = sum(port.speed for port in others)
        # Functions of one card are one thing that was bought.
        cards = len({rail.card or rail.pci for rail in self.rails})
        if cards == 1 and any((port.bond or bool(port.enslaved)) != self.bonds for port in others if port.link == self.link):
            return False  # A bond and a plain HCA: which is the rail?
        if cards < 4 and not self.shape.beside and self.link == "ethernet" and any(port.link == "infiniband" for port in others):
            return False  # Where there is InfiniBand it is for jobs, unless it is plainly the lesser.
        if cards == 1:
            return len(others) == 1 and 2 * theirs <= rails / len(self.rails)
        return 2 * len(others) <= cards and (theirs if self.shape.beside else 2 * theirs) <= rails * cards / len(self.rails)

    def sure(self, port, others):
        if not self.outweighed(others):
            return False
        found = self.strange(port)
        if found == {"place"}:
            # Four and more GPUs, each with an HCA of its own, and this one has none: DGX's storage HCAs.
            return self.shape.own and len(self.gpus) >= 4
        return found == {"link layer"} or len(found) >= 2

    def cause(self, port):
        if port.link != self.link:
            return "DEV-MIXLL"
        return "DEV-BOND" if (port.bond or port.enslaved) and not self.bonds else "DEV-MGMT"

    def add_front_end(self):
        rng = self.rng
        kind = rng.choice(["none", "no RDMA", "plain", "plain", "plain", "bond", "bond", "enslaved"])
        speed = rng.choice(SPEEDS)
        if kind == "none":
            return []
        if kind == "no RDMA" or not self.rails:
            self.leave_by_another(speed)
            return []
        link = "ethernet"
        near = [rail for rail in self.rails if rail.gpus and self.shape.layout in ("switch", "levels", "second") and rail.up
                and id(rail) not in self.flagged]
        if kind != "enslaved" and near and rng.random() < 0.25:
            port = self.beside_a_gpu("front end", link, speed, rng.choice(near))
        else:
            port = self.at_a_cpu("front end", link, speed)
        port.mtu = rng.choice([1024, 1024, 4096])  # Ethernet's 1500 bytes, or a network of jumbo frames
        port.width = rng.choice([(16, 16), (8, 8)])
        address = self.other_network()
        if kind == "enslaved":
            # The bond's address and route are the bond's; the kernel's RDMA devices stay two.
            port.enslaved = "bond100"
            ports = [port, self.at_a_cpu("front end", link, speed, with_port=port if rng.random() < 0.5 else None)]
            ports[1].enslaved, ports[1].mtu, ports[1].width = "bond100", port.mtu, port.width
            self.bond100 = (address, gateway_of(address), 2 * speed)
            return ports
        port.bond = kind == "bond"
        port.address = address
        if rng.random() < 0.8:
            port.gateway = gateway_of(address)
        return [port]

    def leave_by_another(self, speed=25000):
        self.netdevs.append(("eno1", "10.77.0.12/22", "10.77.0.1", speed, False))

    def other_network(self):
        if self.link == "ethernet":
            if self.plan.v6 and self.rng.random() < 0.5:
                return "10.88.3.12/22"
            return self.plan.other(self.rng) if self.plan.outside else "192.0.2.7/24"
        return f"10.{self.rng.randrange(1, 200)}.{self.rng.randrange(200)}.7/22"

    def add_storage(self, front_end):
        rng = self.rng
        count = rng.choice([0, 0, 1, 1, 2])
        if not count:
            return []
        link = rng.choice([self.link, self.link, "ethernet", "infiniband"])
        speed = rng.choice([self.speed, self.speed, self.speed // 2, min(2 * self.speed, 400000), 100000])
        same_card = link == "ethernet" and front_end and not front_end[0].bond and not front_end[0].enslaved and rng.random() < 0.4
        ports = []
        for number in range(count):
            port = self.at_a_cpu("storage", link, speed, front_end[0] if same_card and number == 0 else
                                 ports[0] if ports and rng.random() < 0.4 and not same_card else None)
            if link == "infiniband":
                port.prefix = rng.choice(["", "fec0:0:0:9::"])
                if self.link == "infiniband" and port.prefix != "fec0:0:0:9::":
                    port.prefix = self.prefix
            elif rng.random() < 0.85:
                port.address = self.storage_network(number)
            ports.append(port)
        if same_card:
            ports[0].speed = front_end[0].speed
        return ports

    def storage_network(self, number):
        if self.link == "ethernet" and self.plan.v6:
            return f"2a00:99:{number + 1}::7/64"
        return f"198.18.{number * 40}.7/24"

    def add_others(self):
        """A front end and storage that an expert would be sure of; else there are none."""
        for _ in range(200):
            roots, cards, netdevs, outside = self.roots, self.cards, list(self.netdevs), list(self.plan.outside) if self.link == "ethernet" else []
            self.bond100 = None
            front_end = self.add_front_end()
            others = front_end + self.add_storage(front_end)
            # A card of another network's is one as a whole: that one port of it is out tells of the other, where its network or its place
            # alone is another.
            out = {id(port) for port in others if self.sure(port, others)}
            cards_out = {port.card for port in others if id(port) in out and port.card}
            certain = all(id(port) in out or (port.card in cards_out and self.strange(port) and self.strange(port) <= {"network", "place"})
                          for port in others) and self.outweighed(others or [])
            near = any(port.gpus for port in others)
            if not others or (certain and not (near and any(port.card and not port.bond for port in others))):
                for port in others:
                    self.say(self.refused, port, self.cause(port))
                self.others += others
                if self.bond100 and any(port.enslaved for port in others):
                    self.netdevs.append(("bond100", *self.bond100, True))
                return
            self.roots, self.cards, self.netdevs = roots, cards, netdevs
            if self.link == "ethernet":
                self.plan.outside = outside

    def add_idle_ports(self):
        """The rails' cards have a second port each, which nobody cabled: the same on every card, so it is meant."""
        for rail in self.rails:
            rail.card = rail.card or self.new_card()
            port = self.at_a_cpu("idle", self.link, self.speed, with_port=rail)
            port.up = False
            self.idle.append(port)

    # Names, as udev and the vendors' drivers give them.

    def finish(self):
        rng = self.rng
        ports = sorted(self.rails + self.idle, key=lambda port: port.pci)
        at = rng.choice([0, len(ports), len(ports) // 2])
        ports[at:at] = self.others
        ports += self.functions  # These come to be after the devices that are there at boot.
        plain = [port for port in ports if not port.bond]
        numbers = list(range(len(plain)))
        scheme = rng.choice(["mlx5", "mlx5", "shuffled", "udev", "ib"])
        if scheme == "shuffled":
            rng.shuffle(numbers)
        for number, port in zip(numbers, plain):
            if self.look == "bnxt":
                port.name = f"bnxt_re{number}" if port.look == "bnxt" or port.link == "ethernet" else f"mlx5_{number}"
                port.look = "bnxt" if port.name.startswith("bnxt") else "mlx5"
            elif scheme == "udev":
                port.name = f"{'ibp' if port.link == 'infiniband' else 'rocep'}{3 + 5 * number}s0" + (f"f{port.pci[-1]}" if port.card else "")
            elif scheme == "ib" and self.link == "infiniband" and port.role == "rail":
                port.name = f"mlx5_ib{self.rails.index(port)}"
            else:
                port.name = f"mlx5_{number}"
        bonds = [port for port in ports if port.bond]
        first = 0 if any(port.role == "front end" for port in bonds) or rng.random() < 0.5 else 1
        for number, port in enumerate(sorted(bonds, key=lambda port: port.role != "front end")):
            port.name = f"mlx5_bond_{number + first}"
        for number, port in enumerate(ports):
            if port.link == "ethernet":
                port.netdev = f"bond{port.name[10:]}" if port.bond else f"ens{number + 1}f{port.pci[-1]}np{port.pci[-1]}"
        self.ports = ports

    # What the judge needs.

    def verdict(self):
        """As an entry of verdicts.toml."""
        def names(where):
            return {port.name: cause for port, cause in where.values()}
        compute = [rail.name for rail in self.rails]
        out = {"compute": compute, "refused": names(self.refused), "flagged": names(self.flagged), "down": names(self.down)}
        if self.listed:
            out["list"] = ",".join(name for name in compute if name not in out["refused"])
        out["env"] = self.environment
        return {key: value for key, value in out.items() if value}

    def verdict_text(self):
        def text(value):
            if isinstance(value, dict):
                return "{ " + ", ".join(f'{key} = "{one}"' for key, one in value.items()) + " }"
            return "[" + ", ".join(f'"{one}"' for one in value) + "]" if isinstance(value, list) else f'"{value}"'
        return "".join(f"{key} = {text(value)}\n" for key, value in self.verdict().items())

    def scenario(self):
        lines = [f"# {note}" for note in self.notes] + ["[[host]]", 'name = "node0"', ""]

        usual = {"up": "true", "elsewhere": "false", "look": '"mlx5"', "link_layer": '"ethernet"', "state": '"active"', "phys_state": '"up"',
                 "pcie_width": 16, "pcie_max_width": 16, "pcie_speed": '"32.0 GT/s PCIe"', "pcie_max_speed": '"32.0 GT/s PCIe"'}

        def table(of, /, **values):
            lines.append(f"[[{of}]]")
            for key, value in values.items():
                if isinstance(value, bool):
                    value = str(value).lower()
                elif isinstance(value, (list, tuple)):
                    value = "[" + ", ".join(f'"{one}"' for one in value) + "]"
                elif not isinstance(value, int):
                    value = f'"{value}"'
                if value not in ('""', "[]") and value != usual.get(key):
                    lines.append(f"{key} = {value}")
            lines.append("")

        for name, address, gateway, speed, bond in self.netdevs:
            table("host.netdev", name=name, kind="bond" if bond else "", address=address, gateway=gateway, speed_mbps=speed)
        for port in self.ports:
            if port.netdev:
                table("host.netdev", name=port.netdev, kind="bond" if port.bond else "", mtu=9000 if port.mtu == 4096 else 1500,
                      slaves=[f"{port.netdev}p0", f"{port.netdev}p1"] if port.bond else [], speed_mbps=port.speed, up=port.up,
                      master=port.enslaved, elsewhere=port.elsewhere, address=port.address, gateway=port.gateway)
        for port in self.ports:
            infiniband = port.link == "infiniband"
            table("host.hca", name=port.name, pci=port.pci, parent=port.parent, numa=port.numa, look=port.look, link_layer=port.link,
                  speed_mbps=port.speed, mtu=port.mtu, netdev=port.netdev, subnet_prefix=port.prefix,
                  network="storage" if infiniband and port.role == "storage" else "", state="active" if port.up else "down",
                  phys_state="up" if port.up else "polling", physfn=port.physfn, pcie_width=port.width[0], pcie_max_width=port.width[1],
                  pcie_speed=f"{port.gts[0]}.0 GT/s PCIe", pcie_max_speed=f"{port.gts[1]}.0 GT/s PCIe",
                  sys_image_guid=f"b8cef603{port.card:08x}" if port.card else "")
        for pci, parent, numa in self.gpus.values():
            table("host.gpu", pci=pci, parent=parent, numa=numa)
        if self.link == "ethernet" and self.plan.routed:
            table("route", **{"from": self.plan.routed, "to": self.plan.routed})
        return "\n".join(lines)


# The stories. Each draws rails, what is odd, and mostly a front end and storage.


def healthy(node):
    node.make_rails()
    if node.rng.random() < 0.2:
        # A riser that gives every rail half of its lanes: no link is below its siblings'.
        for rail in node.rails:
            rail.width = (8, 16)
    node.add_others()


def healthy_infiniband(node):
    node.make_rails(link="infiniband")
    node.add_others()


def healthy_bonds(node):
    node.make_rails(link="ethernet", bonds=True, fits=lambda shape: shape.rails >= 2)
    node.add_others()


def second_ports(node):
    # More than one card: one alone that has a port down may well have lost a rail.
    node.make_rails(fits=lambda shape: shape.rails >= 2 and shape.group == 1 and shape.layout != "flat", bonds=False)
    node.add_idle_ports()
    node.add_others()


def idle_ports_of_few_cards(node):
    # Fewer cards than GPUs and no switches: the second ports, down on every card, are no GPU's rails.
    node.make_rails(fits=lambda shape: shape.layout == "flat" and shape.rails >= 2 and 2 * shape.rails <= shape.gpus, bonds=False)
    node.add_idle_ports()
    node.leave_by_another()


def all_leave(node):
    # BGP on the host: each rail has a default route, so that one says nothing.
    node.make_rails(link="ethernet", fits=lambda shape: shape.rails >= 2, plan=lambda plan: plan.gateways)
    for rail, gateway in zip(node.rails, node.plan.gateways):
        rail.gateway = gateway
    node.every_rail_leaves = True
    # Where the bus tells nothing either, little is left to be sure by.
    if node.shape.beside:
        node.add_others()


def slow(node):
    # Same make, same network, a GPU of its own or of its group, or one of as many as there are: a rail that trained low. Where the bus
    # is flat four others are what it is compared with; InfiniBand has no address that says more, so there the count has to.
    link = node.rng.choice(["ethernet", "infiniband"])
    least = {"flat": 5 if link == "ethernet" else 4, "apart": 4}
    node.make_rails(fits=lambda shape: shape.rails >= least.get(shape.layout, 2) and not shape.of_planes, link=link)
    rail = node.rng.choice(node.rails)
    rail.speed //= node.rng.choice([2, 4])
    node.say(node.flagged, rail, "DEV-SLOW")
    node.notes.append("one rail is slow")
    shape = node.shape
    if shape.layout == "flat" and node.link == "infiniband" and shape.rails != shape.gpus:
        node.listed = False
    if shape.group > 1 and shape.rails < 5:
        # Not alone beside its GPU, and not like four others: told, and no more.
        node.listed = False
    elif shape.rails >= 4:
        node.add_others()


def narrow(node):
    # Three cards, of which two have the same.
    node.make_rails(fits=lambda shape: shape.rails >= 3 * (shape.group if shape.layout == "switch" else 1))
    rail = node.rng.choice(node.rails)
    if node.rng.random() < 0.5:
        rail.width = (node.rng.choice([4, 8]), 16)
    else:
        rail.gts = (node.rng.choice([8, 16]), 32)
    # A card's functions have one link.
    for other in node.rails:
        if other.card and other.card == rail.card:
            other.width, other.gts = rail.width, rail.gts
            node.say(node.flagged, other, "DEV-SLOW")
    node.say(node.flagged, rail, "DEV-SLOW")
    node.notes.append("one rail's slot is slow")
    node.add_others()


def down(node):
    # A GPU, or a switch of GPUs, that has one less than the others; an address that only a rail would have; or the one that is missing
    # to one for each GPU.
    def fits(shape):
        if shape.rails < 4 or shape.of_planes or (shape.layout == "flat" and shape.rails != shape.gpus and (node.link == "infiniband" or shape.rails < 5)):
            return False
        # As long as most GPUs have more; else the address has to tell.
        most = shape.layout == "flat" or 2 * shape.group < shape.rails
        return most or (node.link == "ethernet" and shape.rails >= 5)

    def plan(plan):
        # Other than a subnet a port, an address is no sign of a rail.
        shape = node.shape
        sure = shape.rails == shape.gpus if shape.layout == "flat" else 2 * shape.group < shape.rails
        return sure or plan.kind not in ("one", "v6 one")

    node.link = node.rng.choice(["ethernet", "infiniband"])
    node.make_rails(fits=fits, link=node.link, plan=plan)
    rail = node.rng.choice(node.rails)
    rail.up = False
    node.say(node.down, rail, "DEV-DOWN")
    node.notes.append("one rail is down")
    if node.shape.layout in ("switch", "second") and node.shape.group == 1 and not node.bonds and node.rng.random() < 0.3:
        node.add_idle_ports()
    if node.shape.layout != "flat" or node.link == "ethernet":
        node.add_others()


def without_address(node):
    # The only one of its kind without an address: forgotten. It stays one of the rails.
    node.make_rails(fits=lambda shape: shape.rails >= 3, link="ethernet")
    rail = node.rng.choice(node.rails)
    rail.address = ""
    node.say(node.flagged, rail, "GID-LINKLOCAL")
    node.notes.append("one rail has no address")
    node.add_others()


def gpu_lost(node):
    # Its rail hangs as the others do, beside nobody now.
    node.make_rails(fits=lambda shape: shape.layout in ("switch", "levels") and shape.rails >= 4 and shape.gpus == shape.rails)
    del node.gpus[node.rng.choice(list(node.gpus))]
    node.notes.append("one GPU is lost")
    node.add_others()


def rail_leaves(node):
    # No front end: the installer chose a rail. It is one or it is not; with bonds that is how such nodes are made.
    node.make_rails(fits=lambda shape: shape.rails >= 3, link="ethernet", plan=lambda plan: not plan.v6)
    rail = node.rng.choice(node.rails)
    rail.gateway = gateway_of(rail.address) if not node.plan.gateways else node.plan.gateways[node.rails.index(rail)]
    node.notes.append("one rail has the default route")
    if not node.bonds:
        node.say(node.flagged, rail, "DEV-MGMT")
        node.listed = False


def slow_rail_leaves(node):
    # Beside a GPU as no other HCA is, and as the others are beside theirs: a rail, whatever else.
    node.make_rails(fits=lambda shape: shape.layout in ("switch", "levels") and shape.rails >= 4 and shape.group == 1, link="ethernet", bonds=False,
                    plan=lambda plan: not plan.v6)
    rail = node.rng.choice(node.rails)
    rail.speed //= 2
    rail.gateway = gateway_of(rail.address) if not node.plan.gateways else node.plan.gateways[node.rails.index(rail)]
    node.say(node.flagged, rail, "DEV-SLOW")
    node.notes.append("one rail is slow and has the default route")


def other_network_alone(node):
    # One of four or more of a kind, nothing near it: given to storage, or a wrong address.
    node.make_rails(fits=lambda shape: shape.layout == "flat" and shape.rails >= 4, bonds=False)
    rail = node.rng.choice(node.rails)
    if node.link == "infiniband":
        rail.prefix = "fec0:0:0:9::"
    else:
        rail.address = node.plan.other(node.rng)
    node.say(node.flagged, rail, "DEV-MGMT")
    node.listed = False
    node.notes.append("one HCA is in another network")


def far_alone(node):
    # Two GPUs with an HCA each, and one more at a CPU: too few to tell what that one is for.
    node.make_rails(fits=lambda shape: shape.layout in ("switch", "levels") and shape.gpus == 2 and shape.rails == 2, bonds=False)
    port = node.at_a_cpu("undecided", node.link, node.speed)
    port.look = node.look
    port.prefix = node.prefix if node.link == "infiniband" else ""
    port.address = node.plan.more if node.link == "ethernet" else ""
    node.others.append(port)
    node.say(node.flagged, port, "DEV-MGMT")
    node.listed = False
    node.notes.append("one HCA is beside no GPU")


def faster_alone(node):
    # Twice as fast, and of the same network: nothing is wrong with it, and nobody knows whether it is meant.
    node.make_rails(fits=lambda shape: shape.layout == "flat" and shape.rails >= 4, link="ethernet", bonds=False)
    rail = node.rng.choice(node.rails)
    rail.speed *= 2
    node.listed = False
    node.notes.append("one HCA is faster")


def bond_alone(node):
    # A bond of the rails' speed in their network, and nothing near it.
    node.make_rails(fits=lambda shape: shape.layout == "flat" and shape.rails >= 4, link="ethernet", bonds=False)
    if node.look == "bnxt":
        node.look = "mlx5"
    for rail in node.rails:
        rail.look = "mlx5"
    rail = node.rng.choice(node.rails)
    rail.bond = True
    node.listed = False
    node.notes.append("one HCA is a bond")


def two_link_layers(node):
    # As many, as fast, no default route, nothing near: they can't be mixed, and nothing tells which are meant.
    node.make_rails(fits=lambda shape: shape.layout == "flat" and shape.rails <= 2, link="infiniband")
    for number in range(len(node.rails)):
        port = node.at_a_cpu("undecided", "ethernet", node.speed)
        port.address = f"10.40.{number}.7/24"
        node.others.append(port)
        node.say(node.flagged, port, "DEV-MIXLL")
    node.listed = False
    node.notes.append("as many RoCE ports")


def family_unset(node):
    # Addresses are IPv6 alone, and nobody told NCCL: told of each, and the list holds once it is.
    node.make_rails(fits=lambda shape: shape.rails >= 2, link="ethernet", plan=lambda plan: plan.v6)
    node.environment = {}
    for rail in node.rails:
        node.say(node.flagged, rail, "GID-LINKLOCAL")
    node.notes.append("IPv6 rails, and no NCCL_IB_ADDR_FAMILY")


def functions(node, each):
    for rail in node.rails:
        for number in range(each):
            node.functions.append(dataclasses.replace(rail, role="function", pci=f"{rail.pci[:-1]}{2 + number}", physfn=rail.pci, address="", card=0))


def sriov_host(node):
    # A virtual function without an address is for a container.
    node.make_rails(fits=lambda shape: shape.rails in (2, 4, 8) and shape.group == 1, link="ethernet", bonds=False)
    functions(node, node.rng.choice([1, 2]))
    for function in node.functions:
        node.say(node.refused, function, "DEV-MERGE")
    node.notes.append("idle virtual functions")
    if node.rng.random() < 0.7:
        node.add_others()


def sriov_pod(node):
    # A pod's functions are its rails; the physical ones are out of sight.
    node.make_rails(fits=lambda shape: shape.rails >= 2 and shape.group == 1, link="ethernet", bonds=False)
    for rail in node.rails:
        rail.physfn, rail.pci = rail.pci[:-1] + "0", rail.pci[:-1] + "3"
    node.leave_by_another(10000)
    node.notes.append("a pod's virtual functions")


def privileged_pod(node):
    # It sees the host's devices, and has the virtual ones' interfaces alone.
    node.make_rails(fits=lambda shape: shape.rails in (2, 4, 8) and shape.group == 1, link="ethernet", bonds=False)
    functions(node, 1)
    for rail, function in zip(node.rails, node.functions):
        function.address, rail.elsewhere = rail.address, True
        rail.address = f"172.18.{node.rails.index(rail)}.9/24"
        node.say(node.refused, rail, "DEV-MERGE")
    node.rails, node.functions = node.functions, node.rails
    node.leave_by_another(10000)
    node.notes.append("a privileged pod's virtual functions, and the host's physical ones")


STORIES = [healthy, slow, healthy_infiniband, down, healthy_bonds, narrow, second_ports, without_address, healthy, gpu_lost, slow, rail_leaves,
           all_leave, down, slow_rail_leaves, healthy, other_network_alone, far_alone, sriov_host, faster_alone, healthy_infiniband, bond_alone,
           two_link_layers, family_unset, sriov_pod, privileged_pod, idle_ports_of_few_cards, healthy, down, slow]


def draw(seed):
    """The same node for the same seed. Seeds that follow each other go through all stories."""
    node = Node(random.Random(seed))
    node.seed = seed
    story = STORIES[seed % len(STORIES)]
    node.notes.append(f"seed {seed}: {story.__name__}")
    story(node)
    node.finish()
    return node


if __name__ == "__main__":
    drawn = draw(int(sys.argv[1]))
    print(drawn.scenario())
    print("# What an expert says of it:")
    print("".join(f"# {line}\n" for line in drawn.verdict_text().splitlines()), end="")
