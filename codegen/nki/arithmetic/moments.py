"""Means and variances of rows: statistics of 512 elements at a time, and the moments of them all."""

from __future__ import annotations

from dataclasses import replace

from dslc.codegen.nki.emission import At, Emission
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import F32
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import walk
from dslc.compiler.passes.trainium.engine_times import STATISTICS

_EACH = 6  # numbers that are kept of a block


def moment(e: Emission, stmt: ins.Reduce) -> None:
    """The mean or the variance of each row; the second one that is asked for is there already."""
    key = stmt.x, stmt.axis
    if not any(s is e.moments.get(key, (None,))[0] for s in e.before):
        e.moments[key] = stmt, _both(e, stmt)
    both = e.moments[key][1]
    shape = stmt.out.type.shape
    column = replace(both, shape=shape, place=e.place(stmt.out), strides=(0,) * len(shape))
    column = replace(column, offset=int(stmt.op == "variance"))
    # What the next turn takes is made now, not behind all that the turn has to do.
    handed_on = any(
        stmt.out in (c.init, c.yielded)
        for loop in walk(e.kernel.body)
        if isinstance(loop, ins.For)
        for c in loop.carried
    )
    e.values[stmt.out] = e.tensors(column) if handed_on else column


def _both(e: Emission, stmt: ins.Reduce) -> TileValue:
    """A tile whose rows have the mean, then the variance."""
    x = e.held(stmt.x)
    if x.psum or not x.is_dense or x.shared or len(x.extents) > 1:
        x = e.tensors(e.in_sbuf(x))
    shape = (*x.shape[: stmt.axis], 2, *x.shape[stmt.axis + 1 :])
    both = e.tile("moments", F32, shape, x.place)
    length = x.shape[stmt.axis]
    with e.filled(both) as at:
        e.call("bn_aggr", dst=e.text(both, at), data=_statistics(e, x, length, at))
    return both


def _statistics(e: Emission, x: TileValue, length: int, at: At) -> str:
    """Of each block its statistics, side by side."""
    blocks = -(-length // STATISTICS)
    name, base = e.out.name("statistics"), e.base(x, at)
    e.out.line(f"{name} = {e.tensor(name, at.rows, (_EACH * blocks,), 'nl.float32')}")
    if blocks == 1:
        e.call("bn_stats", dst=name, data=e.text(x, at))
        return name
    block = e.out.name("block")
    with e.out.block(f"for {block} in range({blocks})"):
        stop = f"{STATISTICS} * {block} + {STATISTICS}"
        stop = stop if length % STATISTICS == 0 else f"min({length}, {stop})"
        e.call(
            "bn_stats",
            dst=f"{name}[0:{at.rows}, {_EACH} * {block}:{_EACH} * {block} + {_EACH}]",
            data=f"{base}[0:{at.rows}, {STATISTICS} * {block}:{stop}]",
        )
    return name
