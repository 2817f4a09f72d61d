"""Outputs have memory of their own: turns run side by side, and see no order among reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.runtime.elements import Array

T = TypeVar("T")

_WORK: Any = 10_000  # candidates that the exact test tries (its stub knows 0 and -1 alone)


def share_elements(a: Array, b: Array) -> bool:
    """Whether some byte is of both arrays; where that is too hard to tell, it counts as shared."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=_WORK)
    except np.exceptions.TooHardError:
        return True


def refuse_overlaps(
    modes: Mapping[str, str], arrays: Mapping[str, T], meet: Callable[[T, T], bool]
) -> None:
    """DSL0742 where an output shares memory with another argument, as `meet` tells of two arrays.

    `modes` are those of the parameters in order: `in`, `out` or `inout`.
    """
    names = [name for name in modes if name in arrays]
    for i, out in enumerate(names):
        if modes[out] == "in":
            continue
        for j, other in enumerate(names):
            if i == j or (modes[other] != "in" and j < i):
                continue
            if meet(arrays[out], arrays[other]):
                raise error(
                    "DSL0742",
                    f"the arguments {out} ({modes[out]}) and {other} share memory",
                    hint="give the output memory of its own, or make it one `inout` parameter",
                )
