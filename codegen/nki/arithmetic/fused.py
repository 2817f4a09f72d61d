"""Steps with columns as one instruction: of the scalar engine with its sum, or of the vector engine."""

from __future__ import annotations

from math import prod

from dslc.codegen.nki.arithmetic.chains import chain
from dslc.codegen.nki.arithmetic.scaling import activation, columns_text, scalings
from dslc.codegen.nki.emission import Emission, Emit
from dslc.codegen.nki.movement.copying import copy_chunk
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import F32
from dslc.compiler.dtypes.dtype import BF16
from dslc.compiler.ir import instructions as ins
from dslc.compiler.passes.trainium.lanes import AFFINE
from dslc.compiler.passes.trainium.select_instructions import is_row_sum

_FEW = 8  # elements of a partition, which cost an instruction's least time


def fused(e: Emission, stmt: ins.Fused) -> None:
    """One instruction a chunk, and the sum of each row with it where that stands behind."""
    steps = stmt.steps.split()
    first, *others = (e.held(x) for x in stmt.xs)
    first = e.tensors(first) if first.constant is not None else first
    if not all(held.is_column for held in others):
        chain(e, stmt, first, steps, others)
        if e.following is not None:
            e.written.discard(e.following)
        return
    functions = [s for s in steps if s not in ins.FUSED_OPS]
    total = _total(e, stmt)
    affine = steps in AFFINE
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
            (words,) = scalings(e, steps, others, at) or [{"op": "nl.copy"}]
            summed = None if total is None else _sum(e.text(total, at))
            activation(e, e.text(out, at), e.text(first, at), words, summed)
        elif not steps:
            copy_chunk(e, out, first, at)
        else:
            words = columns_text(e, steps, others, at)
            e.call("tensor_scalar", dst=e.text(out, at), data=e.text(first, at), **words)
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


def _sum(total: str) -> dict[str, str]:
    command = "nisa.reduce_cmd.reset_reduce"
    return {"reduce_op": "nl.add", "reduce_res": total, "reduce_cmd": command}


EMITTERS: dict[type, Emit] = {ins.Fused: fused}
