"""Objects as a static library: the archive that `ar` makes, with its table of symbols.

In the form that GNU and LLVM's tools share (System V, ar.h): members at even offsets, longer names in
a table of their own, the symbols first with the offset of their member in big endian.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from dslc.codegen.cpu.tools.elf_objects import read_object

_MAGIC = b"!<arch>\n"
_LONGEST = 15  # of a name in a member's header, before its slash


def archive(objects: Mapping[str, bytes]) -> bytes:
    """The `.a` of objects by name; equal objects give equal bytes."""
    symbols = [
        (s.name, member)
        for member, content in objects.items()
        for s in read_object(content).symbols
        if s.is_global and s.section
    ]
    long_names = {n: 0 for n in objects if len(n) > _LONGEST}
    table = bytearray()
    for name in long_names:
        long_names[name] = len(table)
        table += f"{name}/\n".encode()
    texts = b"".join(name.encode() + b"\0" for name, _ in symbols)
    # The offsets of members follow from the sizes of the tables before them.
    at = len(_MAGIC) + len(_member("/", bytes(4 * (1 + len(symbols)) + len(texts))))
    head = _member("//", bytes(table)) if table else b""
    at += len(head)
    offsets, members = {}, []
    for name, content in objects.items():
        title = f"/{long_names[name]}" if name in long_names else f"{name}/"
        members.append(_member(title, content))
        offsets[name] = at
        at += len(members[-1])
    places = [offsets[member] for _, member in symbols]
    first = struct.pack(f">{1 + len(symbols)}I", len(symbols), *places) + texts
    return b"".join((_MAGIC, _member("/", first), head, *members))


def _member(title: str, content: bytes) -> bytes:
    """A header without date, owner or mode, which would differ from run to run, and the content."""
    header = f"{title:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(content):<10}`\n"
    return header.encode() + content + b"\n" * (len(content) % 2)
