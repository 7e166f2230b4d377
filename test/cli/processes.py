"""What /proc says of processes."""
import pathlib


def status(pid, key):
    for line in pathlib.Path("/proc", str(pid), "status").read_text().splitlines():
        if line.startswith(key + ":"):
            return line.split(":", 1)[1].strip()
    raise AssertionError(key)


def is_below(pid, ancestor):
    while pid > 1 and pid != ancestor:
        try:
            pid = int(status(pid, "PPid"))
        except FileNotFoundError:  # it has ended
            return False
    return pid == ancestor
