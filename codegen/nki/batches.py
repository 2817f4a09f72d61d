"""Products over leading axes: one product after another on slices of the same partitions."""

from __future__ import annotations

from math import prod

from dslc.codegen.nki.eight_bits import multipliable
from dslc.codegen.nki.elementwise import copy, shared_copy
from dslc.codegen.nki.emission import At, Emission, refuse
from dslc.codegen.nki.held import Held
from dslc.codegen.nki.products import accumulate
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.targets.nki import MOVING, PARTITIONS


def batched(e: Emission, stmt: ins.Dot) -> None:
    """out[i] = a[i] @ b[i] + acc[i] for each index of the leading axes."""
    if not stmt.a.type.dtype.is_float:
        raise refuse(stmt, "a batched product of integers has no code on a NeuronCore")
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
                sums = e.out.name("sums")
                e.out.line(f"{sums} = {e.tensor(sums, at.rows, (width,), 'nl.float32', psum=True)}")
                with e.over(stationary) as k:
                    earlier = "False" if k.index is None else f"{e.names[k.index]} > 0"
                    e.call(
                        "nc_matmul", dst=sums,
                        stationary=_slice(e, stationary, k, number, columns, left, at.rows),
                        moving=_slice(e, moving, k, number, wide, start, width),
                        accumulate=accumulate(earlier),
                    )  # fmt: skip
                dst = _slice(e, product, at, number, wide, start, width)
                shared_copy(e, dst, sums, width, product.chunks * count)
    _finish(e, stmt, product)


def _result_like(e: Emission, stmt: ins.Dot) -> Held:
    return e.tile(stmt.out.name, stmt.out.type.dtype, stmt.out.type.shape, e.place(stmt.out))


def _finish(e: Emission, stmt: ins.Dot, product: Held) -> None:
    if stmt.acc is None:
        e.values[stmt.out] = product
        return
    acc = e.held(stmt.acc)
    if acc.is_zero:
        copy(e, e.result(stmt.out), product)
        return
    from dslc.codegen.nki.elementwise import combine

    combine(e, e.result(stmt.out), "nl.add", product, acc)


def _operand(e: Emission, value: Value) -> Held:
    return multipliable(e, e.in_sbuf(e.tensors(e.held(value))), value.type.dtype)


def _columns(held: Held, count: int) -> int:
    return prod(held.extents) // count


def _slice(
    e: Emission, held: Held, at: At, number: str, each: int, start: int | str, width: int | str
) -> str:
    """Columns start to start + width of one product of the batch."""
    size = prod(held.extents)
    offset = f"{each} * {number}" + (f" + {start}" if start else "")
    base = e.base(held, at)
    return f"{base}.ap(pattern=[[{size}, {at.rows}], [1, {width}]], offset={offset})"
