"""Sums of products by a unit of matrices: tiles of 16 rows and 16 columns of words, panels as they are.

A row of the first operand's panel is a row of a tile of a; sixteen words along k of a block of columns
are the rows of a tile of b. A step multiplies two tiles of rows by two of columns, so that each tile
is loaded for two products:

    sums 0 1     a 4     b 6 7
         2 3       5

Sums that run on through a loop stay in memory between blocks of k; those of an iteration of its own
go through memory to what is computed of them, a row at a time.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from dslc.codegen.chunks.intervals import interval
from dslc.codegen.cpu.places import Array
from dslc.codegen.cpu.products.panels import Columns, Rows
from dslc.codegen.cpu.products.register_tiles import Shape
from dslc.codegen.cpu.products.units import I8, Unit, in_bf16
from dslc.codegen.cpu.transfer import address, element
from dslc.compiler.dtypes import BF16, F32, I32, U8
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear
from dslc.compiler.ir.arithmetic.index_arithmetic import div
from dslc.compiler.vector import matrix_instructions as mat
from dslc.compiler.vector.types import VectorType, memory_bytes

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission

LANES = mat.ROW_BYTES // 4  # columns of a tile of sums
_WORD = 4
_FEWEST = 32  # bytes along k of a tile that is worth it
_SIGNS = {(True, True): "tdpbssd", (True, False): "tdpbsud", (False, True): "tdpbusd"}


def unit_for(e: Emission, i: ins.Dot) -> Unit | None:
    """The unit of a product of whole tiles, if the machine has one for its operands."""
    *batch, m, n = i.out.type.shape
    if batch or m % mat.ROWS or n % LANES or i.is_scaled:
        return None
    found = _unit(e, i)
    if found is None or _row_bytes(found, i.a.type.shape[-1]) < _FEWEST:
        return None
    return found


def _unit(e: Emission, i: ins.Dot) -> Unit | None:
    a, b = i.a.type.dtype, i.b.type.dtype
    if a.is_float:
        fits = "tdpbf16ps" in e.machine.atoms and a.bits <= 16 and in_bf16(i)
        return Unit("tdpbf16ps", BF16, BF16, F32, 2, LANES) if fits else None
    if max(a.bits, b.bits) > 8 or "tdpbssd" not in e.machine.atoms:
        return None
    signs = (interval(i.a, e.lazy)[1] <= 127, interval(i.b, e.lazy)[1] <= 127)
    kinds = [I8 if signed else U8 for signed in signs]
    return Unit(_SIGNS.get(signs, "tdpbuud"), kinds[0], kinds[1], I32, 4, LANES)


def _row_bytes(unit: Unit, k: int) -> int:
    """The bytes of a row of a tile of a, which divide those of k; 0 where words do not."""
    size = k * memory_bytes(VectorType(unit.a))
    return gcd(size, mat.ROW_BYTES) if size % _WORD == 0 else 0


def shape_for(m: int, n: int) -> Shape:
    """Rows and registers of columns of a step."""
    rows = 2 * mat.ROWS if m % (2 * mat.ROWS) == 0 else mat.ROWS
    most = 4 * mat.ROWS // rows
    return Shape(rows, next(c for c in (4, 2, 1) if c <= most and n % (c * LANES) == 0))


def configure(e: Emission, unit: Unit, k: int) -> None:
    """All tiles: sums are whole, those of a and b as long as the product allows."""
    size = _row_bytes(unit, k)
    e.b.append(
        mat.TileConfigure(
            (mat.ROWS,) * 6 + (size // _WORD,) * 2,
            (mat.ROW_BYTES,) * 4 + (size,) * 2 + (mat.ROW_BYTES,) * 2,
        )
    )


def release(e: Emission) -> None:
    """No tiles from here on."""
    e.b.append(mat.TileRelease())


def begin(e: Emission, shape: Shape) -> None:
    """Sums of no products."""
    for number in range(shape.rows // mat.ROWS * shape.count):
        e.b.append(mat.TileZero(number))


def load(e: Emission, shape: Shape, array: Array, y: Linear, x: Linear) -> None:
    """Sums from memory, those from row y and column x on."""
    for number, where in _places(shape, y, x):
        pointer, offset = address(e, array, element(array, where))
        e.b.append(mat.TileLoad(pointer, offset, e.b.offset(_stride(array)), number))


def store(e: Emission, shape: Shape, array: Array, y: Linear, x: Linear) -> None:
    """Sums to memory."""
    for number, where in _places(shape, y, x):
        pointer, offset = address(e, array, element(array, where))
        e.b.append(mat.TileStore(pointer, offset, e.b.offset(_stride(array)), number))


def multiply(
    e: Emission,
    shape: Shape,
    a: Rows,
    b: Columns,
    y: Linear,
    x: Linear,
    block: Linear,
    first: Linear,
    steps: ex.Expr,
) -> None:
    """Sums plus the products of `steps` words from element x of rows y and word `first` of a block."""
    unit = a.unit
    words = _row_bytes(unit, a.k) // _WORD
    stride_a, stride_b = _stride(a.array), b.count * mat.ROW_BYTES
    above = shape.rows // mat.ROWS
    with e.loop("k", ex.index(0), div(steps, words), 1, movable=False) as (at, _):
        here = at.scale(words)
        for r in range(above):
            place = (y + Linear(constant=r * mat.ROWS), x + here.scale(unit.depth))
            pointer, offset = address(e, a.array, element(a.array, place))
            e.b.append(mat.TileLoad(pointer, offset, e.b.offset(stride_a), 4 + r))
        for c in range(shape.count):
            pointer, offset = address(e, b.array, b.place(block, first + here, c))
            tile = 6 + c % 2
            e.b.append(mat.TileLoad(pointer, offset, e.b.offset(stride_b), tile))
            for r in range(above):
                e.b.append(mat.TileDot(unit.atom, r * shape.count + c, 4 + r, tile))


def _places(shape: Shape, y: Linear, x: Linear) -> list[tuple[int, tuple[Linear, Linear]]]:
    """The tiles of sums, and where each begins."""
    return [
        (
            r * shape.count + c,
            (y + Linear(constant=r * mat.ROWS), x + Linear(constant=c * LANES)),
        )
        for r in range(shape.rows // mat.ROWS)
        for c in range(shape.count)
    ]


def _stride(array: Array) -> int:
    """The bytes between rows."""
    assert array.strides[0].is_constant
    return array.strides[0].constant * array.size
