"""What a call's sizes let a specialisation rely on beyond the dims that it fixes: their divisors.

A machine reads memory in wide words where rows begin at multiples of them. A call with N = 4096 gets a
kernel that requires `N % 16 == 0`; one with N = 1000 gets another, which relies on nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import Kernel, Requirement, TileProgram
from dslc.compiler.ir.expr import Binary, Const, index
from dslc.compiler.targets import Target

Facts = tuple[tuple[str, int], ...]
"""Dims with a number that divides them."""


def divisor_facts(target: Target, dims: Iterable[str], sizes: Callable[[str], int | None]) -> Facts:
    """The greatest of the target's divisors for each dim whose size is known."""
    found = []
    for dim in dims if target.divisors else ():
        size = sizes(dim)
        if size is not None:
            best = max((d for d in target.divisors if size % d == 0), default=1)
            if best > 1:
                found.append((dim, best))
    return tuple(found)


def with_facts(program: TileProgram, facts: Facts) -> TileProgram:
    """The kernel with the facts as requirements; programs, which have none, stay as they are."""
    if not isinstance(program, Kernel):
        return program
    dims = {d.name: d for d in program.dims}
    added = []
    for name, divisor in facts:
        if name in dims:
            rest = Binary("mod", dims[name], Const(divisor, INDEX), INDEX)
            condition = Binary("eq", rest, index(0), BOOL)
            added.append(Requirement(condition, f"{name} % {divisor} == 0"))
    return dataclasses.replace(program, requires=(*program.requires, *added))
