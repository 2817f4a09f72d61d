"""Relocations by which code and constants find each other, at whatever address they lie.

Only those that are of a distance: a library of ours is mapped as it stands, and its loader has nothing
to write. (System V ABI, AMD64 supplement, 4.4; ELF for the Arm 64-bit Architecture, 5.7.)
"""

from __future__ import annotations

from dslc.codegen.cpu.tools.elf_objects import AARCH64, X86_64, refuse

# x86-64: distances of 32 and 64 bits; a call's (PLT32) is one where the callee is in the library.
_PC32, _PLT32, _PC64 = 2, 4, 24
# AArch64
_PREL64, _PREL32 = 260, 261
_ADR, _ADR_PAGE, _ADD_LOW = 274, 275, 277
_BRANCH14, _BRANCH19, _JUMP26, _CALL26 = 279, 280, 282, 283
_LOW = {_ADD_LOW: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4}  # by the bits that a load shifts
# The branches' offsets: bits of the field, its place in the instruction.
_BRANCHES = {_BRANCH14: (14, 5), _BRANCH19: (19, 5), _JUMP26: (26, 0), _CALL26: (26, 0)}
_PAGE = 12


def apply(image: bytearray, machine: int, kind: int, place: int, target: int) -> None:
    """Write into the image, which lies at address 0, what a relocation asks for at `place`.

    `target` is the symbol's address with the addend. DSL0952 for other relocations, and for distances
    that have no room.
    """
    distance = target - place
    if machine == X86_64 and kind in (_PC32, _PLT32):
        _put(image, place, 4, distance)
    elif (machine, kind) in ((X86_64, _PC64), (AARCH64, _PREL64)):
        _put(image, place, 8, distance)
    elif machine == AARCH64 and kind == _PREL32:
        _put(image, place, 4, distance)
    elif machine == AARCH64:
        _instruction(image, kind, place, target)
    else:
        refuse(f"relocation {kind} of x86-64 is none of a distance")


def _put(image: bytearray, place: int, size: int, value: int) -> None:
    try:
        image[place : place + size] = value.to_bytes(size, "little", signed=True)
    except OverflowError:
        refuse(f"a distance of {value} bytes has no room")


def _instruction(image: bytearray, kind: int, place: int, target: int) -> None:
    word = int.from_bytes(image[place : place + 4], "little")
    if kind in _LOW:
        shift = _LOW[kind]
        low = target & ((1 << _PAGE) - 1)
        if low & ((1 << shift) - 1):
            refuse(f"a load of {1 << shift} bytes is not aligned")
        word |= low >> shift << 10
    elif kind in (_ADR, _ADR_PAGE):
        pages = (target >> _PAGE) - (place >> _PAGE)
        value = _field(pages if kind == _ADR_PAGE else target - place, 21)
        word |= (value & 3) << 29 | value >> 2 << 5
    elif kind in _BRANCHES:
        bits, at = _BRANCHES[kind]
        word |= _field((target - place) >> 2, bits) << at
    else:
        refuse(f"relocation {kind} of AArch64 is none of a distance")
    image[place : place + 4] = word.to_bytes(4, "little")


def _field(value: int, bits: int) -> int:
    """A signed value in so many bits."""
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        refuse(f"a distance of {value} has no room in {bits} bits")
    return value & ((1 << bits) - 1)
