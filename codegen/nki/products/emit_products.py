"""Products on the tensor engine: dst[M, N] in PSUM += stationary[K, M]^T moving[K, N].

The partitions of both operands count k. The stationary operand is cut into columns of 128, which become
the partitions of the result, the moving one into columns of 512, a bank of PSUM. Each piece of the
result is summed over all of k in one bank, and leaves it at once: the next piece takes another bank.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod

from dslc.codegen.nki.arithmetic.bits import flat
from dslc.codegen.nki.arithmetic.eight_bits import columns, multipliable
from dslc.codegen.nki.emission import At, Emission, Emit
from dslc.codegen.nki.limits import exact_rows
from dslc.codegen.nki.products.batches import batched
from dslc.codegen.nki.products.product_pieces import Pieces, accumulate, mode_of
from dslc.codegen.nki.products.streamed_operands import Operand
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.targets.nki import PARTITIONS


def dot(e: Emission, stmt: ins.Dot) -> None:
    """out = a @ b + acc."""
    if stmt.a.type.dtype.is_integer and max(x.type.dtype.bits for x in (stmt.a, stmt.b)) > 8:
        from dslc.codegen.nki.products.wide_products import wide_product

        wide_product(e, stmt)
        return
    if stmt.out.type.rank != 2:
        batched(e, stmt)
        return
    swapped = stmt.atom is not None and stmt.atom.endswith(".swap")
    first, second = (stmt.b, stmt.a) if swapped else (stmt.a, stmt.b)
    limit = exact_rows(stmt)
    stationary, moving = _operand(e, first, limit), _operand(e, second, limit)
    if stmt.acc is not None and stmt.acc in e.sums:
        _into_sums(e, stmt, stationary, moving)
        return
    acc = None if stmt.acc is None else e.in_sbuf(e.held(stmt.acc))
    if acc is not None and acc.constant is not None:
        acc = None if acc.is_zero else e.tensors(acc)
    dtype = e.rounded.get(stmt.out) if acc is None and limit == 0 else None
    if acc is not None and stmt.acc is not None and e.may_overwrite(stmt.acc):
        out = acc  # nobody else reads it: the sums stay where they are
        e.rename(stmt.out, out)
        e.renamed.discard(stmt.out)
    else:
        out = e.result(stmt.out, dtype)
    pieces = Pieces(e, out, acc, stationary, moving, stmt.a.type.shape[-1], limit)
    if stmt.acc is not None:
        pieces.fresh = e.fresh.get(stmt.acc)
    if e.between is not None and e.between.product is stmt:
        pieces.between, e.between = e.between, None
    pieces.emit()


def _operand(e: Emission, value: Value, limit: int) -> Operand:
    columns = prod(value.type.shape) // _depth(e, value)
    if value in e.streamed and limit == 0:
        return Operand(value, e.streamed.pop(value), None, columns)
    held = flat(e, e.in_sbuf(e.tensors(e.held(value))))
    return Operand(value, None, multipliable(e, held, value.type.dtype), columns)


def _depth(e: Emission, value: Value) -> int:
    axis = e.place(value).axis
    assert axis is not None
    return value.type.shape[axis]


def _into_sums(e: Emission, stmt: ins.Dot, stationary: Operand, moving: Operand) -> None:
    """An iteration of a loop that sums in PSUM: the accumulator stays where it is."""
    assert stmt.acc is not None
    sums = e.values[stmt.acc]
    earlier = e.sums[stmt.acc]
    e.values[stmt.out] = sums
    a, b = _loaded(e, stationary), _loaded(e, moving)
    with e.over(sums) as at, _steps(e, a) as k:
        before = earlier if k.index is None else f"{earlier} or {e.names[k.index]} > 0"
        span = _range(e, at, PARTITIONS)
        e.call(
            "nc_matmul",
            dst=e.text(sums, at),
            stationary=columns(e, a, k, span),
            moving=columns(e, b, k, f"0:{b.extents[0]}") if b.paired else e.text(b, k),
            accumulate=accumulate(before),
            perf_mode=mode_of(a),
        )


@contextmanager
def _steps(e: Emission, held: TileValue) -> Iterator[At]:
    """The steps of k: chunks, or pairs of them."""
    if not held.paired:
        with e.over(held) as k:
            yield k
        return
    index = e.index_variable("k")
    with e.out.block(f"for {e.names[index]} in range({held.chunks // 2})"):
        yield At(index, PARTITIONS)


def _loaded(e: Emission, operand: Operand) -> TileValue:
    if operand.held is not None:
        return operand.held
    assert operand.load is not None
    e.statement(operand.load)
    return e.values[operand.value]


def _range(e: Emission, at: At, width: int) -> str:
    if at.index is None:
        return f"0:{at.rows}"
    start = f"{width} * {e.names[at.index]}"
    return f"{start}:{start} + {at.rows}"


EMITTERS: dict[type, Emit] = {ins.Dot: dot}
