"""The journeys of docs/architecture.md: files that are there, each joined to one before it by an include."""
import pathlib
import re

FILE = re.compile(r"`([\w/]+\.(?:cc|h))`")
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)


def journeys(text):
    """{title: (names on the way, names beside it)}"""
    section = text.split("\n## Journeys\n")[1].split("\n## ")[0]
    found = {}
    for bullet in re.split(r"\n- ", section)[1:]:
        title, rest = re.match(r"\*\*(.*?)\*\*(.*)", bullet, re.DOTALL).groups()
        way, _, beside = rest.partition(" Beside: ") if " Beside: " in rest else rest.partition("\n  Beside: ")
        found[title.strip(". ")] = (FILE.findall(way), FILE.findall(beside))
    return found


def resolved(root, names):
    """The files; a name without a folder lies beside the one before it."""
    files, folder = [], None
    for name in names:
        places = [base / name for base in (root / "plugin", root / "tools")]
        if "/" not in name and folder is not None:
            places.insert(0, folder / name)
        file = next((place for place in places if place.is_file()), None)
        if file is None:
            raise ValueError(f"there is no {name}" + (f" in {folder.relative_to(root)}" if folder else ""))
        folder = file.parent
        files.append(file)
    return files


def halves(file):
    """A source and its header."""
    return [half for half in (file.with_suffix(".h"), file.with_suffix(".cc")) if half.is_file()]


def header(root, file):
    return str(file.with_suffix(".h").relative_to(root)).partition("/")[2]


def includes(file):
    return {name for half in halves(file) for name in INCLUDE.findall(half.read_text())}


def strays(root, files):
    """Those that neither include one before them nor are included by it."""
    return [str(file.relative_to(root)) for i, file in enumerate(files)
            if i and not any(header(root, file) in includes(other) or header(root, other) in includes(file) for other in files[:i])]
