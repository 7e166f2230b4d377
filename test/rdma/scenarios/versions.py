"""The healthy case with other releases of NCCL, from what NCCL calls v6 of its net API to the newest."""
import os

from lab.health import works
from lab.ranks import Options
from lab.scenario import scenario


def libnccl(version):
    """Beside the one under test in the cache; None where it isn't."""
    path = f"{os.path.dirname(os.path.dirname(Options.nccl))}/{version}/libnccl.so.2"
    return path if os.path.exists(path) else None


def works_with(lab, version):
    path = libnccl(version)
    if not path:
        return f"NCCL {version} is not in the cache"
    # 2.18 takes GID 0 unless it is told otherwise.
    works(lab, "mlx5_0", "mlx5_2", "10.1.0.0/24", {"NCCL_IB_GID_INDEX": "1"}, nccl=path)
    return None


@scenario
def nccl_2_18_3(lab):
    """NCCL 2.18.3"""
    return works_with(lab, "2.18.3")


@scenario
def nccl_2_23_4(lab):
    """NCCL 2.23.4, which crashes where an HCA has no device path in sysfs"""
    return works_with(lab, "2.23.4")


@scenario
def nccl_2_32_3(lab):
    """NCCL 2.32.3"""
    return works_with(lab, "2.32.3")
