"""One instruction for several steps: of the scalar engine with its sum, or of the vector engine."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from dslc.codegen.nki.arithmetic.elementwise import ALU
from dslc.codegen.nki.emission import At, Emission, Emit
from dslc.codegen.nki.movement.copying import copy_chunk
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import F32
from dslc.compiler.dtypes.dtype import BF16
from dslc.compiler.ir import instructions as ins
from dslc.compiler.passes.trainium.capacity import sbuf_peak, usable
from dslc.compiler.passes.trainium.engine_times import AFFINE
from dslc.compiler.passes.trainium.select_instructions import is_row_sum

_FEW = 8  # elements of a partition, which cost an instruction's least time


def fused(e: Emission, stmt: ins.Fused) -> None:
    """One instruction a chunk, and the sum of each row with it where that stands behind."""
    steps = stmt.steps.split()
    first, *others = (e.held(x) for x in stmt.xs)
    first = e.tensors(first) if first.constant is not None else first
    functions = [s for s in steps if s not in ins.FUSED_OPS]
    total = _total(e, stmt)
    affine = steps in AFFINE and all(_is_column(x) for x in others)
    # What the sum alone is of takes least room: it is added up before it is written.
    unread = total is not None and e.uses[stmt.out] == 1
    out = e.result(stmt.out, BF16 if unread and (functions or affine) else None)
    by_scalar = bool(functions) or (
        affine and (total is not None or _prefers_scalar(e, out, first))
    )
    if affine and total is not None:
        e.shares.takes_scalar(e.now, prod(out.extents), out.chunks)
    if total is not None and out.chunks > 1 and by_scalar:
        e.out.line(f"{total.name} = []")
    with e.filled(out) as at:
        if by_scalar:
            if total is not None:
                e.allocate(total, at)
            _activation(e, out, steps, first, others, at, total)
        elif not steps:
            copy_chunk(e, out, first, at)
        else:
            _by_vector(e, out, steps, first, others, at)
    if by_scalar:
        e.by_scalar |= {t.name for t in (out, total) if t is not None}
    if by_scalar and total is not None:
        assert isinstance(e.following, ins.Reduce)
        e.values[e.following.out] = total
        e.written.add(e.following)
    elif e.following is not None:
        e.written.discard(e.following)


def _total(e: Emission, stmt: ins.Fused) -> TileValue | None:
    """The tile of the sum that stands behind."""
    behind = e.following
    if not isinstance(behind, ins.Reduce) or behind.x is not stmt.out or not is_row_sum(behind):
        return None
    shape, place = behind.out.type.shape, e.place(behind.out)
    return e.tile(behind.out.name, F32, shape, place)


def _prefers_scalar(e: Emission, made: TileValue, x: TileValue) -> bool:
    """Whether the scalar engine has less to do, or made the few numbers that there are."""
    columns = prod(made.extents)
    if columns <= _FEW:
        return x.name in e.by_scalar
    return e.shares.take(e.now, columns, made.chunks) == "scalar"


def _activation(
    e: Emission,
    made: TileValue,
    steps: list[str],
    x: TileValue,
    others: list[TileValue],
    at: At,
    total: TileValue | None,
) -> None:
    """op(x * scale + bias), and the sum."""
    scale = bias = None
    columns = iter(others)
    op = "nl.copy"
    for step in steps:
        if step == "mul":
            scale = e.column(next(columns), at)
        elif step in ("add", "sub"):
            bias = _bias(e, next(columns), at, negated=step == "sub")
        else:
            op = f"nl.{step}"
    summed = {} if total is None else _sum(e.text(total, at))
    e.call(
        "activation",
        dst=e.text(made, at),
        op=op,
        data=e.text(x, at),
        bias=bias,
        scale=scale,
        **summed,
    )


def _sum(total: str) -> dict[str, str]:
    command = "nisa.reduce_cmd.reset_reduce"
    return {"reduce_op": "nl.add", "reduce_res": total, "reduce_cmd": command}


def _bias(e: Emission, held: TileValue, at: At, *, negated: bool) -> str:
    """A column that is added, or a number where the scalar engine takes one."""
    rows = 128 if held.shared else at.rows
    sign = "-" if negated else ""
    if held.constant is not None and e.engines.copies:
        return f"{sign}({held.constant})" if negated else held.constant
    if held.constant is None and not negated:
        return e.column(held, at)
    name = e.out.name("bias")
    e.out.line(f"{name} = {e.tensor(name, rows, (1,), 'nl.float32')}")
    if held.constant is not None:
        e.call("memset", dst=name, value=f"{sign}({held.constant})")
    elif held.name in e.by_scalar:
        e.call("activation", dst=name, op="nl.copy", data=e.column(held, at), scale=-1.0)
    else:
        e.call("tensor_scalar", dst=name, data=e.column(held, at), op0="nl.multiply", operand0=-1.0)
    return name


def _by_vector(
    e: Emission,
    made: TileValue,
    steps: list[str],
    x: TileValue,
    others: list[TileValue],
    at: At,
) -> None:
    """Two operations with columns, or one with a column and one with a tile."""
    ops = [ALU[s.removeprefix("r")] for s in steps]
    reverse = ["True" if s == "rsub" else None for s in steps]
    dst, data = e.text(made, at), e.text(x, at)
    if _is_column(others[-1]):
        texts = [e.column(held, at) for held in others]
        second = (
            {} if len(ops) == 1 else {"op1": ops[1], "operand1": texts[1], "reverse1": reverse[1]}
        )
        e.call(
            "tensor_scalar",
            dst=dst,
            data=data,
            op0=ops[0],
            operand0=texts[0],
            reverse0=reverse[0],
            **second,
        )
        return
    last = others[-1]
    if last.psum and x.psum:
        last = e.in_sbuf(last)
    if len(ops) == 1:
        _two_tiles(e, made, ops[0], (last, x) if reverse[0] else (x, last), at)
        return
    if reverse == [None, None] and _is_parted(e, made, steps, (x, last)):
        # The column by the scalar engine, so that GpSimd, which takes two tiles, has its part.
        middle = e.out.name("part")
        e.out.line(f"{middle} = {e.tensor(middle, at.rows, made.extents, 'nl.float32')}")
        given = {"scale" if steps[0] == "mul" else "bias": e.column(others[0], at)}
        e.call("activation", dst=middle, op="nl.copy", data=data, **given)
        held = replace(made, name=middle, dtype=F32, shared=True)
        _two_tiles(e, made, ops[1], (held, last), at)
        return
    e.call(
        "scalar_tensor_tensor",
        dst=dst,
        data=data,
        op0=ops[0],
        operand0=e.column(others[0], at),
        op1=ops[1],
        operand1=e.text(last, at),
        reverse0=reverse[0],
        reverse1=reverse[1],
    )


def _two_tiles(
    e: Emission, made: TileValue, op: str, pair: tuple[TileValue, TileValue], at: At
) -> None:
    """An operation on two tiles; sums and products in part by GpSimd, which has them as well."""
    tiles = (made, *pair)
    axis = next((k for k in made.free if made.shape[k] > 1), None)
    mine = whole = 0 if axis is None else made.shape[axis]
    apart = made.place.run == 1 and not any(t.psum for t in tiles)
    if apart and axis is not None and op in ("nl.add", "nl.multiply"):
        columns = prod(made.shape[k] for k in made.free)
        kept = e.shares.columns_of_vector(e.now, columns, made.chunks, columns // whole)
        mine = kept * whole // columns
    parts = [("vector", 0, mine), ("gpsimd", mine, whole)]
    for engine, start, stop in parts if mine < whole else ():
        if start < stop:
            assert axis is not None
            texts = [e.text(_part(t, axis, start, stop), at) for t in tiles]
            e.call(
                "tensor_tensor",
                dst=texts[0],
                data1=texts[1],
                data2=texts[2],
                op=op,
                engine=f"nisa.engine.{engine}",
            )
    if mine == whole:
        texts = [e.text(t, at) for t in tiles]
        e.call("tensor_tensor", dst=texts[0], data1=texts[1], data2=texts[2], op=op)


def _part(held: TileValue, axis: int, start: int, stop: int) -> TileValue:
    """What a tile has along an axis of its partitions from `start` to `stop`."""
    shape = (*held.shape[:axis], stop - start, *held.shape[axis + 1 :])
    return replace(held, shape=shape, offset=held.offset + start * held.strides[axis])


def _is_parted(
    e: Emission, made: TileValue, steps: list[str], tiles: tuple[TileValue, TileValue]
) -> bool:
    """Whether three engines are sooner done with a column and a tile than the vector engine alone."""
    (width, *more), ops = made.extents, ("add", "mul")
    dense = all(t.is_dense and t.extents == (width,) and not t.psum for t in (made, *tiles))
    if more or not dense or steps[0] not in ops or steps[1] not in ops:
        return False
    room = sbuf_peak(e.kernel, e.column_block).bytes + 4 * width <= usable(e.engines)
    return room and e.shares.may_part(e.now, width, made.chunks)


def _is_column(held: TileValue) -> bool:
    return held.constant is not None or (held.is_row_scalar and held.dtype == F32)


EMITTERS: dict[type, Emit] = {ins.Fused: fused}
