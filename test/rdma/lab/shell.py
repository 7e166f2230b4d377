"""Commands. A fork costs tens of milliseconds in an emulated machine: many lines go to one `ip`."""
import subprocess
import time


def run(*command, text=None):
    """Runs a command; its output. Throws with the output when it fails."""
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}\n{text or ''}")
    return done.stdout


def ip(*lines, netns=None):
    """Lines for ip(8), as one batch."""
    where = ["-n", netns] if netns else []
    return run("ip", *where, "-batch", "-", text="\n".join(lines) + "\n")


def write(path, text):
    with open(path, "w") as file:
        file.write(str(text))


def read(path):
    with open(path) as file:
        return file.read().strip()


def wait_for(what, condition, patience=60.0):
    """The first true value of condition(). Throws after `patience` seconds, which only bounds a failure."""
    end = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"not within {patience:g} s: {what}")
        time.sleep(0.05)
