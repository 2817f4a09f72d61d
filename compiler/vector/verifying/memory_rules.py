"""What an instruction that reaches memory keeps to."""

from __future__ import annotations

from typing import Any

from dslc.compiler.dtypes import BOOL
from dslc.compiler.vector import matrix_instructions as mat
from dslc.compiler.vector import memory_instructions as mem
from dslc.compiler.vector.traverse import shape
from dslc.compiler.vector.types import POINTER, Type, VectorType, is_index
from dslc.compiler.vector.values import Constant
from dslc.compiler.vector.verifying.register_rules import Fail, attribute, dtypes, lanes, same

_MOST_STACK = 1 << 16  # bytes of an Allocate: a thread of a pool may have little
_STRIDED = (mem.LoadStrided, mem.StoreStrided)
_INDEXED = (mem.Gather, mem.Scatter)
_ATOMIC = (mem.AtomicUpdate, mem.CompareExchange, mem.AtomicLoad, mem.AtomicStore)
_PACKED = (mem.LoadPacked, mem.StorePacked)


def check_access(stmt: Any) -> Fail | None:
    """The first fault of an instruction of `vector/memory_instructions.py`."""
    match stmt:
        case mem.Fence() | mem.Pause() | mat.TileRelease():
            return None
        case mat.TileConfigure():
            return _shapes(stmt)
        case mat.TileZero(tile=tile):
            return _tiles(tile)
        case mat.TileDot(atom=atom):
            known = None if atom in mat.TILE_ATOMS else attribute(f"there is no product {atom}")
            return known or _tiles(stmt.sums, stmt.a, stmt.b)
        case mem.Allocate():
            if not 0 < stmt.size <= _MOST_STACK:
                return attribute(f"a function's own memory is 1 to {_MOST_STACK} bytes")
            return _alignment(stmt.align) or same(
                "a pointer and the result", POINTER, stmt.out.type
            )
        case mem.Table():
            failed = None if isinstance(stmt.data, Constant) else dtypes("a table is of constants")
            return failed or same("a pointer and the result", POINTER, stmt.out.type)
    if stmt.pointer.type != POINTER:
        return dtypes(f"an address begins with a pointer, not with {stmt.pointer.type}")
    if not is_index(stmt.offset.type):
        return dtypes(f"an offset is a scalar of dtype index, not {stmt.offset.type}")
    match stmt:
        case mem.Advance():
            return same("a pointer and the result", POINTER, stmt.out.type)
        case mat.TileLoad() | mat.TileStore():
            if not is_index(stmt.stride.type):
                return dtypes(f"a stride is a scalar of dtype index, not {stmt.stride.type}")
            return _tiles(stmt.tile)
        case mem.Prefetch():
            return None if 0 <= stmt.locality <= 3 else attribute("locality is 0 to 3")
    if failed := _alignment(getattr(stmt, "align", 1)):
        return failed
    return _elements(stmt, stmt.value.type if hasattr(stmt, "value") else stmt.out.type)


def _shapes(stmt: mat.TileConfigure) -> Fail | None:
    for sizes, most in ((stmt.rows, mat.ROWS), (stmt.row_bytes, mat.ROW_BYTES)):
        if len(sizes) != mat.TILES or not all(0 < n <= most for n in sizes):
            return attribute(f"{mat.TILES} tiles have 1 to {most} of these, not {sizes}")
    whole = all(n % 4 == 0 for n in stmt.row_bytes)
    return None if whole else attribute("a tile's rows are whole words of 4 bytes")


def _tiles(*numbers: int) -> Fail | None:
    if len(set(numbers)) != len(numbers) or not all(0 <= n < mat.TILES for n in numbers):
        return attribute(f"tiles are different ones of 0 to {mat.TILES - 1}, not {numbers}")
    return None


def _alignment(align: int) -> Fail | None:
    if align < 1 or align & (align - 1):
        return attribute(f"an alignment is a power of two, not {align}")
    return None


def _elements(stmt: Any, type_: Type) -> Fail | None:
    """The rule of what is loaded or stored, of the given type."""
    if isinstance(stmt, _ATOMIC):
        return _atomic(stmt, type_)
    mask, fill = getattr(stmt, "mask", None), getattr(stmt, "fill", None)
    if not isinstance(type_, VectorType):
        plain = isinstance(stmt, (mem.Load, mem.Store)) and mask is None and fill is None
        return None if plain else dtypes("pointers are loaded and stored one by one, without mask")
    if isinstance(stmt, _PACKED):
        if not type_.dtype.is_low_bit:
            return dtypes(f"codes of fewer than 8 bits are packed, not {type_.dtype}")
        if isinstance(stmt, mem.StorePacked) and type_.count * type_.dtype.bits % 8:
            return lanes(f"{type_} does not end with a byte")
    if isinstance(stmt, _STRIDED) and not is_index(stmt.stride.type):
        return dtypes(f"a stride is a scalar of dtype index, not {stmt.stride.type}")
    if isinstance(stmt, (*_STRIDED, *_INDEXED)) and type_.lanes is None:
        return lanes("elements apart from each other are a vector")
    if isinstance(stmt, _INDEXED):
        at = stmt.index.type
        if not isinstance(at, VectorType) or not at.dtype.is_integer or at.lanes != type_.lanes:
            return lanes(f"index is {type_.lanes} integers, not {at}")
    if mask is not None and mask.type != type_.of(BOOL):
        return lanes(f"the mask of {type_} is {type_.of(BOOL)}, not {mask.type}")
    if fill is not None:
        return same("fill and the result", fill.type, type_)
    return None


def _atomic(stmt: Any, type_: Type) -> Fail | None:
    if not isinstance(type_, VectorType) or type_.lanes is not None or type_.dtype == BOOL:
        return dtypes(f"an atomic access is of a scalar, not of {type_}")
    if type_.dtype.bits < 8:
        return dtypes(f"an atomic access is of 8 bits or more, not of {type_}")
    if stmt.order not in mem.ORDERS:
        return attribute(f"there is no order {stmt.order}")
    if isinstance(stmt, mem.AtomicLoad) and stmt.order in ("release", "acq_rel"):
        return attribute("a load is relaxed or acquires")
    if isinstance(stmt, mem.AtomicStore) and stmt.order in ("acquire", "acq_rel"):
        return attribute("a store is relaxed or releases")
    if isinstance(stmt, mem.AtomicUpdate):
        if stmt.op not in mem.ATOMIC_OPS:
            return attribute(f"there is no atomic {stmt.op}")
        if type_.dtype.is_float and stmt.op in ("and", "or", "xor"):
            return dtypes(f"{stmt.op} is no operation of {type_}")
    if isinstance(stmt, mem.CompareExchange):
        if not type_.dtype.is_integer:
            return dtypes(f"integers are compared and exchanged, not {type_}")
        if failed := same("expected and value", stmt.expected.type, type_):
            return failed
    return (
        same("value and the result", type_, stmt.out.type) if shape(type(stmt)).has_result else None
    )
