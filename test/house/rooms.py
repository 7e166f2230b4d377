"""Who may use whom: the table in docs/architecture.md against the includes of every room."""
import pathlib
import re

ROW = re.compile(r"^\| `([a-z/]+)` \| ([^|]*) \|")
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)
PUBLIC = {"nccl_abi", "nccl_net_diag"}  # include/ is open to all


def table(text):
    """{room: rooms that it may use}"""
    rooms = {}
    for line in text.splitlines():
        if row := ROW.match(line):
            if row[1] in rooms:
                raise ValueError(f"{row[1]} has two rows")
            rooms[row[1]] = set(re.findall(r"`([a-z/]+)`", row[2]))
    return rooms


def needed(rooms, room):
    """What it may use, and what these may."""
    found, left = set(), [room]
    while left:
        for other in rooms[left.pop()] - found:
            found.add(other)
            left.append(other)
    return found


def folder_of(root, room):
    """plugin/NAME, or tools/NAME"""
    return next((path for path in (root / "plugin" / room, root / "tools" / room) if path.is_dir()), None)


def used(root, rooms, room):
    """{other room: the file that includes one of its headers}"""
    folder, found = folder_of(root, room), {}
    for file in sorted(folder.rglob("*")):
        if file.suffix not in (".h", ".cc") or any(inner != room and file.is_relative_to(folder_of(root, inner)) for inner in inside(rooms, room)):
            continue
        for name in INCLUDE.findall(file.read_text()):
            if other := owner(root, rooms, name, file):
                found.setdefault(other, file.relative_to(root))
    found.pop(room, None)
    return found


def inside(rooms, room):
    return [other for other in rooms if other.startswith(room + "/")]


def owner(root, rooms, name, file):
    """The room whose header this is: the longest that fits. A part of the house without a row is named as it is included."""
    if "/" not in name or name.split("/")[0] in PUBLIC:
        return None
    parts = name.split("/")[:-1]
    for length in range(len(parts), 0, -1):
        for prefix in ("", "emulation/"):
            if (room := prefix + "/".join(parts[:length])) in rooms:
                return room
    return None if (file.parent / name).exists() else "/".join(parts)


def check(root):
    """What is wrong, a line each."""
    rooms = table((root / "docs/architecture.md").read_text())
    problems = []
    for room, allowed in rooms.items():
        if folder_of(root, room) is None:
            problems.append(f"{room} has a row and no folder")
            continue
        found = used(root, rooms, room)
        problems += [f"{room} uses {other} ({file}) and may not" for other, file in found.items() if other not in allowed]
        problems += [f"{room} may use {other} and doesn't: take it out of the table" for other in sorted(allowed - found.keys())]
    for folder in sorted((root / "plugin").iterdir()):
        if folder.is_dir() and folder.name not in rooms:
            problems.append(f"plugin/{folder.name} has no row")
    return problems
