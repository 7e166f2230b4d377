"""A scenario is a function of a file in scenarios/. Its first line of documentation is its title."""
import contextlib
import time
import traceback

from lab import fabric
from lab.ranks import Connection, Rank, keep_logs
from lab.shell import ip, read, run, write


def set_up(ranks):
    """All at once."""
    for rank in ranks:
        rank.begin_setup()
    for rank in ranks:
        rank.setup()
    return ranks


class Lab(contextlib.ExitStack):
    """What one scenario has started and changed; undone at its end, last first."""

    def __init__(self, name):
        super().__init__()
        self.name = name
        self.ranks = []
        self.remote_ranks = []

    def rank(self, hca, environment=None, **more):
        """A rank that uses this HCA, set up."""
        rank = self.bare_rank(hca, environment, **more)
        rank.setup()
        return rank

    def bare_rank(self, hca, environment=None, **more):
        """The same, before it has loaded anything."""
        rank = Rank(f"{self.name}.{len(self.ranks)}", hca, environment, **more)
        self.ranks.append(rank)
        self.callback(rank.end)
        return rank

    def pair(self, first, second, environment=None, **more):
        """Two ranks on two HCAs: the connection from the first to the second, not yet open. environment: for both, or two."""
        each = environment if isinstance(environment, tuple) else (environment, environment)
        ranks = [self.bare_rank(hca, own, **more) for hca, own in zip((first, second), each)]
        return Connection(*set_up(ranks))

    def greeted_pair(self, first, second, environment=None, **more):
        """The same between two HCAs of one subnet, whose addresses are resolved."""
        for own, other in ((first, second), (second, first)):
            netdev, peer = fabric.HCAS[own][0], fabric.HCAS[other][1].split("/")[0]
            fabric.greet(netdev, peer)
        return self.pair(first, second, environment, **more)

    def connected(self, first, second, environment=None, **more):
        """The same, open."""
        return self.greeted_pair(first, second, environment, **more).open()

    def change(self, lines, undo, netns=None):
        """Lines for ip(8) now, and lines that undo them at the end."""
        self.callback(lambda: ip(*undo, netns=netns))
        ip(*lines, netns=netns)

    def setting(self, path, value):
        """A value in /proc or /sys."""
        self.callback(write, path, read(path))
        write(path, value)

    def address(self, netdev, address):
        """Another address of a netdev, and its subnet's route; without its length."""
        table = fabric.table_of(netdev)
        own = fabric.ipaddress.ip_interface(address)
        more = "nodad" if own.version == 6 else ""
        self.change([f"addr add {address} dev {netdev} noprefixroute {more}"], [f"addr del {address} dev {netdev}"])
        ip(f"route replace {own.network} dev {netdev} src {own.ip} table {table}")
        return str(own.ip)

    def router(self):
        """A router between the rails, at .254 of each: both of its addresses."""
        addresses = {"br0": "10.1.0.254", "br1": "10.1.1.254"}
        self.callback(run, "ip", "netns", "del", "router")
        fabric.add_router({bridge: f"{address}/24" for bridge, address in addresses.items()})
        return addresses.values()

    def jumbo(self, netdev, switch_port=None):
        """Jumbo frames at a netdev, and at its port of the switch."""
        self.change([f"link set {netdev} mtu 4200"], [f"link set {netdev} mtu 1500"])
        if switch_port:
            self.change([f"link set {switch_port} mtu 4200"], [f"link set {switch_port} mtu 1500"], netns="sw")

    def hca_on_a_slave(self):
        """An RDMA device on the active slave of bond0: mlx5_slave, which has the bond's GID. On the other slave it would get none."""
        fabric.add_hca("mlx5_slave", read(fabric.ACTIVE_SLAVE))
        self.callback(fabric.remove_hca, "mlx5_slave")
        fabric.wait_state("mlx5_slave", "ACTIVE")
        fabric.gid_index("mlx5_slave", "10.2.0.1")

    def netdev_down(self, netdev):
        """Takes it down. The kernel drops its routes then; they come back with it."""
        device, (_, address) = next(item for item in fabric.HCAS.items() if item[1][0] == netdev)
        self.callback(fabric.wait_state, device, "ACTIVE")
        self.change([f"link set {netdev} down"], [f"link set {netdev} up", *fabric.own_routes(netdev, address)])
        fabric.wait_state(device, "DOWN")


_scenarios = []


def scenario(function):
    """Marks a function of (lab). It returns why it can't run here, or nothing."""
    _scenarios.append(function)
    return function


def run_all(only=()):
    """Runs what the files imported since the last call hold; the number that failed."""
    scenarios = _scenarios.copy()
    _scenarios.clear()
    unknown = set(only) - {function.__name__ for function in scenarios}
    if unknown or not scenarios:
        raise LookupError(f"no such scenario: {', '.join(sorted(unknown)) or 'there is none'}")
    failed = 0
    for function in scenarios:
        name = function.__name__
        if only and name not in only:
            continue
        start = time.monotonic()
        problem, skipped = _run(function, name)
        verdict = "not ok" if problem else "ok"
        title = (function.__doc__ or "").strip().split("\n")[0]
        note = f" # SKIPPED: {skipped}" if skipped else ""
        print(f"{verdict} - {name}: {title} ({time.monotonic() - start:.1f} s){note}", flush=True)
        if problem:
            failed += 1
            print(problem, flush=True)
    return failed


def _run(function, name):
    """The problem, and why it did not run."""
    fabric.forget_neighbours()
    try:
        with Lab(name) as lab:
            return None, function(lab)
    except Exception:  # one scenario's end is not the others'
        return traceback.format_exc(), None
    finally:
        keep_logs()
