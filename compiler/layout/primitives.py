"""The layouts from which all others are composed (Tilus paper, Definitions 2 and 3)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from dslc.compiler.diagnostics import error
from dslc.compiler.layout.layout import MAX_ELEMENTS, MAX_MODES, Layout
from dslc.compiler.layout.mode import Mode, Modes, replicated
from dslc.compiler.layout.swizzles import Swizzle


def local(*shape: int) -> Layout:
    """One thread holds the whole tile, in row-major order."""
    extents = checked_shape("local", shape)
    return Layout(extents, (), _row_major(extents))


def spatial(*shape: int) -> Layout:
    """As many threads as elements, in row-major order; each holds one."""
    extents = checked_shape("spatial", shape)
    return Layout(extents, _row_major(extents), ())


def column_local(*shape: int) -> Layout:
    """One thread holds the whole tile, the first axis running fastest."""
    extents = checked_shape("column_local", shape)
    return Layout(extents, (), _row_major(extents)[::-1])


def column_spatial(*shape: int) -> Layout:
    """As many threads as elements, the first axis running fastest; each holds one."""
    extents = checked_shape("column_spatial", shape)
    return Layout(extents, _row_major(extents)[::-1], ())


def replicate(count: int, rank: int = 1) -> Layout:
    """`count` threads that all hold the one element of a tile of shape (1, ..., 1)."""
    (count,) = checked_shape("replicate", (count,))
    if isinstance(rank, bool) or not isinstance(rank, int) or rank < 1:
        raise error("DSL0300", f"replicate's rank is an integer of at least 1, not {rank!r}")
    if rank > MAX_MODES:
        hint = f"it has at most {MAX_MODES}"
        raise error("DSL0300", f"a layout of {rank} axes is too large", hint=hint)
    return Layout((1,) * rank, (replicated(count),), ())


def modes(
    shape: Sequence[int],
    spatial: Sequence[Sequence[int]] = (),
    local: Sequence[Sequence[int]] = (),
    swizzles: Sequence[Sequence[int]] = (),
) -> Layout:
    """A layout from its modes: [size, axis, stride], or [size] for a replicated spatial mode.

    Each side's modes are the most significant first. A swizzle is [dim, unit, size, source,
    source_unit, source_size]. Every layout can be written so.
    """
    return Layout(
        checked_shape("modes", shape) if shape else (),
        tuple(_mode(m) for m in spatial),
        tuple(_mode(m) for m in local),
        tuple(_swizzle(s) for s in swizzles),
    )


def checked_shape(what: str, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape as a tuple; DSL0300 where an extent is no integer of at least 1."""
    if not shape:
        raise error("DSL0300", f"{what} needs at least one extent")
    for extent in shape:
        if isinstance(extent, bool) or not isinstance(extent, int) or extent < 1:
            raise error("DSL0300", f"{what}: an extent is an integer of at least 1, not {extent!r}")
    if prod(shape) > MAX_ELEMENTS:
        raise error("DSL0300", f"{what}: a tile of {prod(shape)} elements is too large")
    return tuple(int(n) for n in shape)


def _row_major(shape: tuple[int, ...]) -> Modes:
    return tuple(Mode(n, axis, 1) for axis, n in enumerate(shape))


def _numbers(what: str, values: Sequence[int], lengths: tuple[int, ...]) -> list[int]:
    if not isinstance(values, list | tuple) or len(values) not in lengths:
        raise error("DSL0300", f"{what} is a list of {lengths[-1]} integers, not {values!r}")
    if any(isinstance(v, bool) or not isinstance(v, int) for v in values):
        raise error("DSL0300", f"{what} is a list of integers, not {values!r}")
    return list(values)


def _mode(values: Sequence[int]) -> Mode:
    numbers = _numbers("a mode", values, (1, 3))
    return replicated(numbers[0]) if len(numbers) == 1 else Mode(*numbers)


def _swizzle(values: Sequence[int]) -> Swizzle:
    return Swizzle(*_numbers("a swizzle", values, (6,)))
