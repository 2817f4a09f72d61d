"""Dot without a matrix unit: operands through shared memory, each thread its own elements."""

from __future__ import annotations

from math import prod

from dslc.codegen.c_family import control
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.indexing import add, chunks, loops
from dslc.codegen.c_family.memory.accesses import first_copy
from dslc.codegen.c_family.registers import Tile
from dslc.compiler.analysis.thread_products import slab_bytes, slab_depth
from dslc.compiler.ir import instructions as ins


def dot(e: Emission, s: ins.Dot) -> None:
    """out = a @ b (+ acc) by multiply-adds."""
    a, b = e.tile(s.a), e.tile(s.b)
    out = e.new(s.out, zero=s.acc is None)
    if s.acc is not None:
        control.copy(e, out, e.tile(s.acc))
    *batch, m, k = a.layout.shape
    n = b.layout.shape[-1]
    ctype = "double" if out.dtype.bits == 64 else "float" if out.dtype.is_float else "int"
    count = prod(batch)
    slab = slab_depth(s)
    area = e.scratch(slab_bytes(s))
    left, right = f"(({ctype}*){area})", f"(({ctype}*){area} + {count * m * slab})"
    k0 = e.out.name("k")
    with e.out.block(f"for (int {k0} = 0; {k0} < {k}; {k0} += {slab})"):
        _spill(e, a, left, -1, k0, slab)
        _spill(e, b, right, -2, k0, slab)
        e.out.line(e.together)
        bound = f"({k} - {k0} < {slab} ? {k} - {k0} : {slab})" if k % slab else str(slab)
        e.out.line(
            "#pragma unroll 4"
        )  # all iterations' operands at once would be too many registers
        with e.out.block(f"for (int j = 0; j < {bound}; ++j)"):
            parts = chunks(out.layout, 1, e.out)
            with loops(e.out, parts):
                at = [
                    add(e.bases.base(out.layout, d), parts.offset(d)) for d in range(len(batch) + 2)
                ]
                z = _linear([f"({x})" for x in at[:-2]], batch)
                x = f"{left}[(({z}) * {m} + {at[-2]}) * {slab} + j]"
                y = f"{right}[(({z}) * {slab} + j) * {n} + {at[-1]}]"
                i = parts.element
                if ctype == "int":
                    total = f"(unsigned){out.name}[{i}] + (unsigned){x} * (unsigned){y}"
                    e.out.line(f"{out.name}[{i}] = (int)({total});")
                else:
                    fma = "fmaf" if ctype == "float" else "fma"
                    e.out.line(f"{out.name}[{i}] = {fma}({x}, {y}, {out.name}[{i}]);")
        if slab < k:  # the next slab is written where this one is read
            e.barrier()


def _spill(e: Emission, x: Tile, cells: str, axis: int, k0: str, slab: int) -> None:
    """Write the part of an operand whose inner index is in this slab."""
    shape = list(x.layout.shape)
    inner = len(shape) + axis
    parts = chunks(x.layout, 1, e.out)
    shape[inner] = slab
    once = first_copy(x.layout)
    with loops(e.out, parts):
        at = [add(e.bases.base(x.layout, d), parts.offset(d)) or "0" for d in range(len(shape))]
        e.out.line(f"const int j = {at[inner]} - {k0};")
        at[inner] = "j"
        where = _linear([f"({t})" for t in at], shape)
        conditions = " && ".join(c for c in (once, f"j >= 0 && j < {slab}") if c)
        e.out.line(f"if ({conditions}) {cells}[{where}] = {x.read(parts.element)};")


def _linear(at: list[str], shape: list[int]) -> str:
    """The row-major number of coordinates."""
    text = "0"
    for x, n in zip(at, shape, strict=True):
        text = x if text == "0" else f"({text}) * {n} + {x}"
    return text


EMITTERS: dict[type, Emitter] = {ins.Dot: dot}
