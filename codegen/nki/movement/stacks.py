"""Chunks of a tile that one transfer brings: the descriptors of each cost its queue time."""

from __future__ import annotations

from dslc.codegen.nki.dtypes import element
from dslc.codegen.nki.emission import Emission
from dslc.codegen.nki.movement.strides import row_major, total
from dslc.codegen.nki.tile_values import PARTITIONS, TileValue
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Region
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.passes.trainium.placement import chunks
from dslc.compiler.targets.nki import STACK


def transfers(e: Emission, stmt: Stmt) -> int:
    """How many transfers a load is."""
    assert isinstance(stmt, ins.Load)
    place, shape = e.place(stmt.out), stmt.out.type.shape
    out = e.tile_like(stmt.out)
    if stmt.out in e.multiplied and may_stack(e, stmt.region, out):
        return -(-out.chunks // STACK)
    return chunks(place, shape)


def may_stack(e: Emission, region: Region, made: TileValue) -> bool:
    """Whether chunks may come together: descriptors cost time, and nothing of them is clipped."""
    rows = [a for a in region.axes if not a.dropped]
    return (
        e.engines.issue > 0
        and region.memory not in e.on_chip
        and len(rows) == 2
        and made.place.axis == 0
        and made.chunks > 1
        and made.chunks % min(made.chunks, STACK) == 0
        and not (made.paired and made.chunks % 2)
        and made.rows % PARTITIONS == 0
        and all(a.step == 1 and not a.checked and not e.is_dynamic(a.start) for a in region.axes)
    )


def stack(e: Emission, region: Region, made: TileValue) -> None:
    """A tile of several chunks by transfers of several chunks each; products read parts of them."""
    count = min(made.chunks, STACK)
    first, last = (i for i, a in enumerate(region.axes) if not a.dropped)
    strides = row_major(region.memory)
    offset: ex.Expr = ex.index(0)
    for a, stride in zip(region.axes, strides, strict=True):
        offset = total(offset, ex.Binary("mul", a.start, stride, INDEX))
    row = strides[first]
    e.out.line(f"{made.name} = []")
    group = e.index_variable("g")
    width = made.extents[0]
    with e.out.block(f"for {e.names[group]} in range(0, {made.chunks}, {count})"):
        block = e.out.name("block")
        shape = f"({PARTITIONS}, {count}, {width})"
        e.out.line(f"{block} = nl.ndarray({shape}, dtype={element(made.dtype)}, buffer=nl.sbuf)")
        begin = ex.Binary("mul", ex.Binary("mul", group, ex.index(PARTITIONS), INDEX), row, INDEX)
        at = e.scalar(simplify(total(offset, begin)))
        far = e.scalar(simplify(ex.Binary("mul", row, ex.index(PARTITIONS), INDEX)))
        pairs = ((e.scalar(row), PARTITIONS), (far, count), (e.scalar(strides[last]), width))
        pattern = ", ".join(f"[{step}, {n}]" for step, n in pairs)
        source = f"{e.memories[region.memory]}.ap(pattern=[{pattern}], offset={at})"
        e.call("dma_copy", dst=block, src=source)
        part = e.index_variable("i")
        i = e.names[part]
        if made.paired:
            with e.out.block(f"for {i} in range(0, {count}, 2)"):
                e.out.line(f"{made.name}.append({block}[0:{PARTITIONS}, {i}:{i} + 2, 0:{width}])")
            return
        with e.out.block(f"for {i} in range({count})"):
            e.out.line(f"{made.name}.append({block}[0:{PARTITIONS}, {i}, 0:{width}])")
