"""The command nccl-net-diag: becomes the program."""
import os
import sys

from nccl_net_diag import tool


def main():
    os.execv(tool, ["nccl-net-diag"] + sys.argv[1:])


if __name__ == "__main__":
    main()
