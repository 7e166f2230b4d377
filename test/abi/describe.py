"""Runs inside gdb: writes what the debug information says about types, as JSON, to the file named by $DESCRIBE_OUT.

$DESCRIBE_TYPES lists type names, or variables to take the type of. Each becomes {"size": bytes, "members":
[[name, offset, text]]}; text tells a member's type down to sizes and signedness, so that two spellings of the same
layout and of the same signature have the same text. A type that is not there is left out.
"""

import json
import os

import gdb

INTEGERS = {gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL}
STRUCTS = {gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION}


def text(kind):
    kind = kind.strip_typedefs().unqualified()
    if kind.code == gdb.TYPE_CODE_PTR:
        return pointer(kind.target())
    if kind.code == gdb.TYPE_CODE_ARRAY:
        low, high = kind.range()
        return f"{text(kind.target())}[{high - low + 1}]"
    if kind.code in STRUCTS:
        return "{" + "; ".join(f"{name}@{offset} {what}" for name, offset, what in members(kind)) + "}"
    if kind.code in INTEGERS:
        return f"{'int' if kind.is_signed else 'uint'}{8 * kind.sizeof}"
    if kind.code == gdb.TYPE_CODE_ENUM:
        return f"enum{8 * kind.sizeof}"
    if kind.code == gdb.TYPE_CODE_FLT:
        return f"float{8 * kind.sizeof}"
    return "void" if kind.code == gdb.TYPE_CODE_VOID else str(kind)


def pointer(target):
    target = target.strip_typedefs().unqualified()
    if target.code == gdb.TYPE_CODE_FUNC:
        arguments = [text(field.type) for field in target.fields()]
        return f"{text(target.target())}({', '.join(arguments)})"
    return text(target) + "*"


def members(kind):
    return [[f.name, f.bitpos // 8, text(f.type)] for f in kind.fields() if hasattr(f, "bitpos")]


def find(name):
    try:
        return gdb.lookup_type(name).strip_typedefs()
    except gdb.error:
        symbol = gdb.lookup_global_symbol(name) or gdb.lookup_static_symbol(name)
        return symbol.type.strip_typedefs() if symbol else None


found = {}
for name in os.environ["DESCRIBE_TYPES"].split():
    kind = find(name)
    if kind is not None:
        found[name] = {"size": kind.sizeof, "members": members(kind)}
with open(os.environ["DESCRIBE_OUT"], "w") as out:
    json.dump(found, out)
