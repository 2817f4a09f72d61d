"""How the elements of a memory lie: the distances of its axes, in elements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dslc.compiler.ir.arithmetic.affine import constant, difference, simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import mul
from dslc.compiler.ir.expr import Expr, index
from dslc.compiler.ir.values import Memory


def product(extents: Iterable[Expr]) -> Expr:
    """The product of some extents, simplified."""
    result: Expr = index(1)
    for extent in extents:
        result = mul(result, extent)
    return simplify(result)


def are_equal(x: Iterable[Expr], y: Iterable[Expr]) -> bool:
    """Whether two products are known to be equal."""
    return difference(product(x), product(y)) == 0


def dense_strides(shape: Sequence[Expr]) -> tuple[Expr, ...]:
    """Row-major, without gaps."""
    strides: list[Expr] = [index(1)]
    for extent in reversed(shape[1:]):
        strides.append(simplify(mul(extent, strides[-1])))
    return tuple(strides[::-1]) if shape else ()


def strides_of(memory: Memory) -> tuple[Expr, ...]:
    """A memory's strides: row-major and dense where it says none."""
    return dense_strides(memory.shape) if memory.strides is None else memory.strides


def lies_densely(memory: Memory) -> bool:
    """Whether it is known that a memory's elements lie in row-major order without gaps."""
    pairs = zip(memory.shape, strides_of(memory), strict=True)
    return memory.strides is None or all(
        constant(extent) == 1 or are_equal((stride,), memory.shape[k + 1 :])
        for k, (extent, stride) in enumerate(pairs)
    )
