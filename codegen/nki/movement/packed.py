"""Low-bit parameters: compact rows of bytes, unpacked by each partition for itself.

Codes of b bits repeat in periods: 8 / gcd(8, b) codes lie in b / gcd(8, b) bytes. Each code of the
period is one instruction on strided bytes (a shift and a mask), or two and their union where it crosses
from one byte to the next (the Tilus paper, section 6.2, with the partition as the thread).
"""

from __future__ import annotations

from functools import partial
from math import gcd, prod

import numpy as np
from dslc.codegen.nki.emission import At, Emission, Emit
from dslc.codegen.nki.movement import accesses
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import INDEX, U8, DType, encode
from dslc.compiler.ir import AxisSlice, Memory, Region
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, simplify
from dslc.compiler.passes.trainium.placement import placement_of


def lies_in_rows(stmt: ins.Stmt) -> bool:
    """Whether each partition has the codes of whole bytes, which it can unpack for itself."""
    assert isinstance(stmt, ins.Load)
    layout = stmt.out.type.layout
    place = None if layout is None else placement_of(layout)
    return place is not None and place.axis != stmt.out.type.rank - 1 and place.run == 1


def load(e: Emission, stmt: ins.Load) -> None:
    """A tile from memory: codes of fewer than 8 bits are unpacked from their bytes."""
    memory = stmt.region.memory
    if not (memory.dtype.is_low_bit and memory.packed == "row"):
        accesses.load(e, stmt)
        return
    bits = memory.dtype.bits
    region = _bytes(e, stmt.region, bits)
    count = region.axes[-1].size
    shape = (*stmt.out.type.shape[:-1], count)
    raw = e.tile(f"{stmt.out.name}_bytes", U8, shape, e.place(stmt.out))
    with e.filled(raw) as at:
        blank = partial(_blank, e, raw, at, memory.dtype, stmt.other)
        accesses.read(e, region, raw, at, blank=blank)
    out = e.result(stmt.out)
    with e.filled(out) as at:
        unpack(e, out, raw, at, memory.dtype)


def _blank(e: Emission, raw: TileValue, at: At, dtype: DType, other: ex.Expr | None) -> None:
    """The bytes of rows of one code."""
    if other is None or (isinstance(other, ex.Const) and other.value == 0):
        e.call("memset", dst=e.text(raw, at), value="0")
        return
    code = f"({accesses.filling(e, other)}) % {1 << dtype.bits}"
    if dtype.is_float:
        assert isinstance(other, ex.Const)
        code = str(int(encode(np.array(other.value, np.float64), dtype)))
    period, group = 8 // gcd(8, dtype.bits), dtype.bits // gcd(8, dtype.bits)
    row = sum(1 << place * dtype.bits for place in range(period))
    for byte in range(group):
        dst = _every(e, raw, at, byte, group, prod(raw.extents) // group)
        e.call("memset", dst=dst, value=f"({code}) * {row} // {1 << 8 * byte} % 256")


def _bytes(e: Emission, region: Region, bits: int) -> Region:
    """The same region of the parameter's bytes: `codegen.row_codes` left what is whole ones."""
    *axes, last = region.axes
    memory = region.memory
    *extents, width = memory.shape
    number = constant(width)
    assert number is not None
    start = simplify(ex.Binary("mul", last.start, ex.index(bits), INDEX))
    first = simplify(ex.Binary("floordiv", start, ex.index(8), INDEX))
    row = ex.index(int(number) * bits // 8)
    flat = Memory(memory.name, U8, (*extents, row), memory.role, memory.place)
    shape = ", ".join(e.scalar(n) for n in flat.shape)
    e.memories[flat] = f"{e.memories[memory]}.reshape(({shape},))"
    moved = AxisSlice(first, last.size * bits // 8, checked=last.checked)
    return Region(flat, (*axes, moved))


def unpack(e: Emission, made: TileValue, raw: TileValue, at: At, dtype: DType) -> None:
    """One chunk of codes from its bytes."""
    bits = dtype.bits
    period, group = 8 // gcd(8, bits), bits // gcd(8, bits)
    mask = (1 << bits) - 1
    count = prod(made.extents) // period
    for code in range(period):
        byte, shift = divmod(code * bits, 8)
        dst = _every(e, made, at, code, period, count)
        source = _every(e, raw, at, byte, group, count)
        if shift + bits <= 8:
            _shifted(e, dst, source, "nl.right_shift", shift, mask)
            continue
        low, high = e.out.name("low"), e.out.name("high")
        for name in (low, high):
            e.out.line(f"{name} = nl.ndarray(({at.rows}, {count}), dtype=nl.uint8, buffer=nl.sbuf)")
        _shifted(e, low, source, "nl.right_shift", shift, mask)
        following = _every(e, raw, at, byte + 1, group, count)
        _shifted(e, high, following, "nl.left_shift", 8 - shift, mask)
        e.call("tensor_tensor", dst=dst, data1=low, data2=high, op="nl.bitwise_or")
    if dtype.is_integer and dtype.is_signed:
        top = 1 << (bits - 1)
        every = e.text(made, at)
        e.call("tensor_scalar", dst=every, data=every, op0="nl.bitwise_xor", operand0=top)
        e.call("tensor_scalar", dst=every, data=every, op0="nl.subtract", operand0=float(top))


def _shifted(e: Emission, dst: str, src: str, op: str, shift: int, mask: int) -> None:
    e.call(
        "tensor_scalar",
        dst=dst,
        data=src,
        op0=op,
        operand0=shift,
        op1="nl.bitwise_and",
        operand1=mask,
    )


def _every(e: Emission, held: TileValue, at: At, start: int, step: int, count: int) -> str:
    """Every so many elements of a partition."""
    if len(held.extents) == 1:
        stop = start + (count - 1) * step + 1
        stepped = f":{step}" if step > 1 else ""
        return f"{e.base(held, at)}[0:{at.rows}, {start}:{stop}{stepped}]"
    size = prod(held.extents)
    offset = f", offset={start}" if start else ""
    return f"{e.base(held, at)}.ap(pattern=[[{size}, {at.rows}], [{step}, {count}]]{offset})"


EMITTERS: dict[type, Emit] = {ins.Load: load}
