"""Ranks on another machine: its agent starts them on a socket from here, and shows their logs."""
import json
import os
import signal
import socket

from lab import fabric
from lab.ranks import Options, Rank, environment_of, keep_logs
from lab.shell import ip, read, wait_for, write
from lab.tool import split_exit, start_tool

PORT = 7000


def serve(address):
    """The agent: one request a connection, until the first one, which asks for nothing, ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.create_server((address, PORT)) as listener:
        listener.settimeout(600)
        control, _ = listener.accept()
        while True:
            connection, _ = listener.accept()
            with connection:
                request = json.loads(_line(connection))
                if request["do"] == "end":
                    control.close()
                    return 0
                _DO[request["do"]](connection, request)


def _line(connection):
    text = b""
    while not text.endswith(b"\n"):
        text += connection.recv(1)
    return text


def _rank(connection, request):
    """The socket becomes the rank's channel."""
    own = f"{Options.logs}/{request['name']}"
    os.mkdir(own)
    command = f"{Options.build}/test/driver/nnd-test-rank"
    os.posix_spawn(
        command, [command], environment_of(f"{own}/log.jsonl", request["hca"], request["environment"]),
        file_actions=[(os.POSIX_SPAWN_DUP2, connection.fileno(), 3),
                      (os.POSIX_SPAWN_OPEN, 1, f"{own}/output", os.O_WRONLY | os.O_CREAT, 0o644), (os.POSIX_SPAWN_DUP2, 1, 2)])


def _log(connection, request):
    with open(f"{Options.logs}/{request['name']}/log.jsonl", "rb") as log:
        connection.sendall(log.read())


def _greet(connection, request):
    fabric.greet(request["netdev"], request["address"])
    connection.sendall(b"done\n")


def _tool(connection, request):
    """Runs the tool; what it prints goes to the other side, with its exit code in the last line."""
    start_tool(request["name"], request["arguments"], request["environment"], connection.fileno())


def _ip(connection, request):
    ip(*request["lines"])
    connection.sendall(b"done\n")


def _setting(connection, request):
    """Its old value, for the other side."""
    old = read(request["path"])
    write(request["path"], request["value"])
    connection.sendall(old.encode())


def _gid_index(connection, request):
    connection.sendall(str(fabric.gid_index(request["device"], request["address"])).encode())


def _keep(connection, _request):
    keep_logs()
    connection.sendall(b"done\n")


def _power_off(_connection, _request):
    """At once, as when the power goes. The answer of this machine is given before: it did all that it was to."""
    write(f"{os.path.dirname(Options.kept)}/rc", "0\n")
    write("/proc/sysrq-trigger", "b")


_DO = {"rank": _rank, "log": _log, "greet": _greet, "tool": _tool, "ip": _ip, "gid_index": _gid_index, "setting": _setting, "keep": _keep, "power_off": _power_off}


class Peer:
    """The other machine, seen from here."""

    current = None

    def __init__(self, address):
        self.address = address
        self._control = wait_for("the other machine", self._connect, patience=600)

    def _connect(self):
        try:
            return socket.create_connection((self.address, PORT), timeout=5)
        except OSError:
            return None

    def ask(self, do, **request):
        connection = socket.create_connection((self.address, PORT))
        connection.sendall(json.dumps({"do": do, **request}).encode() + b"\n")
        return connection

    def answer(self, do, **request):
        with self.ask(do, **request) as connection, connection.makefile("rb") as reply:
            return reply.read()

    def greet(self, netdev, address):
        self.answer("greet", netdev=netdev, address=address)

    def ip(self, *lines):
        self.answer("ip", lines=lines)

    def gid_index(self, device, address):
        return int(self.answer("gid_index", device=device, address=address))

    def setting(self, lab, path, value):
        """A value in /proc or /sys, until the scenario's end."""
        old = self.answer("setting", path=path, value=value)
        lab.callback(self.answer, "setting", path=path, value=old.decode())

    def keep_logs(self):
        self.answer("keep")

    def power_off(self):
        self.ask("power_off").close()
        self._control.close()
        self._control = None

    def end(self):
        if self._control:
            self.ask("end").close()
            self._control.close()
            self._control = None


class RemoteRank(Rank):
    """A rank on the other machine."""

    def __init__(self, name, hca, environment=None):
        self.name, self._peer = name, Peer.current
        self._begin(self._peer.ask("rank", name=name, hca=hca, environment=environment or {}))

    def exit(self):
        self.run("exit")
        while self.socket.recv(1 << 16):  # open until the process is gone
            pass

    def end(self):
        self.socket.close()  # it ends when its channel does

    def events(self):
        return [json.loads(line) for line in self._peer.answer("log", name=self.name).splitlines()]


class RemoteTool:
    """nccl-net-diag on the other machine."""

    def __init__(self, name, arguments, environment):
        self._connection = Peer.current.ask("tool", name=name, arguments=arguments, environment=environment)

    def wait(self):
        """The exit code, and what it printed."""
        with self._connection.makefile() as out:
            return split_exit(out.read())

    def end(self):
        self._connection.close()
