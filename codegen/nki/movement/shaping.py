"""Instructions that move or rename elements: other strides where that is enough, else through HBM."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TypeAlias

from dslc.codegen.nki.emission import At, Emission, Emit, refuse
from dslc.codegen.nki.movement.accesses import scratch
from dslc.codegen.nki.movement.joining import with_units
from dslc.codegen.nki.movement.transposing import convert, to_memory
from dslc.codegen.nki.tile_values import TileValue, dense_strides
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import AxisSlice, Memory, Region, Role, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.passes.trainium.alternatives import operand_placement
from dslc.compiler.passes.trainium.placement import normal

_Shaping: TypeAlias = (
    ins.Broadcast | ins.Transpose | ins.Reshape | ins.Extract | ins.Repeat | ins.Concat
)


def _stays(e: Emission, stmt: _Shaping, x: Value) -> bool:
    """Whether the operand lies where the result's elements are renamed from."""
    wanted = operand_placement(stmt, x, e.place(stmt.out))
    return wanted is not None and normal(wanted, x.type.shape) == e.place(x)


def broadcast(e: Emission, stmt: ins.Broadcast) -> None:
    """Strides of 0 along the axes that are stretched."""
    x = e.held(stmt.x)
    if x.constant is not None:
        e.rename(stmt.out, replace(x, strides=(0,) * stmt.out.type.rank))
        return
    if not _stays(e, stmt, stmt.x):
        raise refuse(stmt, "this broadcast has no placement on a NeuronCore")
    shape, missing = stmt.out.type.shape, stmt.out.type.rank - stmt.x.type.rank
    strides = [0] * missing
    for axis, (n, stride) in enumerate(zip(x.shape, x.strides, strict=True)):
        strides.append(stride if n == shape[missing + axis] else 0)
    shared = x.shared or x.place.axis is None
    e.rename(stmt.out, replace(x, strides=tuple(strides), shared=shared))


def transpose(e: Emission, stmt: ins.Transpose) -> None:
    """Axes in another order."""
    x = e.held(stmt.x)
    if x.constant is None and not _stays(e, stmt, stmt.x):
        e.rename(stmt.out, _through_memory(e, stmt, x, stmt.axes))
        return
    e.rename(stmt.out, replace(x, strides=tuple(x.strides[a] for a in stmt.axes)))


def reshape(e: Emission, stmt: ins.Reshape) -> None:
    """The same elements in row-major order."""
    x, shape = e.held(stmt.x), stmt.out.type.shape
    if x.constant is not None:
        e.rename(stmt.out, replace(x, strides=(0,) * len(shape)))
        return
    if _stays(e, stmt, stmt.x) and with_units(stmt) and e.place(stmt.out).run == 1:
        steps = iter([s for s, n in zip(x.strides, x.shape, strict=True) if n > 1])
        e.rename(stmt.out, replace(x, strides=tuple(next(steps) if n > 1 else 0 for n in shape)))
        return
    if _stays(e, stmt, stmt.x):
        view = _reshaped(e, x, stmt)
        if view is not None:
            e.rename(stmt.out, view)
            return
    memory = to_memory(e, x)
    flat = replace(memory, shape=tuple(ex.index(n) for n in shape))
    e.memories[flat] = f"{e.memories[memory]}.reshape(({', '.join(map(str, shape))},))"
    _load(e, stmt, flat, shape)


def _reshaped(e: Emission, x: TileValue, stmt: ins.Reshape) -> TileValue | None:
    """Strides of the other shape where the partition's elements are in order."""
    place, shape = e.place(stmt.out), stmt.out.type.shape
    if not x.is_dense:
        x = e.tensors(x)
    return replace(x, shape=shape, strides=dense_strides(place, shape), place=place)


def extract(e: Emission, stmt: ins.Extract) -> None:
    """A constant slice."""
    x = e.held(stmt.x)
    shape = _with_dropped(stmt)
    if x.constant is not None:
        e.rename(stmt.out, replace(x, strides=(0,) * stmt.out.type.rank))
        return
    if not _stays(e, stmt, stmt.x):
        memory = to_memory(e, x)
        axes = tuple(
            AxisSlice(ex.index(s), n, step, dropped=i in stmt.dropped, checked=False)
            for i, (s, n, step) in enumerate(zip(stmt.starts, shape, stmt.steps, strict=True))
        )
        load = ins.Load(stmt.out, Region(memory, axes), loc=stmt.loc)
        e.statement(load)
        return
    kept = [a for a in range(len(x.shape)) if a not in stmt.dropped]
    offset = x.offset + sum(s * n for s, n in zip(x.strides, stmt.starts, strict=True))
    strides = tuple(x.strides[a] * stmt.steps[a] for a in kept)
    e.rename(stmt.out, replace(x, offset=offset, strides=strides))


def _with_dropped(stmt: ins.Extract) -> list[int]:
    sizes = iter(stmt.out.type.shape)
    return [1 if a in stmt.dropped else next(sizes) for a in range(stmt.x.type.rank)]


def concat(e: Emission, stmt: ins.Concat) -> None:
    """The tiles side by side, along a partition or through memory."""
    if e.place(stmt.out).axis == stmt.axis or e.place(stmt.out).run > 1:
        _concat_in_memory(e, stmt)
        return
    parts = [e.held(x) for x in stmt.xs]
    out = e.values[stmt.out] = e.begun.get(stmt.out) or e.result(stmt.out)
    with e.filled(out) as at:
        start = 0
        for part in parts:
            into = replace(out, shape=part.shape, offset=start * out.strides[stmt.axis])
            if part.name != out.name:  # else made where it is to be
                _copy_part(e, into, part, at)
            start += part.shape[stmt.axis]


def _copy_part(e: Emission, into: TileValue, part: TileValue, at: At) -> None:
    if part.constant is not None:
        e.call("memset", dst=e.text(into, at), value=part.constant)
    else:
        e.call("tensor_copy", dst=e.text(into, at), src=e.text(part, at))


def _concat_in_memory(e: Emission, stmt: ins.Concat) -> None:
    memory = _memory(e, "joined", stmt.out)
    start = 0
    for x in stmt.xs:
        axes = [AxisSlice(ex.index(0), n, checked=False) for n in x.type.shape]
        axes[stmt.axis] = replace(axes[stmt.axis], start=ex.index(start))
        e.statement(ins.Store(Region(memory, tuple(axes)), x, loc=stmt.loc))
        start += x.type.shape[stmt.axis]
    _load(e, stmt, memory, stmt.out.type.shape)


def repeat(e: Emission, stmt: ins.Repeat) -> None:
    """Each element several times: a stride of 0 along a partition, or rows read again from memory."""
    x = e.held(stmt.x)
    if x.constant is not None:
        e.rename(stmt.out, x)
        return
    if e.place(stmt.out).axis == stmt.axis:
        memory = to_memory(e, x)
        _load_repeated(e, stmt, memory)
        return
    out = e.result(stmt.out)
    with e.filled(out) as at:
        before = [(x.strides[i], x.shape[i]) for i in x.free if i <= stmt.axis]
        after = [(x.strides[i], x.shape[i]) for i in x.free if i > stmt.axis]
        pairs = [(prod(x.extents), at.rows), *before, (0, stmt.times), *after]
        shown = ", ".join(f"[{s}, {n}]" for s, n in pairs)
        offset = f", offset={x.offset}" if x.offset else ""
        src = f"{e.base(x, at)}.ap(pattern=[{shown}]{offset})"
        e.call("tensor_copy", dst=e.text(out, at), src=src)


def _load_repeated(e: Emission, stmt: ins.Repeat, memory: Memory) -> None:
    """Rows of a matrix to `times` partitions each."""
    rows_of_x = stmt.x.type.shape[stmt.axis]
    if stmt.axis != 0:
        raise refuse(stmt, "a repetition along this axis has no code on a NeuronCore")
    out = e.result(stmt.out)
    width = prod(stmt.x.type.shape[1:])
    with e.filled(out) as at:
        chunk = ex.index(0) if at.index is None else at.index
        repeated(e, out, at, e.memories[memory], e.scalar(chunk), width, stmt.times, rows_of_x)


def repeated(
    e: Emission, made: TileValue, at: At, name: str, chunk: str, width: int, times: int, count: int,
) -> None:  # fmt: skip
    """Fill a chunk: each row of the memory goes to `times` partitions, over chunks of 128."""
    if made.chunks == 1:
        pattern = f"[[{width}, {count}], [0, {times}], [1, {width}]]"
        e.call("dma_copy", dst=e.text(made, at), src=f"{name}.ap(pattern={pattern})")
        return
    if 128 % times == 0:
        each = 128 // times
        rows = each if count % each == 0 else f"min({each}, {count} - {each} * {chunk})"
        pattern = f"[[{width}, {rows}], [0, {times}], [1, {width}]]"
        at_text = f", offset={each * width} * {chunk}"
        e.call("dma_copy", dst=e.text(made, at), src=f"{name}.ap(pattern={pattern}{at_text})")
        return
    row = e.index_variable("p")
    with e.out.block(f"for {e.names[row]} in range({at.rows})"):
        p = e.names[row]
        dst = f"{e.base(made, at)}[{p}:{p} + 1, 0:{width}]"
        source = f"(128 * {chunk} + {p}) // {times} * {width}"
        e.call(
            "dma_copy",
            dst=dst,
            src=f"{name}.ap(pattern=[[{width}, 1], [1, {width}]], offset={source})",
        )


def _through_memory(
    e: Emission, stmt: ins.Transpose, x: TileValue, axes: tuple[int, ...]
) -> TileValue:
    """The transposed tile by way of HBM, read with the strides of the other order."""
    memory = to_memory(e, x)
    out = e.tile(stmt.out.name, x.dtype, stmt.out.type.shape, e.place(stmt.out))
    strides = _dense([x.shape[a] for a in range(len(x.shape))])
    moved = [strides[a] for a in axes]
    with e.filled(out) as at:
        along = out.place.axis
        offset = ""
        if along is None:
            pairs = ["[0, 128]"]
        else:
            pairs = [f"[{moved[along]}, {at.rows}]"]
            if at.index is not None:
                offset = f", offset={128 * moved[along]} * {e.names[at.index]}"
        pairs += [f"[{moved[i]}, {out.shape[i]}]" for i in out.free if i != along]
        name = e.memories[memory]
        e.call(
            "dma_copy", dst=e.text(out, at), src=f"{name}.ap(pattern=[{', '.join(pairs)}]{offset})"
        )
    return out


def _dense(shape: list[int]) -> list[int]:
    return [prod(shape[i + 1 :]) for i in range(len(shape))]


def _memory(e: Emission, name: str, value: Value) -> Memory:
    shape = tuple(ex.index(n) for n in value.type.shape) or (ex.index(1),)
    memory = Memory(name, value.type.dtype, shape, Role.BUFFER)
    scratch(e, memory)
    return memory


def _load(e: Emission, stmt: _Shaping, memory: Memory, shape: tuple[int, ...]) -> None:
    axes = tuple(AxisSlice(ex.Const(0, INDEX), n, checked=False) for n in shape)
    e.statement(ins.Load(stmt.out, Region(memory, axes), loc=stmt.loc))


def convert_layout(e: Emission, stmt: ins.ConvertLayout) -> None:
    """Another placement."""
    paired = stmt.out in e.paired
    e.values[stmt.out] = convert(e, e.held(stmt.x), e.place(stmt.out), stmt.out.name, paired=paired)


EMITTERS: dict[type, Emit] = {
    ins.Broadcast: broadcast,
    ins.Transpose: transpose,
    ins.Reshape: reshape,
    ins.Extract: extract,
    ins.Concat: concat,
    ins.Repeat: repeat,
    ins.ConvertLayout: convert_layout,
}
