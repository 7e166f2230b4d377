#!/usr/bin/env python3
"""Holds the causes in their table: check_literals.py SOURCE_DIR

No string of the plugin, the tools and the public headers is a cause's id, or the beginning of one,
outside the table. And each cause that the table says is named now is named in the plugin; the
others are not."""
import pathlib
import re
import sys

TABLE = "include/nccl_net_diag/causes.h"


def main():
    root = pathlib.Path(sys.argv[1])
    entries = re.findall(r'X\((k\w+), "([A-Z0-9-]+)", k\w+, (k\w+),', (root / TABLE).read_text())
    if len(entries) < 90:
        return f"only {len(entries)} causes found in {TABLE}"
    families = sorted({name.split("-")[0] for _, name, _ in entries if "-" in name})
    alone = [name for _, name, _ in entries if "-" not in name]
    literal = re.compile(r'"(?:%s)-[A-Z0-9-]*"|"(?:%s)"' % ("|".join(families), "|".join(alone)))
    files = [
        path
        for folder in ("plugin", "tools", "include")
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in (".h", ".cc") and str(path.relative_to(root)) != TABLE
    ]
    problems = []
    named = ""
    for path in files:
        name = str(path.relative_to(root))
        text = path.read_text()
        for number, line in enumerate(text.splitlines(), 1):
            for found in literal.findall(line):
                problems.append(f"{name}:{number}: {found}: a cause is named by nccl_net_diag::Cause")
        if name.startswith("plugin/"):
            named += re.sub(r"catalogue::k\w+", "", text)
    used = set(re.findall(r"Cause::(k\w+)", named))
    for enumerator, identity, when in entries:
        if (enumerator in used) != (when == "kNow"):
            problems.append(f"{identity}: the table says {when}, the plugin " +
                            ("names it" if enumerator in used else "doesn't name it"))
    print("\n".join(problems) or f"{len(entries)} causes, {len(files)} files")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
