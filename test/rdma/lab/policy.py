"""Policy files of scenarios."""
from lab.ranks import Options
from lab.shell import write


def enforce(lab, rules=""):
    """The environment of a rank whose policy enforces these rules, and the built-in ones."""
    path = f"{Options.logs}/{lab.name}.toml"
    write(path, f'mode = "enforce"\n{rules}')
    return {"NCCL_NET_DIAG_POLICY": path}
