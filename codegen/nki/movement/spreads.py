"""Vectors over all partitions: each partition has a run of neighbours, the last ones maybe fewer."""

from __future__ import annotations

from dslc.codegen.nki.bounds import is_not_negative
from dslc.codegen.nki.emission import Emission
from dslc.codegen.nki.movement.strides import row_major, total
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Region
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import simplify


def spread(
    e: Emission, region: Region, held: TileValue, tile: str, fill: str, *, store: bool
) -> None:
    """A vector over all partitions, `run` neighbours on each."""
    (a,) = [a for a in region.axes if not a.dropped]
    number = region.axes.index(a)
    run, size = held.place.run, a.size
    extent = region.memory.shape[number]
    offset: ex.Expr = ex.index(0)
    for axis, stride in zip(region.axes, row_major(region.memory), strict=True):
        offset = total(offset, ex.Binary("mul", axis.start, stride, INDEX))
    stride_text = e.scalar(
        simplify(ex.Binary("mul", row_major(region.memory)[number], ex.index(a.step), INDEX))
    )
    name = e.memories[region.memory]
    base = held.name

    def copy(part: str, pattern: str, at: str) -> None:
        memory = f"{name}.ap(pattern={pattern}{f', offset={at}' if at != '0' else ''})"
        dst, src = (memory, part) if store else (part, memory)
        e.call("dma_copy", dst=dst, src=src)

    unit = stride_text == "1"
    each = str(run) if unit else f"{run} * {inner_text(stride_text)}"
    start = e.scalar(simplify(offset))
    if not any(x.checked for x in region.axes):
        copy(tile, f"[[{each}, {held.rows}], [{stride_text}, {run}]]", start)
        return
    if not is_not_negative(e, a.start) or any(x.checked and x.dropped for x in region.axes):
        raise error(
            "DSL0590",
            "a vector that may begin before its tensor is not placed over all partitions",
        )
    left = simplify(ex.Binary("sub", extent, a.start, INDEX))
    room = e.scalar(left) if a.step == 1 else f"-(-({e.scalar(left)}) // {a.step})"
    end = e.out.name("end")
    e.out.line(f"{end} = min({size}, {room})")
    if not store:
        with e.out.block(f"if {end} < {size}"):
            e.call("memset", dst=tile, value=fill)
    with e.out.block(f"if {end} >= {run}"):
        rows = f"{end} // {run}"
        copy(f"{base}[0:{rows}, 0:{run}]", f"[[{each}, {rows}], [{stride_text}, {run}]]", start)
    with e.out.block(f"if {end} > 0 and {end} % {run} > 0"):
        row, rest = f"{end} // {run}", f"{end} % {run}"
        at = f"{start} + ({row}) * {each}" if start != "0" else f"({row}) * {each}"
        copy(f"{base}[{row}:{row} + 1, 0:{rest}]", f"[[1, 1], [{stride_text}, {rest}]]", at)


def inner_text(text: str) -> str:
    """A factor of a product."""
    return text if text.isidentifier() or text.isdigit() else f"({text})"
