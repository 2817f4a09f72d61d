"""Objects linked to a shared library of ELF, which any loader of Linux maps as it stands.

Constants come first, then code, then the dynamic section, each on pages of its own: nothing can both
be written and run. The library needs no other library, and its loader has no relocation to do, since
kernels refer to nothing but themselves. Sections are described too, for linkers and disassemblers.
(System V ABI, Object Files and Dynamic Linking.)
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from dslc.codegen.cpu.tools.elf_objects import (
    AARCH64,
    ALLOC,
    EXECUTE,
    WRITE,
    ElfObject,
    Symbol,
    read_object,
    refuse,
)
from dslc.codegen.cpu.tools.relocations import apply

_PAGES = {AARCH64: 0x10000}  # the largest that its Linux has; elsewhere 4 KiB
_PAGE = 0x1000
_HEADER, _SEGMENT, _SECTION, _SYMBOL = 64, 56, 64, 24
_LOAD, _DYNAMIC, _STACK, _RELRO = 1, 2, 0x6474E551, 0x6474E552
_R, _W, _X = 4, 2, 1
_PROGBITS, _STRTAB, _HASH, _DYNAMIC_SECTION, _DYNSYM = 1, 3, 5, 6, 11


@dataclass(slots=True)
class _Part:
    """A section of the library, where it begins in file and memory alike."""

    name: str
    kind: int
    flags: int
    content: bytes
    align: int = 8
    link: str = ""
    info: int = 0
    width: int = 0
    at: int = 0


@dataclass(slots=True)
class _Names:
    """A table of names."""

    text: bytearray = field(default_factory=lambda: bytearray(1))

    def add(self, name: str) -> int:
        at = len(self.text)
        self.text += name.encode() + b"\0"
        return at


def link_elf(objects: Sequence[bytes]) -> bytes:
    """The library of objects for one machine; equal objects give equal bytes.

    Its functions are those that are global and visible in an object. DSL0952 for objects that refer to
    what none of them has, for absolute addresses, and for memory that can be written.
    """
    read = [read_object(o) for o in objects]
    machine = read[0].machine
    if any(o.machine != machine for o in read):
        refuse("they are for several machines")
    defined = _definitions(read)
    exported = [s for _, s in defined.values() if s.is_visible and s.is_function]

    names = _Names()
    numbers = [names.add(s.name) for s in exported]
    constants, code = _inputs(read, 0), _inputs(read, EXECUTE)
    tables = [
        _Part(".hash", _HASH, ALLOC, _hash_table([s.name for s in exported]), link=".dynsym"),
        _Part(
            ".dynsym",
            _DYNSYM,
            ALLOC,
            bytes(_SYMBOL * (1 + len(exported))),
            link=".dynstr",
            info=1,
            width=_SYMBOL,
        ),
        _Part(".dynstr", _STRTAB, ALLOC, bytes(names.text), 1),
    ]
    dynamic = _Part(".dynamic", _DYNAMIC_SECTION, ALLOC | WRITE, bytes(16 * 6), link=".dynstr")
    page = _PAGES.get(machine, _PAGE)
    bounds = _place([[*tables, *constants.values()], [*code.values()], [dynamic]], page)

    places = {key: part.at for key, part in {**constants, **code}.items()}
    at = {s.name: places[i, s.section] + s.offset for i, s in defined.values()}
    ends = {id(p): i + 1 for i, p in enumerate([*tables, *constants.values(), *code.values()])}
    sections = {key: ends[id(p)] for key, p in {**constants, **code}.items()}
    hashes, symbols, strings = tables
    symbols.content = bytes(_SYMBOL) + b"".join(
        struct.pack(
            "<IBBHQQ", n, 0x12, 0, sections[defined[s.name][0], s.section], at[s.name], s.size
        )
        for n, s in zip(numbers, exported, strict=True)
    )
    entries = (
        (4, hashes.at),
        (5, strings.at),
        (6, symbols.at),
        (10, len(strings.content)),
        (11, _SYMBOL),
    )
    dynamic.content = b"".join(struct.pack("<QQ", *e) for e in (*entries, (0, 0)))

    parts = [*tables, *constants.values(), *code.values(), dynamic]
    image = bytearray(bounds[-1][1])
    for part in parts:
        image[part.at : part.at + len(part.content)] = part.content
    for i, o in enumerate(read):
        for r in o.relocations:
            target = _address(i, r.symbol, at, places) + r.addend
            apply(image, machine, r.kind, places[i, r.section] + r.offset, target)
    return _file(image, machine, parts, bounds, page)


def _definitions(objects: Sequence[ElfObject]) -> dict[str, tuple[int, Symbol]]:
    """The global symbols that are defined, with the number of their object."""
    defined: dict[str, tuple[int, Symbol]] = {}
    for i, o in enumerate(objects):
        for s in o.symbols:
            if s.is_global and s.section and defined.setdefault(s.name, (i, s)) != (i, s):
                refuse(f"{s.name} is defined twice")
    wanted = {s.name for o in objects for s in o.symbols if s.is_global and not s.section}
    if missing := sorted(wanted - defined.keys()):
        refuse(f"nothing defines {', '.join(missing)}")
    return defined


def _inputs(objects: Sequence[ElfObject], execute: int) -> dict[tuple[int, int], _Part]:
    """The objects' sections of code or of constants, by object and number."""
    return {
        (i, s.number): _Part(s.name, _PROGBITS, s.flags, s.content, s.align)
        for i, o in enumerate(objects)
        for s in o.sections
        if s.flags & EXECUTE == execute
    }


def _place(segments: Sequence[Sequence[_Part]], page: int) -> list[tuple[int, int]]:
    """Give each part its address, segment by segment: where each begins and ends."""
    bounds: list[tuple[int, int]] = []
    at = _HEADER + _SEGMENT * 6
    for number, segment in enumerate(segments):
        begin = at = -(-at // page) * page if number else 0
        at = at or _HEADER + _SEGMENT * 6
        for part in segment:
            part.at = at = -(-at // part.align) * part.align
            at += len(part.content)
        bounds.append((begin, at))
    return bounds


def _address(
    number: int,
    symbol: Symbol,
    at: dict[str, int],
    places: dict[tuple[int, int], int],
) -> int:
    if symbol.is_global:
        return at[symbol.name]
    place = places.get((number, symbol.section))
    if place is None:
        refuse(f"{symbol.name or 'a relocation'} lies in no section that is loaded")
    return place + symbol.offset


def _hash_table(names: Sequence[str]) -> bytes:
    """The table by which loaders find names: a bucket for each."""
    count = max(1, len(names))
    buckets, chain = [0] * count, [0] * (1 + len(names))
    for number, name in enumerate(names, 1):
        bucket = _hash(name) % count
        chain[number], buckets[bucket] = buckets[bucket], number
    return struct.pack(f"<{2 + count + len(chain)}I", count, len(chain), *buckets, *chain)


def _hash(name: str) -> int:
    """ELF's hash of a name."""
    hash_ = 0
    for byte in name.encode():
        hash_ = (hash_ << 4) + byte
        high = hash_ & 0xF0000000
        hash_ = (hash_ ^ high >> 24) & ~high
    return hash_


def _file(
    image: bytearray,
    machine: int,
    parts: Sequence[_Part],
    bounds: Sequence[tuple[int, int]],
    page: int,
) -> bytes:
    """The image with its headers before it, and the table of its sections behind it."""
    names = _Names()
    rows = [bytes(_SECTION)]
    order = {part.name: number for number, part in enumerate(parts, 1)}
    for p in parts:
        where = (p.at, p.at, len(p.content), order.get(p.link, 0), p.info, p.align, p.width)
        rows.append(struct.pack("<IIQQQQIIQQ", names.add(p.name), p.kind, p.flags, *where))
    own = names.add(".shstrtab")
    image += names.text
    end = (len(image) - len(names.text), len(names.text), 0, 0, 1, 0)
    rows.append(struct.pack("<IIQQQQIIQQ", own, _STRTAB, 0, 0, *end))
    image += bytes(-len(image) % 8)
    table = len(image)
    image += b"".join(rows)

    constants, code, dynamic = bounds
    segments = [
        _segment(_LOAD, _R, constants, page),
        _segment(_LOAD, _R | _X, code, page),
        _segment(_LOAD, _R | _W, dynamic, page),
        _segment(_DYNAMIC, _R | _W, dynamic, 8),
        # Once it is loaded, nobody writes: the page is protected as a whole.
        _segment(_RELRO, _R, (dynamic[0], -(-dynamic[1] // page) * page), 1),
        _segment(_STACK, _R | _W, (0, 0), 16),
    ]
    sizes = (_HEADER, _SEGMENT, len(segments), _SECTION, len(rows), len(rows) - 1)
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header = struct.pack("<16sHHIQQQIHHHHHH", ident, 3, machine, 1, 0, _HEADER, table, 0, *sizes)
    image[: _HEADER + _SEGMENT * len(segments)] = header + b"".join(segments)
    return bytes(image)


def _segment(kind: int, flags: int, bounds: tuple[int, int], align: int) -> bytes:
    begin, end = bounds
    size = end - begin
    return struct.pack("<IIQQQQQQ", kind, flags, begin, begin, begin, size, size, align)
