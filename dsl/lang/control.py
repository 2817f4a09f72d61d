"""Loops, conditions of the call, and debugging. `range` and `print` are Python's own outside."""
# ruff: noqa: A001 - the language shares these names with Python

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from dslc.lang.stub import in_kernel, or_builtin

if TYPE_CHECKING:

    def range(
        start: Any,
        stop: Any = None,
        step: Any = 1,
        *,
        stages: int | None = None,
        unroll: int | None = None,
        split: int | None = None,
        atomic: bool | int = False,
    ) -> Any:
        """The iterations of a sequential loop, as Python's range.

        `stages`: how many iterations' loads are in flight. `unroll`: how many are written out.
        `split`: the reduction may be divided among that many program instances of `parallel`.
        `atomic`: these may add their parts to the result themselves, in any order.
        """
else:
    range = builtins.range  # the class itself, so that isinstance keeps working


@in_kernel
def parallel(*ranges: Any) -> Any:
    """Program instances (turns): independent, run in any order, at once.

    `for m, n in parallel(range(0, M, BM), range(0, N, BN)):`, one such nest a kernel, outermost.
    """


@in_kernel
def static(items: Any) -> Any:
    """The items of a loop at compile time, whose body is written out for each of them.

    `for i in static(range(4)):`. Lists, `zip` and `enumerate` need no `static`.
    """


@in_kernel
def require(condition: Any) -> None:
    """A condition on dims and scalars, checked at the call; the compiler may rely on it.

    Among the first statements of a kernel.
    """


@or_builtin
def print(*values: Any, **options: Any) -> None:
    """Print texts, scalars and tiles, once a parallel turn."""
