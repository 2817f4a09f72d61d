"""Statements that make something happen: stores, tiles that are computed once, scalars, asserts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks import floats
from dslc.codegen.aarch64.chunks.conversions import for_memory
from dslc.codegen.aarch64.chunks.formats import stored
from dslc.codegen.aarch64.chunks.scalars import condition_of
from dslc.codegen.aarch64.machine_code.blocks import Inst
from dslc.codegen.aarch64.memory.chunk_stores import store_chunk
from dslc.codegen.aarch64.memory.nests import nest
from dslc.codegen.aarch64.memory.transfer import store_lanes, to_general
from dslc.codegen.aarch64.places import Array, InRegisters
from dslc.codegen.aarch64.refusals import unsupported
from dslc.codegen.chunks import bounds
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.nests import lanes_for
from dslc.compiler.dtypes import BOOL, DType
from dslc.compiler.ir import Memory, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, constant
from dslc.compiler.ir.traverse import operands

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


def store(e: Emission, i: ins.Store) -> None:
    """A tile to memory; coordinates out of bounds are not computed."""
    shape = i.x.type.shape
    held = in_registers(e, i.x)
    product, marked = _product(e, i.x), set[str]()
    # The coordinates of what is in registers must be known: each is checked by itself.
    spans = None if held else bounds.spans(e, i.region)

    def chunk(at: At) -> None:
        with nullcontext() if held else bounds.within(e, i.region, at):
            first = product is not None and product not in marked and at.count == _lanes(shape)
            if product is not None and first:
                marked.add(product)
                e.marks.epilogue(product, at.count)
            store_chunk(e, i.region, at, for_memory(e, e.pull(i.x, at), i.x.type.dtype))
            if first:
                e.marks.end()

    if i.where is None:
        nest(e, shape, _lanes(shape), chunk, spans, unroll=held)
    else:
        held = held or in_registers(e, i.where)
        nest(e, shape, 1, partial(_masked, e, i.where, chunk), spans, unroll=held)
    changed(e, i.region.memory)


def _masked(e: Emission, where: Value, chunk: Callable[[At], None], at: At) -> None:
    """One element, where its mask holds."""
    skip = e.s.label("masked")
    e.s.branch("cbz {0}, @", skip, to_general(e, e.pull(where, at), BOOL))
    with e.branch():
        chunk(at)
    e.s.put(skip)


def _product(e: Emission, value: Value) -> str | None:
    """The marked product that a tile is made of."""
    stack = [value]
    while stack:
        x = stack.pop()
        if x in e.marks.made:
            return e.marks.made[x]
        if x not in e.homes:
            stack += operands(e.lazy[x])
    return None


def copy(e: Emission, i: ins.CopyAsync) -> None:
    """At once: a CPU has no unit that copies beside it, and what waits for a group finds it landed."""
    if i.barrier is not None:
        raise unsupported("copies that a barrier waits for", i.loc)
    store(e, e.as_store(i))


def changed(e: Emission, memory: Memory) -> None:
    """Chunks of a memory that is written are not kept in registers any longer."""
    del memory
    e.forget()


def in_registers(e: Emission, value: Value) -> bool:
    """Whether a tile is made of one that is in registers, whose coordinates must be known."""
    seen, stack = set(), [value]
    while stack:
        x = stack.pop()
        if x in seen:
            continue
        seen.add(x)
        if x in e.homes:
            if isinstance(e.homes[x], InRegisters):
                return True
        else:
            stack += operands(e.lazy[x])
    return False


def keep(e: Emission, value: Value, array: Array | None = None) -> Array:
    """Compute a tile now and put it into memory, as far as its elements matter."""
    shape, dtype = value.type.shape, value.type.dtype
    array = array or scratch_for(e, value)
    driver = e.driver(value)
    if driver is not None:
        e.drive(driver, value, array)
        return array
    held = in_registers(e, value)
    spans = [None if held else e.span_of(value, k) for k in range(len(shape))]
    nest(e, shape, _lanes(shape), lambda at: write(e, array, at, value, dtype), spans, unroll=held)
    return array


def write(e: Emission, array: Array, at: At, value: Value, dtype: DType) -> None:
    """A chunk of a tile to an array of its shape."""
    store_lanes(e, array, at, for_memory(e, e.pull(value, at), dtype))


def scratch_for(e: Emission, value: Value) -> Array:
    """Scratch memory of a tile's shape; for accumulators whole tiles in the order of registers."""
    unit = e.units.get(value)
    alias = ("tile", value)
    if unit is None:
        return e.array(stored(value.type.dtype), value.type.shape, alias)
    *outer, m, n = (-(-x // 4) * 4 for x in value.type.shape)
    outer = list(value.type.shape[:-2])
    array = e.array(stored(value.type.dtype), (*outer, m, n), alias)
    rows, columns = (1 + max(p[k] for p in unit.c) for k in (0, 1))
    if rows == 1:
        return array
    lanes = {pair: lane for lane, pair in enumerate(unit.c)}
    blocks = ((rows, lanes[1, 0]), (columns, lanes[0, 1]))
    size = rows * columns
    strides = (*array.strides[:-2], Linear(constant=n // columns * size), Linear(constant=size))
    return replace(array, strides=strides, blocks=blocks)


def _lanes(shape: tuple[int, ...]) -> int:
    return lanes_for(shape[-1]) if shape else 1


def let(e: Emission, i: ins.Let) -> None:
    """A scalar gets a register."""
    dtype = i.var.dtype
    if dtype.is_float:
        lanes = floats.scalar(e, i.value)
        e.bind(i.var, e.s.copy(lanes.regs[0]))
    else:
        e.bind(i.var, e.s.copy(e.integer(i.value)))


def check(e: Emission, i: ins.Assert) -> None:
    """Leave the function with the number of the assert unless it holds."""
    e.asserts.append(i.text)
    text, uses, condition = condition_of(e, i.condition)
    good = e.s.label("holds")
    e.s.branch(f"{text}\n\tb.{condition} @", good, *uses)
    leave = f"mov w0, #{len(e.asserts)}\n\tb {e.exit.name}"
    e.s.put(Inst(leave, target=e.exit, unconditional=True))
    e.s.put(good)


def alloc(e: Emission, i: ins.Alloc) -> None:
    """A buffer in scratch memory; one that a loop allocates again has the same place."""
    memory = i.memory
    if memory in e.memories:
        return
    shape = []
    for extent in memory.shape:
        size = constant(extent)
        if size is None:
            raise unsupported(f"buffers of variable size such as {memory.name}", memory.loc)
        shape.append(int(size))
    e.memories[memory] = e.array(stored(memory.dtype), tuple(shape), ("buffer", memory))


def nothing(e: Emission, i: ins.Stmt) -> None:
    """One thread runs a turn: a barrier has nobody to wait for."""


STATEMENTS = {
    ins.Store: store, ins.Let: let, ins.Assert: check, ins.Alloc: alloc,
    ins.CopyAsync: copy,
    ins.Sync: nothing, ins.MemoryBarrier: nothing, ins.CommitGroup: nothing, ins.WaitGroup: nothing,
}  # fmt: skip
