"""Where the parts of nccl-net-diag lie, and what a job's environment needs.

plugin is the library that NCCL loads, tool the program that the command nccl-net-diag runs, examples and docs are folders.
A Python program that wants the plugin for itself sets the variables before NCCL is loaded:

    import os, nccl_net_diag
    os.environ.update(nccl_net_diag.environment())
"""
import json
import os
import subprocess

_here = os.path.dirname(os.path.abspath(__file__))
plugin = os.path.join(_here, "lib", "libnccl-net-diag.so")
tool = os.path.join(_here, "bin", "nccl-net-diag")
docs = os.path.join(_here, "share", "nccl-net-diag", "docs")
examples = os.path.join(_here, "share", "nccl-net-diag", "examples")


def environment(by_name=False):
    """What `nccl-net-diag env` prints, as a dict. by_name: for NCCL 2.18 to 2.20, whose processes must be started with it."""
    words = [tool, "env", "--json"] + (["--by-name"] if by_name else [])
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)["variables"]
