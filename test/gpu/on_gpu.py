"""Runs a program of an emulated node on this machine's GPU in place of played ones: on_gpu.py PROGRAM [ARGS]

All nodes have the same GPU, one rank each: NCCL takes them for different machines, and may use neither P2P nor shared memory, so that all data
goes through the net plugin. The emulated fabric reads host memory only, so GPUDirect is off. Needs root: each node has a host name and a /sys
of its own, which is this machine's and has the node's HCAs.
"""
import ctypes
import os
import pathlib
import socket
import stat
import sys
import tempfile

CLONE_NEWUTS, CLONE_NEWNS = 0x04000000, 0x00020000  # linux/sched.h
MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 0x1000, 0x2000, 0x4000, 0x40000  # linux/mount.h
# Of both, the GPU's driver needs this machine's.
ONLY_HERE = {"devices/system"}

libc = ctypes.CDLL(None, use_errno=True)


def call(result, what):
    if result != 0:
        sys.exit(f"on_gpu.py: {what}: {os.strerror(ctypes.get_errno())}")


def mount(source, target, flags, kind=None):
    call(libc.mount(str(source).encode(), str(target).encode(), kind, ctypes.c_ulong(flags), None), f"mount of {source} at {target}")


def show(source, target):
    if source.is_symlink():
        target.symlink_to(os.readlink(source))
        return
    is_folder = stat.S_ISDIR(source.lstat().st_mode)
    target.mkdir() if is_folder else target.touch()
    mount(source, target, MS_BIND | MS_REC if is_folder else MS_BIND)


def merge(here, node, target, path=""):
    """What both have as folders is merged; else the node's goes first."""
    ours = {} if node is None else {one.name: one for one in node.iterdir()}
    for one in here.iterdir():
        inner = f"{path}{one.name}"
        theirs = ours.pop(one.name, None)
        if theirs is None or inner in ONLY_HERE:
            show(one, target / one.name)
        elif one.is_symlink() or theirs.is_symlink() or not one.is_dir() or not theirs.is_dir():
            show(theirs, target / one.name)
        else:
            (target / one.name).mkdir()
            merge(one, theirs, target / one.name, f"{inner}/")
    for one in ours.values():
        show(one, target / one.name)


def main():
    variables = os.environ
    for name in [name for name in variables if name.startswith("SOFTCUDA_")]:
        del variables[name]
    variables["LD_PRELOAD"] = ":".join(file for file in variables.get("LD_PRELOAD", "").split(":") if file and "softcuda" not in file)
    variables |= {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_NET_GDR_LEVEL": "LOC"}
    node = pathlib.Path(variables["NCCL_NET_DIAG_SYSFS"])
    call(libc.unshare(CLONE_NEWUTS | CLONE_NEWNS), "unshare")
    socket.sethostname(variables["SOFTVERBS_HOST"])
    mount("none", "/", MS_REC | MS_PRIVATE)
    with tempfile.TemporaryDirectory() as folder:  # empty again when it is removed
        mount("none", folder, 0, b"tmpfs")
        merge(pathlib.Path("/sys"), node, pathlib.Path(folder))
        mount(folder, "/sys", MS_BIND | MS_REC)
        mount(folder, node, MS_MOVE)  # where the shim looks, for the node's addresses as well
    os.execvp(sys.argv[1], sys.argv[1:])


main()
