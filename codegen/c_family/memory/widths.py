"""How wide an access of a region by a layout may be: what layouts, units and proved alignment allow."""

from __future__ import annotations

from math import gcd

from dslc.codegen.c_family.ctypes_of import memory_bits
from dslc.codegen.c_family.emission import Emission
from dslc.codegen.c_family.indexing import fastest_run
from dslc.codegen.c_family.scalars import unsupported
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Memory, Place, Region, alignment
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.layout import Layout

MAX_BYTES = 16


def strides(memory: Memory) -> tuple[ex.Expr, ...]:
    """Elements between neighbours along each axis."""
    if memory.strides is not None:
        return memory.strides
    steps: list[ex.Expr] = [ex.index(1)]
    for extent in memory.shape[:0:-1]:
        steps.append(simplify(ex.Binary("mul", steps[-1], extent, INDEX)))
    return tuple(reversed(steps))


def multiple(e: Emission, expression: ex.Expr) -> int:
    """A number that is proved to divide an index expression (0 divides into 0)."""
    modulus, residue = e.facts.prover.congruence(e.facts.form(expression))
    return gcd(modulus, residue)


def tile_axis(region: Region, axis: int) -> int:
    """The tile's axis that a memory axis which is not dropped gives."""
    return sum(not a.dropped for a in region.axes[:axis])


def is_row(memory: Memory) -> bool:
    """Whether elements lie bit beside bit, so that each is taken out of its bytes."""
    return memory.packed == "row" and memory.dtype.bits < 8


def refuse_row(memory: Memory) -> None:
    """DSL0590 where addresses are by the byte."""
    if is_row(memory):
        raise unsupported(f"this access of {memory.name}, whose elements share bytes")


def vector_width(e: Emission, region: Region, layout: Layout) -> int:
    """How many elements one access may move."""
    memory = region.memory
    if is_row(memory):
        run = row_run(e, region, layout)
        return run if run * memory.dtype.bits % 8 == 0 else 1
    last = region.axes[-1] if region.axes else None
    if last is None or last.dropped or last.step != 1:
        return 1
    axis = memory.rank - 1
    bits = memory_bits(memory.dtype)
    run = fastest_run(layout, tile_axis(region, axis))
    most = MAX_BYTES if memory.place is Place.SHARED else min(MAX_BYTES, alignment(memory))
    width = gcd(run, max(1, most * 8 // bits))
    if memory.layout is not None:
        return gcd(width, fastest_run(memory.layout, axis))
    return proved_run(e, region, width)


def row_run(e: Emission, region: Region, layout: Layout) -> int:
    """The neighbours of a row that are accessed at once; they share no byte if they fill whole ones."""
    last, bits = region.axes[-1] if region.axes else None, region.memory.dtype.bits
    if last is None or last.dropped or last.step != 1:
        return 1
    run = proved_run(e, region, fastest_run(layout, tile_axis(region, len(region.axes) - 1)))
    while run * bits > 8 * MAX_BYTES and run % 2 == 0 and run // 2 * bits % 8 == 0:
        run //= 2
    return run


def proved_run(e: Emission, region: Region, width: int) -> int:
    """The part of a run of neighbours that begins at multiples of itself and is in bounds whole."""
    memory, last = region.memory, region.axes[-1]
    step = strides(memory)
    if step[-1] != ex.index(1):
        return 1
    width = gcd(width, multiple(e, last.start))
    for stride, a in zip(step[:-1], region.axes[:-1], strict=True):
        if not (a.dropped and a.start == ex.index(0)):
            width = gcd(width, multiple(e, stride))
    if last.checked:
        width = gcd(width, multiple(e, memory.shape[-1]))
    if last.end is not None:
        width = gcd(width, multiple(e, last.end))
    return gcd(width, last.count)
