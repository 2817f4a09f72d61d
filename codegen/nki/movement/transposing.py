"""From one placement to another: by the tensor engine as a transposition, else through HBM."""

from __future__ import annotations

from dataclasses import replace

from dslc.codegen.nki.arithmetic.bits import flat
from dslc.codegen.nki.dtypes import element
from dslc.codegen.nki.emission import At, Emission
from dslc.codegen.nki.movement.accesses import read, scratch, write
from dslc.codegen.nki.movement.copying import shared_copy
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.ir import AxisSlice, Memory, Region, Role
from dslc.compiler.ir import expr as ex
from dslc.compiler.passes.trainium.placement import PARTITIONS, Placement
from dslc.compiler.passes.trainium.placement_costs import by_tensor_engine


def convert(
    e: Emission, x: TileValue, place: Placement, hint: str, *, paired: bool = False
) -> TileValue:
    """The tile in another placement, its chunks in pairs where it is an operand that wants so."""
    if x.constant is not None:
        return replace(x, place=place)
    x = e.in_sbuf(e.tensors(x))
    out = replace(e.tile(hint, x.dtype, x.shape, place), paired=paired)
    # Bytes pass the tensor engine unchanged where its transposition copies bits.
    wide = x.dtype.is_float and x.dtype.bits >= 16
    if by_tensor_engine(x.place, place, x.shape) and (wide or _is_byte(e, x)):
        x = flat(e, x)
        with e.filled(out) as at:
            transpose_chunk(e, out, x, at)
        return out
    memory = to_memory(e, x)
    region = _whole(memory)
    with e.filled(out) as at:
        read(e, region, out, at)
    return out


def _is_byte(e: Emission, x: TileValue) -> bool:
    return e.engines.copies and element(x.dtype) in ("nl.uint8", "nl.int8")


def transpose_chunk(e: Emission, made: TileValue, x: TileValue, at: At) -> None:
    """A chunk of x transposed, in blocks of 128 x 128 through PSUM."""
    column = 0 if at.index is None else f"{PARTITIONS} * {e.names[at.index]}"
    with e.over(x) as source:
        block = e.out.name("block")
        made_of = e.tensor(block, at.rows, (source.rows,), element(x.dtype), psum=True)
        e.out.line(f"{block} = {made_of}")
        columns = _range(column, at.rows)
        data = f"{e.base(x, source)}[0:{source.rows}, {columns}]"
        e.call("nc_transpose", dst=block, data=data)
        start = 0 if source.index is None else f"{PARTITIONS} * {e.names[source.index]}"
        dst = f"{e.base(made, at)}[0:{at.rows}, {_range(start, source.rows)}]"
        if source.index is None and source.rows == made.extents[0]:
            dst = e.text(made, at)
        if x.dtype.is_float and x.dtype.bits >= 16:
            shared_copy(e, dst, block, PARTITIONS, made.chunks * x.chunks)
        else:
            e.call("tensor_copy", dst=dst, src=block)


def _range(start: int | str, count: int | str) -> str:
    if isinstance(start, int):
        end = start + count if isinstance(count, int) else f"{start} + {count}" if start else count
        return f"{start}:{end}"
    return f"{start}:{start} + {count}"


def to_memory(e: Emission, x: TileValue) -> Memory:
    """The tile in a tensor of HBM that the kernel keeps to itself."""
    x = e.in_sbuf(e.tensors(x))
    shape = tuple(ex.index(n) for n in x.shape) or (ex.index(1),)
    memory = Memory("moved", x.dtype, shape, Role.BUFFER)
    scratch(e, memory)
    region = _whole(memory)
    if x.place.axis is None:  # one of the copies is enough
        extents = ", ".join(str(n) for n in (1, *x.extents))
        tile = f"{x.name}[{', '.join(['0:1', *(f'0:{n}' for n in x.extents)])}]"
        e.call("dma_copy", dst=f"{e.memories[memory]}.reshape(({extents}))", src=tile)
        return memory
    with e.over(x) as at:
        write(e, region, x, at)
    return memory


def _whole(memory: Memory) -> Region:
    axes = tuple(
        AxisSlice(ex.index(0), int(n.value), checked=False)
        for n in memory.shape
        if isinstance(n, ex.Const)
    )
    return Region(memory, axes)
