"""Shared libraries read: what to lay into memory, and where the functions are.

Only what our own libraries have: segments to load and dynamic symbols; code that is independent of its
place and refers to nothing outside. (System V ABI, Object Files; ELF for the Arm 64-bit Architecture.)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from dslc.runtime.aarch64_emulator.errors import EmulationError

_MAGIC = b"\x7fELF\x02\x01\x01"  # 64 bits, little endian, version 1
_AARCH64 = 183
_LOAD = 1
_LARGEST = 1 << 30  # bytes of an image
_RELA, _DYNSYM = 4, 11


@dataclass(frozen=True, slots=True)
class Image:
    """A library as it lies in memory from its first byte on, and its functions' offsets there."""

    content: bytes
    functions: dict[str, int]

    def nearest(self, offset: int) -> str | None:
        """The function that begins last before an offset, and how far behind that is."""
        before = [(at, name) for name, at in self.functions.items() if at <= offset]
        return f"{max(before)[1]}+{offset - max(before)[0]:#x}" if before else None


def read_image(library: bytes) -> Image:
    """The image of a library; EmulationError for a file that is none of AArch64, or needs others."""
    if not library.startswith(_MAGIC) or _half(library, 18) != _AARCH64:
        raise EmulationError("the file is no library of AArch64")
    try:
        return _image(library)
    except (
        struct.error,
        IndexError,
        ValueError,
        OverflowError,
    ) as problem:  # a place that is not in the file
        raise EmulationError(f"the library is damaged: {problem}") from None


def _image(library: bytes) -> Image:
    loaded = bytearray()
    for offset, address, size, room in _segments(library):
        if address + max(size, room) > _LARGEST:
            raise ValueError(f"a segment ends at {address + max(size, room):#x}")
        loaded += bytes(max(0, address + room - len(loaded)))
        loaded[address : address + size] = library[offset : offset + size]
    functions: dict[str, int] = {}
    sections = list(_sections(library))
    for kind, offset, size, linked in sections:
        if kind == _RELA and size:
            raise EmulationError("the library has relocations: its code depends on its place")
        if kind == _DYNSYM:
            names = sections[linked][1]
            functions |= dict(_symbols(library, offset, size, names))
    return Image(bytes(loaded), functions)


def _segments(library: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Offset in the file, address, bytes in the file and in memory of what is to be loaded."""
    (table,) = struct.unpack_from("<Q", library, 32)
    width, count = _half(library, 54), _half(library, 56)
    for i in range(count):
        kind, _, offset, address, _, size, room = struct.unpack_from(
            "<IIQQQQQ", library, table + i * width
        )
        if kind == _LOAD:
            yield offset, address, size, room


def _sections(library: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Kind, offset, size and linked section."""
    (table,) = struct.unpack_from("<Q", library, 40)
    width, count = _half(library, 58), _half(library, 60)
    for i in range(count):
        at = table + i * width
        _, kind, _, _, offset, size, linked = struct.unpack_from("<IIQQQQI", library, at)
        yield kind, offset, size, linked


def _symbols(library: bytes, table: int, size: int, names: int) -> Iterator[tuple[str, int]]:
    for at in range(table, table + size, 24):
        name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", library, at)
        if section:
            end = library.index(b"\0", names + name)
            yield library[names + name : end].decode(), value
        elif name:
            raise EmulationError("the library needs symbols of others")


def _half(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "little")
