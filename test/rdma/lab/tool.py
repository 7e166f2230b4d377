"""nccl-net-diag as a user calls it."""
import os
import signal

from lab.ranks import Options, environment_of

# What environment_of() sets for a rank with one HCA, and a user doesn't.
UNSET = ("NCCL_IB_HCA", "NCCL_NET_DIAG_FILE", "NCCL_IB_MQP_RETRY_CNT", "NCCL_IB_MQP_RETRY_SLEEP_MSEC")


def start_tool(name, arguments, environment, out):
    """The process; its output and then a line with its exit code go to a descriptor, its progress to a file."""
    own = f"{Options.logs}/{name}"
    os.mkdir(own)
    command = [f"{Options.build}/tools/cli/nccl-net-diag", *arguments, "--nccl", Options.nccl]
    return os.posix_spawn(
        "/bin/sh", ["sh", "-c", '"$@"; echo "exit $?"', "sh", *command],
        environment_of(None, None, {**dict.fromkeys(UNSET), **environment}),
        file_actions=[(os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_OPEN, 2, f"{own}/progress", os.O_WRONLY | os.O_CREAT, 0o644)])


def split_exit(printed):
    """The exit code, and what it printed."""
    output, _, code = printed.rstrip("\n").rpartition("exit ")
    return int(code), output


class Tool:
    """On this machine."""

    def __init__(self, name, arguments, environment):
        self._read, write = os.pipe()
        self.pid = start_tool(name, arguments, environment, write)
        os.close(write)

    def wait(self):
        with os.fdopen(self._read) as out:
            printed = out.read()
        os.waitpid(self.pid, 0)
        self.pid = 0
        return split_exit(printed)

    def end(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
