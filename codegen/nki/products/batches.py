"""Products over leading axes: one product after another on slices of the same partitions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod

from dslc.codegen.nki.arithmetic.combining import combine
from dslc.codegen.nki.arithmetic.eight_bits import multipliable
from dslc.codegen.nki.emission import At, Emission
from dslc.codegen.nki.limits import exact_rows
from dslc.codegen.nki.movement.copying import copy, shared_copy
from dslc.codegen.nki.products.product_pieces import accumulate
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.targets.nki import MOVING, PARTITIONS


def batched(e: Emission, stmt: ins.Dot) -> None:
    """out[i] = a[i] @ b[i] + acc[i] for each index of the leading axes."""
    swapped = stmt.atom is not None and stmt.atom.endswith(".swap")
    first, second = (stmt.b, stmt.a) if swapped else (stmt.a, stmt.b)
    stationary, moving = _operand(e, first), _operand(e, second)
    count = prod(stmt.out.type.shape[:-2])
    product = e.like(_result_like(e, stmt), stmt.out.name)
    columns, wide = _columns(stationary, count), _columns(moving, count)
    with e.filled(product) as at:
        batch = e.index_variable("i")
        with e.out.block(f"for {e.names[batch]} in range({count})"):
            for start in range(0, wide, MOVING):
                width = min(MOVING, wide - start)
                number = e.names[batch]
                left = 0 if at.index is None else f"{PARTITIONS} * {e.names[at.index]}"
                dst = _slice(e, product, at, number, wide, start, width)
                for chunks in _groups(stmt, stationary):
                    sums = e.out.name("sums")
                    bank = e.tensor(sums, at.rows, (width,), "nl.float32", psum=True)
                    e.out.line(f"{sums} = {bank}")
                    with _each(e, stationary, chunks) as k:
                        earlier = f"{e.names[k.index]} > {chunks[0]}" if k.index else "False"
                        e.call(
                            "nc_matmul",
                            dst=sums,
                            stationary=_slice(e, stationary, k, number, columns, left, at.rows),
                            moving=_slice(e, moving, k, number, wide, start, width),
                            accumulate=accumulate(earlier),
                        )
                    _out(e, product, dst, sums, at.rows, width, count, first=chunks[0] == 0)
    _finish(e, stmt, product)


def _groups(stmt: ins.Dot, held: TileValue) -> Iterator[range]:
    """The chunks of k that are summed in one bank: all, but for integers as many as f32 has."""
    each = exact_rows(stmt) // PARTITIONS or held.chunks
    for begin in range(0, held.chunks, each):
        yield range(begin, min(held.chunks, begin + each))


@contextmanager
def _each(e: Emission, held: TileValue, chunks: range) -> Iterator[At]:
    if held.chunks == 1:
        yield At(None, held.rows)
        return
    index = e.index_variable("k")
    start = f"{chunks.start}, " if chunks.start else ""
    with e.out.block(f"for {e.names[index]} in range({start}{chunks.stop})"):
        yield At(index, e.rows_of(held, index))


def _out(
    e: Emission, product: TileValue, dst: str, sums: str, rows: int | str, width: int, count: int, *,
    first: bool,
) -> None:  # fmt: skip
    """A finished piece to the result; further sums of integers are added to the ones before."""
    if product.dtype.is_float:
        shared_copy(e, dst, sums, width, product.chunks * count)
    elif first:
        e.call("tensor_copy", dst=dst, src=sums)
    else:
        whole = e.out.name("whole")
        e.out.line(f"{whole} = nl.ndarray(({rows}, {width}), dtype=nl.int32, buffer=nl.sbuf)")
        e.call("tensor_copy", dst=whole, src=sums)
        e.call(
            "tensor_tensor",
            dst=dst,
            data1=whole,
            data2=dst,
            op="nl.add",
            engine="nisa.engine.gpsimd",
        )


def _result_like(e: Emission, stmt: ins.Dot) -> TileValue:
    return e.tile(stmt.out.name, stmt.out.type.dtype, stmt.out.type.shape, e.place(stmt.out))


def _finish(e: Emission, stmt: ins.Dot, product: TileValue) -> None:
    if stmt.acc is None:
        e.values[stmt.out] = product
        return
    acc = e.held(stmt.acc)
    if acc.is_zero:
        copy(e, e.result(stmt.out), product)
        return
    engine = None if product.dtype.is_float else "nisa.engine.gpsimd"
    combine(e, e.result(stmt.out), "nl.add", product, acc, engine)


def _operand(e: Emission, value: Value) -> TileValue:
    return multipliable(e, e.in_sbuf(e.tensors(e.held(value))), value.type.dtype)


def _columns(held: TileValue, count: int) -> int:
    return prod(held.extents) // count


def _slice(
    e: Emission, held: TileValue, at: At, number: str, each: int, start: int | str, width: int | str
) -> str:
    """Columns start to start + width of one product of the batch."""
    size = prod(held.extents)
    offset = f"{each} * {number}" + (f" + {start}" if start else "")
    base = e.base(held, at)
    return f"{base}.ap(pattern=[[{size}, {at.rows}], [1, {width}]], offset={offset})"
