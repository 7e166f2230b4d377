#!/usr/bin/env python3
"""What a program or library asks of the machine that it runs on, as readelf shows it: elf_floor.py GLIBC FILE...      (2.28)"""
import re
import subprocess
import sys

NEEDED = re.compile(r"lib(c|m|pthread|dl|rt)\.so\.\d|ld-linux-.*\.so\.\d")
OWN = {"libibverbs.so.1"}  # installed beside the one that asks for it
OF_OWN = {"SOFTVERBS_PRIVATE", "IBVERBS_1.1"}
HELD_FOR_ALL = {"stdin", "stdout", "stderr"}  # variables of the C library that never move


def readelf(file, *arguments):
    return subprocess.run(["readelf", "-W", *arguments, str(file)], check=True, text=True, stdout=subprocess.PIPE).stdout


def is_elf(file):
    with open(file, "rb") as opened:
        return opened.read(4) == b"\x7fELF"


def wrong_with(file, floor):
    """Sentences; floor: (2, 28)."""
    out = []
    dynamic = readelf(file, "-d")
    out += [f"needs {name}" for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) if not NEEDED.fullmatch(name) and name not in OWN]
    out += [f"is sought in {path}" for path in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic) if path != "$ORIGIN"]
    symbols = 0
    for line in readelf(file, "--dyn-syms").splitlines():
        found = re.search(r" UND (\w+)@(\S+)", line)
        if not found:
            continue
        name, version = found.groups()
        symbols += 1
        number = re.fullmatch(r"GLIBC_([0-9.]+)", version)
        if version not in OF_OWN and (number is None or tuple(map(int, number[1].split("."))) > floor):
            out.append(f"asks for {name} of {version}")
    copies = set(re.findall(r"R_\w+_COPY\s+\w+ (\w+)", readelf(file, "-r"))) - HELD_FOR_ALL
    out += [f"has a copy of {name}, which others change behind its back" for name in sorted(copies)]
    return out if symbols else ["asks for nothing: readelf's output was not understood"]


def main():
    floor = tuple(map(int, sys.argv[1].split(".")))
    wrong = [f"{file} {what}" for file in sys.argv[2:] for what in wrong_with(file, floor)]
    print("\n".join(wrong) or f"{len(sys.argv) - 2} files: fine with glibc {sys.argv[1]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
