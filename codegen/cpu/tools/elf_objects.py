"""Object files of ELF read: the sections that are loaded, the symbols, the relocations.

For 64 bits, little endian, of x86-64 and AArch64 (System V ABI, Object Files).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from dslc.compiler.diagnostics import error

X86_64, AARCH64 = 62, 183
_MAGIC = b"\x7fELF\x02\x01\x01"
_RELOCATABLE = 1
_PROGBITS, _SYMTAB, _RELA, _NOBITS = 1, 2, 4, 8
WRITE, ALLOC, EXECUTE = 1, 2, 4
_GLOBAL, _WEAK = 1, 2
_FUNCTION, _SECTION = 2, 3
_ABSOLUTE, _COMMON = 0xFFF1, 0xFFF2
# Tables for unwinding: a kernel raises nothing, and calls nothing that does.
_LEFT_OUT = (".eh_frame",)


@dataclass(frozen=True, slots=True)
class Section:
    """Bytes that are loaded, by what may be done with them (`ALLOC` and `EXECUTE`)."""

    number: int
    name: str
    flags: int
    align: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name for a place in a section; `section` 0 is none of this object's."""

    name: str
    section: int
    offset: int
    size: int
    is_global: bool
    is_function: bool
    is_visible: bool


@dataclass(frozen=True, slots=True)
class Relocation:
    """What of a section depends on where a symbol lies."""

    section: int
    offset: int
    kind: int
    symbol: Symbol
    addend: int


@dataclass(frozen=True, slots=True)
class ElfObject:
    """An object file of one machine, `X86_64` or `AARCH64`."""

    machine: int
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    relocations: tuple[Relocation, ...]


def read_object(content: bytes) -> ElfObject:
    """DSL0952 for what is no object file of these machines, or has state of its own."""
    machine = int.from_bytes(content[18:20], "little")
    if not content.startswith(_MAGIC) or machine not in (X86_64, AARCH64):
        refuse("it is no object of ELF for x86-64 or AArch64")
    if int.from_bytes(content[16:18], "little") != _RELOCATABLE:
        refuse("it is linked already")
    try:
        return ElfObject(machine, *_Reader(content).parts())
    except (struct.error, IndexError, ValueError, OverflowError) as problem:
        refuse(f"it is damaged: {problem}")


def refuse(what: str) -> NoReturn:
    """DSL0952: an object that generators do not make."""
    raise error(
        "DSL0952", f"the object cannot be linked: {what}", hint="this is a defect of the generator"
    )


@dataclass(frozen=True, slots=True)
class _Header:
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


class _Reader:
    """The tables of an object file."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._headers = self._read_headers()

    def parts(self) -> tuple[tuple[Section, ...], tuple[Symbol, ...], tuple[Relocation, ...]]:
        """Sections, symbols and relocations."""
        sections = {s.number: s for s in self._sections()}
        tables = [h for h in self._headers if h.kind == _SYMTAB]
        symbols = tuple(self._symbols(tables[0])) if tables else ()
        relocations = tuple(
            r
            for h in self._headers
            if h.kind == _RELA and h.info in sections
            for r in self._relocations(h, symbols)
        )
        return tuple(sections.values()), symbols, relocations

    def _read_headers(self) -> list[_Header]:
        (table,) = struct.unpack_from("<Q", self._content, 40)
        width, count, names = struct.unpack_from("<HHH", self._content, 58)
        raw = [
            struct.unpack_from("<IIQQQQIIQQ", self._content, table + i * width)
            for i in range(count)
        ]
        return [
            _Header(self._text(raw[names][4], n), kind, flags, at, size, link, info, max(1, align))
            for n, kind, flags, _, at, size, link, info, align, _ in raw
        ]

    def _text(self, table: int, at: int) -> str:
        end = self._content.index(b"\0", table + at)
        return self._content[table + at : end].decode()

    def _sections(self) -> Iterator[Section]:
        for number, h in enumerate(self._headers):
            if not h.flags & ALLOC or not h.size or h.name in _LEFT_OUT:
                continue
            if h.kind == _NOBITS or h.flags & WRITE:
                refuse(f"{h.name} can be written, and kernels have no state between calls")
            if h.kind == _PROGBITS:
                content = self._content[h.offset : h.offset + h.size]
                yield Section(number, h.name, h.flags & (ALLOC | EXECUTE), h.align, content)

    def _symbols(self, table: _Header) -> Iterator[Symbol]:
        names = self._headers[table.link].offset
        for at in range(table.offset, table.offset + table.size, 24):
            name, info, other, section, value, size = struct.unpack_from(
                "<IBBHQQ", self._content, at
            )
            text = self._text(names, name)
            if section == _COMMON:
                refuse(f"{text} can be written, and kernels have no state between calls")
            bound = info >> 4 in (_GLOBAL, _WEAK)
            is_function = info & 15 == _FUNCTION
            if info & 15 == _SECTION:
                text = self._headers[section].name
            within = 0 if section == _ABSOLUTE else section
            yield Symbol(text, within, value, size, bound, is_function, other & 3 == 0)

    def _relocations(self, h: _Header, symbols: tuple[Symbol, ...]) -> Iterator[Relocation]:
        for at in range(h.offset, h.offset + h.size, 24):
            offset, info, addend = struct.unpack_from("<QQq", self._content, at)
            yield Relocation(h.info, offset, info & 0xFFFFFFFF, symbols[info >> 32], addend)
