# Run by gdb (see print-layout): one row of layouts.cc from the debug information of the library that gdb has opened.
import re
import subprocess

import gdb


def struct(*names):
    for name in names:
        try:
            return gdb.lookup_type("struct " + name).strip_typedefs()
        except gdb.error:
            pass
    return None


def find(kind, path):
    """Bit offset and gdb field of a.b.c inside kind, or (0, None). Anonymous members are looked into."""
    name, _, rest = path.partition(".")
    for field in kind.fields():
        if field.is_base_class or not hasattr(field, "bitpos"):
            continue
        if field.name == name:
            if not rest:
                return field.bitpos, field
            bits, inner = find(field.type.strip_typedefs(), rest)
            return (field.bitpos + bits, inner) if inner else (0, None)
        if field.name is None or field.name == "":
            bits, inner = find(field.type.strip_typedefs(), path)
            if inner:
                return field.bitpos + bits, inner
    return 0, None


def offset(kind, path):
    return find(kind, path)[0] // 8 if kind else 0


def size(kind, path=None):
    if not kind:
        return 0
    field = find(kind, path)[1] if path else None
    return kind.sizeof if path is None else field.type.sizeof if field else 0


def mask(kind, *paths):
    """The bits of the first 32-bit word that these flags take."""
    bits = 0
    for path in paths:
        at, field = find(kind, path) if kind else (0, None)
        if field:
            bits |= ((1 << (field.bitsize or 8 * field.type.sizeof)) - 1) << at
    return hex(bits)


def width(kind, path):
    field = find(kind, path)[1] if kind else None
    return (field.bitsize or 8 * field.type.sizeof) if field else 0


library = gdb.current_progspace().filename
version = re.search(rb"NCCL version (\d+)\.(\d+)\.(\d+)",
                    subprocess.run(["strings", library], capture_output=True).stdout)
major, minor, patch = (int(part) for part in version.groups())

conn, slot = struct("ncclConnInfo"), struct("ncclConnFifo")
comm, channel = struct("ncclKernelComm", "ncclDevComm"), struct("ncclDevChannel")
coll, element, batch = struct("ncclDevWorkColl"), struct("ncclWorkElem"), struct("ncclDevWorkBatch")
work = coll or element
simple = 2  # NCCL_PROTO_SIMPLE


def row(name, *values):
    return "     .%s = {%s}," % (name, ", ".join(".%s = %s" % pair for pair in values))


# p2p_parts_reversed isn't in the debug information: see layouts.h.
style = "kBatches" if batch else "kParts" if find(element, "workCount")[1] else "kRounds"
number = major * 10000 + minor * 100 + patch
print("    {.first = %d, .last = %d," % (number, number))
print('     .source = "DWARF of the official %d.%d.%d",' % (major, minor, patch))
print(row("conn", ("bytes", size(conn)), ("buffer", offset(conn, "buffs") + 8 * simple),
          ("tail", offset(conn, "tail")), ("head", offset(conn, "head")),
          ("step_size", offset(conn, "stepSize")),
          ("sizes", offset(conn, "connFifo") or offset(conn, "sizesFifo")),
          ("offsets", offset(conn, "offsFifo")), ("step", offset(conn, "step"))))
print(row("slot", ("bytes", size(slot) or 4), ("mode", offset(slot, "mode")), ("offset", offset(slot, "offset")),
          ("offset_bytes", size(slot, "offset")), ("size", offset(slot, "size")),
          ("size_bytes", size(slot, "size") or 4)))  # without ncclConnFifo an array of int
print(row("comm", ("simple_buffer", offset(comm, "buffSizes") + 4 * simple),
          ("p2p_chunk", offset(comm, "p2pChunkSize")), ("abort", offset(comm, "abortFlag")),
          ("channels", offset(comm, "channels")), ("work_consumed", offset(comm, "workConsumed"))))
print(row("channel", ("bytes", size(channel)), ("ring", offset(channel, "ring")),
          ("ring_ranks", offset(channel, "ring.userRanks")), ("ring_index", offset(channel, "ring.index")),
          ("work_done", offset(channel, "workFifoDone"))))
print(row("coll", ("bytes", size(work)), ("refused_flags", mask(work, "redOpArgIsPtr", "regUsed", "netRegUsed")),
          ("root", offset(work, "root")),
          ("send", offset(work, "sendbuff")), ("recv", offset(work, "recvbuff")),
          ("count", offset(work, "cbd" if coll else "count")), ("op_arg", offset(work, "redOpArg"))))
print("     .style = WorkStyle::%s, .p2p_parts_reversed = %s, .func_bits = %d}," % (style, "true" if 22200 <= number < 22800 else "false", width(batch, "funcId") if batch else 16))
