"""Instructions that reach memory.

An address is a pointer and an offset in bytes, a scalar of dtype index. Elements lie as in the arrays
of a call: little-endian, bools and codes of fewer than 8 bits in a byte each (bits above a code are
ignored by loads and 0 or the sign in stores). `align` is a number of bytes that the address is a
multiple of; 1 promises nothing. Lanes whose mask is false are not accessed and cannot fault.
"""

from __future__ import annotations

from dataclasses import dataclass

from dslc.compiler.diagnostics import Loc
from dslc.compiler.ir.located import loc_field as _loc
from dslc.compiler.vector.values import Operand, Register

ATOMIC_OPS = ("add", "min", "max", "and", "or", "xor", "exchange")
ORDERS = ("relaxed", "acquire", "release", "acq_rel")


@dataclass(frozen=True, slots=True, eq=False)
class Advance:
    """The pointer so many bytes further on."""

    out: Register
    pointer: Operand
    offset: Operand
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Allocate:
    """A pointer to memory of the function's own, undefined at first, until the function ends."""

    out: Register
    size: int
    align: int = 64
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A pointer to constant numbers, which lie as the elements of an array of their dtype."""

    out: Register
    data: Operand
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """Consecutive elements. Lanes whose mask is false are those of `fill`, or 0 where there is none."""

    out: Register
    pointer: Operand
    offset: Operand
    mask: Operand | None = None
    fill: Operand | None = None
    align: int = 1
    nontemporal: bool = False
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class LoadStrided:
    """Elements `stride` bytes apart, a scalar of dtype index; mask and fill as of Load."""

    out: Register
    pointer: Operand
    offset: Operand
    stride: Operand
    mask: Operand | None = None
    fill: Operand | None = None
    align: int = 1
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Gather:
    """Elements at offset + index[i] * scale bytes, index a vector of integers.

    Mask and fill are as of Load. `scale` is any number of bytes; the product is taken in 64 bits.
    """

    out: Register
    pointer: Operand
    offset: Operand
    index: Operand
    mask: Operand | None = None
    fill: Operand | None = None
    scale: int = 1
    align: int = 1
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class LoadPacked:
    """Codes of fewer than 8 bits one after another in a string of bits, the first in the lowest bits of
    the first byte.

    Reads as many bytes as hold lanes * bits bits, and no more.
    """

    out: Register
    pointer: Operand
    offset: Operand
    align: int = 1
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """Consecutive elements, those whose mask is true. A non-temporal store bypasses caches; a Fence
    orders it.
    """

    pointer: Operand
    offset: Operand
    value: Operand
    mask: Operand | None = None
    align: int = 1
    nontemporal: bool = False
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class StoreStrided:
    """Elements `stride` bytes apart, the first lane first."""

    pointer: Operand
    offset: Operand
    stride: Operand
    value: Operand
    mask: Operand | None = None
    align: int = 1
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Scatter:
    """Elements to offset + index[i] * scale bytes, the first lane first."""

    pointer: Operand
    offset: Operand
    index: Operand
    value: Operand
    mask: Operand | None = None
    scale: int = 1
    align: int = 1
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class StorePacked:
    """Codes of fewer than 8 bits one after another, as LoadPacked reads them.

    lanes * bits is a multiple of 8.
    """

    pointer: Operand
    offset: Operand
    value: Operand
    align: int = 1
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Prefetch:
    """A hint that the cache line at the address will be read, or with `write` written.

    `locality` is 3 for all caches, 2 and 1 for farther ones, 0 for data that is used once. Any address
    will do.
    """

    pointer: Operand
    offset: Operand
    write: bool = False
    locality: int = 3
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class AtomicUpdate:
    """out = the scalar in memory, which becomes op(it, value) at once; op from ATOMIC_OPS.

    The address is a multiple of the scalar's bytes.
    """

    out: Register
    op: str
    pointer: Operand
    offset: Operand
    value: Operand
    order: str = "relaxed"
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class CompareExchange:
    """out = the integer in memory, which becomes `value` at once if it is `expected`."""

    out: Register
    pointer: Operand
    offset: Operand
    expected: Operand
    value: Operand
    order: str = "relaxed"
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class AtomicLoad:
    """A scalar that other threads may write meanwhile."""

    out: Register
    pointer: Operand
    offset: Operand
    order: str = "relaxed"
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class AtomicStore:
    """A scalar that other threads may read meanwhile."""

    pointer: Operand
    offset: Operand
    value: Operand
    order: str = "relaxed"
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Fence:
    """Orders accesses of this thread: those before, non-temporal stores too, are seen before those
    after it.
    """

    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Pause:
    """A hint that this thread waits for another in a loop."""

    loc: Loc | None = _loc()
