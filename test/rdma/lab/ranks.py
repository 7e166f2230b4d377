"""Ranks: processes that load libnccl and our plugin and do what NCCL core would (test/driver), told by lines of JSON."""
import json
import os
import select
import signal
import socket
import time

from lab.shell import run

# The rank's own deadlines come first: its answer says more than silence.
PATIENCE = 240.0


class Options:
    """Where things are; set once by the runner."""

    build = None
    nccl = None
    logs = "/tmp/logs"
    kept = None
    interface = "lo"  # of NCCL's own sockets


def prepare_logs():
    """The directory for what ranks leave, and a policy file that changes nothing: this machine's own must not count."""
    os.makedirs(Options.kept, exist_ok=True)
    os.mkdir(Options.logs)
    with open(f"{Options.logs}/default.toml", "w"):
        pass


_kept = set()


def keep_logs():
    """Those that are new, to where the machine's end leaves them."""
    new = set(os.listdir(Options.logs)) - _kept
    if new:
        run("cp", "-r", "--no-preserve=all", *(f"{Options.logs}/{name}" for name in new), Options.kept)
    _kept.update(new)


def environment_of(log, hca, environment):
    out = {key: value for key, value in os.environ.items() if not key.startswith("NCCL_")}
    out.update(
        LD_LIBRARY_PATH=f"{Options.build}/plugin",
        NCCL_NET_PLUGIN="diag",
        NCCL_NET_PLUGIN_REF_COUNT="1",
        NCCL_SOCKET_IFNAME=Options.interface,
        NCCL_IB_HCA=f"={hca}",
        NCCL_IB_MQP_RETRY_CNT="0",
        NCCL_IB_MQP_RETRY_SLEEP_MSEC="10",
        NCCL_NET_DIAG_FILE=log,
        NCCL_NET_DIAG_EVENTS="*,^req.*",  # also each step of connections that go well
        NCCL_NET_DIAG_POLICY=f"{Options.logs}/default.toml",
    )
    out.update(environment or {})
    return {key: value for key, value in out.items() if value is not None}


class Failed(Exception):
    """A call of the transport that did not succeed, with the rank's answer."""


class Rank:
    """A rank that uses one HCA. It begins to load at once, beside others. wrap: a command in front of it, such as prlimit."""

    def __init__(self, name, hca, environment=None, wrap=(), plugin="diag", nccl=None):
        self.name, own = name, f"{Options.logs}/{name}"
        self.log_file = f"{own}/log.jsonl"
        os.mkdir(own)
        ours, theirs = socket.socketpair()
        command = [*wrap, f"{Options.build}/test/driver/nnd-test-rank"]
        output = (os.POSIX_SPAWN_OPEN, 1, f"{own}/output", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self.pid = os.posix_spawnp(
            command[0], command, environment_of(self.log_file, hca, environment),
            file_actions=[(os.POSIX_SPAWN_DUP2, theirs.fileno(), 3), output, (os.POSIX_SPAWN_DUP2, 1, 2)])
        theirs.close()
        self._begin(ours, plugin, nccl)

    def _begin(self, channel, plugin="diag", nccl=None):
        self.socket, self._buffer, self._next, self._replies = channel, b"", 0, {}
        self._init = None
        source = {"plugin": plugin} if plugin else {"builtin": "IB"}
        self._load = self.start("load", nccl=nccl or Options.nccl, **source)

    def start(self, op, **request):
        self._next += 1
        self.socket.sendall(json.dumps({"op": op, "id": self._next, **request}).encode() + b"\n")
        return self._next

    def wait(self, number):
        self.socket.settimeout(PATIENCE)
        while number not in self._replies:
            try:
                chunk = self.socket.recv(1 << 16)
            except ConnectionResetError:  # it died before it had read all that it was told
                chunk = b""
            if not chunk:
                raise Failed(f"{self.name} is gone")
            *lines, self._buffer = (self._buffer + chunk).split(b"\n")
            for line in lines:
                reply = json.loads(line)
                self._replies[reply.pop("id")] = reply
        reply = self._replies.pop(number)
        if "error" in reply:
            raise Failed(f"{self.name}: {reply['error']}")
        return reply

    def run(self, op, **request):
        return self.wait(self.start(op, **request))

    def must(self, op, **request):
        return must(self, self.run(op, **request))

    def wait_load(self):
        must(self, self.wait(self._load))

    def begin_setup(self):
        """So that others can begin theirs before it has ended."""
        self._init = self.start("init")

    def setup(self):
        """Initialises the transport and asks for devices, as for one communicator. The number of devices."""
        if self._init is None:
            self.begin_setup()
        self.wait_load()
        self.context = must(self, self.wait(self._init))["context"]
        count = self.must("devices")["count"]
        for device in range(count):
            self.must("properties", dev=device)
        return count

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        self._reap()

    def exit(self):
        """Ends it as a program ends; its wait status is 0, or it throws."""
        self.run("exit")
        status = self._reap()
        if status != 0:
            raise Failed(f"{self.name} ended with wait status {status}")

    def end(self):
        """Ends it one way or the other."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            self._reap()
        self.socket.close()

    def _reap(self):
        end = time.monotonic() + PATIENCE
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return status
            if time.monotonic() > end:
                raise Failed(f"{self.name} does not end")
            time.sleep(0.02)

    def events(self):
        """The log so far. A process that still writes may be in the middle of its last line."""
        if not os.path.exists(self.log_file):
            return []
        with open(self.log_file) as log:
            return [json.loads(line) for line in log if line.endswith("\n")]


def must(rank, reply):
    if reply.get("rc") != 0 or reply.get("timeout") or "corrupt" in reply:
        raise Failed(f"{rank.name}: {reply}")
    return reply


class Connection:
    """One direction from one rank to another, as NCCL core opens it."""

    def __init__(self, sender, receiver):
        self.sender, self.receiver = sender, receiver
        self.send = self.recv = None

    def start_open(self, deadline_ms=60000):
        listening = self.receiver.must("listen", context=self.receiver.context, dev=0)
        self.listener = listening["listener"]
        self._accepting = self.receiver.start(
            "accept", context=self.receiver.context, listener=self.listener, deadline_ms=deadline_ms)
        self._connecting = self.sender.start(
            "connect", context=self.sender.context, dev=0, handle=listening["handle"], deadline_ms=deadline_ms)

    def open(self):
        self.start_open()
        self.recv = must(self.receiver, self.receiver.wait(self._accepting))["conn"]
        self.send = must(self.sender, self.sender.wait(self._connecting))["conn"]
        return self

    def refused(self):
        """Opens it, where the receiver is to fail: then that rank ends, so the sender sees its socket closed, and ends too.
        Both logs are complete after it."""
        self.start_open()
        accept = self.receiver.wait(self._accepting)
        if accept["rc"] == 0:
            raise AssertionError(f"{self.receiver.name}: accept did not fail: {accept}")
        self.receiver.exit()
        connect = self.sender.wait(self._connecting)
        if connect["rc"] == 0:
            raise AssertionError(f"{self.sender.name}: connect did not fail: {connect}")
        self.sender.exit()

    def open_fails(self):
        """Opens it, where either end is to fail; both end, the failed one first. Both logs are complete after it."""
        self.start_open()
        waiting = {self.receiver: self._accepting, self.sender: self._connecting}
        first = self._first_answer(waiting)
        reply = first.wait(waiting.pop(first))
        if reply["rc"] == 0:
            raise AssertionError(f"{first.name}: it did not fail: {reply}")
        first.exit()
        other, = waiting
        other.wait(waiting[other])
        other.exit()

    @staticmethod
    def _first_answer(waiting):
        by_socket = {rank.socket: rank for rank in waiting}
        ready, _, _ = select.select(list(by_socket), [], [], PATIENCE)
        if not ready:
            raise Failed("no answer")
        return by_socket[ready[0]]

    def start_traffic(self, sizes=(65536,), repeat=16, deadline_ms=120000, only="both"):
        """Verified data, of both ends or one; finish_traffic() gives both answers."""
        request = dict(sizes=list(sizes), repeat=repeat, deadline_ms=deadline_ms)
        if only != "send":
            self._receiving = self.receiver.start("recv", conn=self.recv, **request)
        if only != "recv":
            self._sending = self.sender.start("send", conn=self.send, **request)

    def finish_traffic(self):
        return {"recv": self.receiver.wait(self._receiving), "send": self.sender.wait(self._sending)}

    def traffic_fails(self, at="sender"):
        """The transfer fails at one end; both ranks end, so that one's log is complete."""
        rank, asked, other = ((self.sender, self._sending, self.receiver) if at == "sender" else
                              (self.receiver, self._receiving, self.sender))
        reply = rank.wait(asked)
        if reply["rc"] == 0:
            raise AssertionError(f"{rank.name}: the transfer did not fail: {reply}")
        rank.exit()
        other.end()

    def move(self, **traffic):
        """Moves verified data; the bytes that arrived."""
        self.start_traffic(**traffic)
        replies = self.finish_traffic()
        must(self.sender, replies["send"])
        return must(self.receiver, replies["recv"])["bytes"]

    def finish(self):
        """Closes everything and ends both ranks, as a program that is done."""
        self.close()
        for rank in (self.sender, self.receiver):
            rank.must("finalize", context=rank.context)
            rank.must("unload")
            rank.exit()

    def end(self):
        """Ends both ranks, whatever they do."""
        self.sender.end()
        self.receiver.end()

    def close(self):
        self.sender.must("close", conn=self.send)
        self.receiver.must("close", conn=self.recv)
        self.receiver.must("close", listener=self.listener)
