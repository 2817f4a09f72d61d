"""Statements that make something happen: stores, tiles that are computed once, scalars, asserts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dslc.codegen.chunks import bounds as in_bounds
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.nests import lanes_for
from dslc.codegen.chunks.planning import LAZY
from dslc.codegen.cpu.accesses import store_chunk
from dslc.codegen.cpu.blocks import giving_nothing
from dslc.codegen.cpu.nests import nest
from dslc.codegen.cpu.places import Array
from dslc.codegen.cpu.refusals import unsupported
from dslc.codegen.cpu.streaming import may_stream, stream_rows
from dslc.codegen.cpu.transfer import store_lanes
from dslc.compiler.dtypes import DType
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.traverse import operands, tile_of
from dslc.compiler.vector.values import Operand

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission

_REGISTERS = 2  # that a chunk fills, at the width in which it is computed
_MOST = 64


def lanes_of_tile(e: Emission, value: Value) -> int:
    """The lanes of a chunk: as many as fill registers with the widest element that it is made of."""
    widest, stack, seen = 8, [value], {value}
    while stack:
        x = stack.pop()
        widest = max(widest, _width(x.type.dtype))
        stmt = e.lazy.get(x)
        if stmt is not None and x not in e.homes:
            more = [v for v in operands(stmt) if v not in seen]
            seen.update(more)
            stack += more
    return min(_MOST, _REGISTERS * e.machine.vector_bits // widest)


def _width(dtype: DType) -> int:
    """The bits that an element is computed in."""
    return max(32, dtype.bits) if dtype.is_float else max(8, dtype.bits)


def store(e: Emission, i: ins.Store) -> None:
    """A tile to memory; coordinates out of bounds are not computed."""
    shape = i.x.type.shape
    spans = in_bounds.spans(e, i.region)

    def chunk(at: At, stream: Operand | None = None) -> None:
        with in_bounds.within(e, i.region, at):
            x = e.pull(i.x, at)
            if i.where is not None:
                store_chunk(e, i.region, at, x, e.pull(i.where, at))
            elif stream is None:
                store_chunk(e, i.region, at, x)
            else:
                streamed = partial(store_chunk, e, i.region, at, x, stream=True)
                plain = partial(store_chunk, e, i.region, at, x)
                e.choose(stream, giving_nothing(streamed), giving_nothing(plain))

    lanes = lanes_for(shape[-1], lanes_of_tile(e, i.x)) if shape else 1
    if may_stream(e, i, lanes):
        stream_rows(e, i, lanes, chunk, spans)
    else:
        nest(e, shape, lanes, chunk, spans)
    e.forget()


def copy(e: Emission, i: ins.CopyAsync) -> None:
    """At once: a CPU has no unit that copies beside it, and what waits for a group finds it landed."""
    if i.barrier is not None:
        raise unsupported("copies that a barrier waits for", i.loc)
    store(e, e.as_store(i))


def keep(e: Emission, value: Value, array: Array | None = None) -> Array:
    """Compute a tile now and put it into memory, as far as its elements matter."""
    shape = value.type.shape
    array = array or scratch_for(e, value)
    driver = e.driver(value)
    if driver is not None:
        e.drive(driver, value, array)
        return array
    spans = [e.span_of(value, k) for k in range(len(shape))]
    lanes = lanes_for(shape[-1], lanes_of_tile(e, value)) if shape else 1
    nest(e, shape, lanes, lambda at: store_lanes(e, array, at, e.pull(value, at)), spans)
    e.forget()
    return array


def scratch_for(e: Emission, value: Value) -> Array:
    """Scratch memory of a tile's shape; sums of products have room for whole registers at the edge."""
    shape = value.type.shape
    if value in e.plan.summed:
        lanes = e.machine.vector_bits // 32
        shape = (*shape[:-1], -(-shape[-1] // lanes) * lanes)
    return e.array(value.type.dtype, shape)


def define(e: Emission, i: ins.Stmt) -> None:
    """A tile that is computed where it is needed, or once, here."""
    out = tile_of(i)
    assert out is not None
    e.define(out, i)
    if out in e.kept:
        e.settle(out, keep(e, out))


def let(e: Emission, i: ins.Let) -> None:
    """A scalar gets a register."""
    e.bind(i.var, e.scalar(i.value))


def check(e: Emission, i: ins.Assert) -> None:
    """Leave the function with the number of the assert unless it holds."""
    e.asserts.append(i.text)
    number = len(e.asserts)
    e.when(e.b.unary("not", e.scalar(i.condition)), lambda: e.b.returns(number))


def alloc(e: Emission, i: ins.Alloc) -> None:
    """A buffer in scratch memory; one that a loop allocates again has the same place."""
    memory = i.memory
    if memory in e.memories:
        return
    shape = []
    for extent in memory.shape:
        found = constant(extent)
        if found is None:
            raise unsupported(f"buffers of variable size such as {memory.name}", memory.loc)
        shape.append(int(found))
    e.memories[memory] = e.array(memory.dtype, tuple(shape))


def nothing(e: Emission, i: ins.Stmt) -> None:
    """One thread runs a turn: a barrier has nobody to wait for."""


STATEMENTS = {
    **dict.fromkeys((*LAZY, ins.View, ins.Undefined), define),
    ins.Store: store,
    ins.Let: let,
    ins.Assert: check,
    ins.Alloc: alloc,
    ins.CopyAsync: copy,
    ins.Sync: nothing,
    ins.MemoryBarrier: nothing,
    ins.CommitGroup: nothing,
    ins.WaitGroup: nothing,
}
