"""`@dslc.kernel` and `@dslc.program`: a Python function as a kernel.

The body is compiled from its source and never executed. Keywords are the kernel's `const`s, and its
`tune`s where they are lists.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from dslc.kernels import Kernel

if TYPE_CHECKING:
    from dslc.frontend.tree import Module
    from dslc.kernels import Origin

Function = Callable[..., Any]


class DecoratedKernel(Kernel):
    """A kernel from a Python function, which `__wrapped__` is.

    It is compiled for `target`, or else for what `DSLC_TARGET` says, or else for the interpreter. The
    source is read at the first use, so that it may name what its module defines further down.
    """

    __wrapped__: Function

    def __init__(
        self, function: Function, read: Callable[[Function], Module], target: str | None
    ) -> None:
        super().__init__(self._origin_for_target)
        functools.update_wrapper(self, function)
        self._read = read
        self._target = target
        self._module: Module | None = None
        self._origins: dict[str, Origin] = {}
        self._reading = threading.RLock()

    def __reduce__(self) -> str:
        return self.__qualname__  # pickles as functions do: by where it is found

    def __dslc_tree__(self) -> Module:
        """The syntax tree of the kernel and what it captured, for a program that calls it."""
        with self._reading:
            if self._module is None:
                self._module = self._read(self.__wrapped__)
            return self._module

    def _origin_for_target(self) -> Origin:
        from dslc.building import build_options, default_target
        from dslc.templates import origins

        target = self._target or default_target()
        if target not in self._origins:
            with self._reading:
                found = origins(self.__dslc_tree__(), build_options(target))
                self._origins.setdefault(target, found[self.__wrapped__.__name__])
        return self._origins[target]


@overload
def kernel(function: Function, /) -> Kernel: ...
@overload
def kernel(*, target: str | None = None, **values: Any) -> Callable[[Function], Kernel]: ...
def kernel(
    function: Function | None = None, /, *, target: str | None = None, **values: Any
) -> Kernel | Callable[[Function], Kernel]:
    """Make a kernel of a function: `@dslc.kernel` or `@dslc.kernel(G=128, BM=[16, 64])`.

    A keyword becomes a `const` of the kernel, or a `tune` where it is a list of choices.
    """

    def read(function: Function) -> Module:
        from dslc.frontend.python_parser import parse_function

        tune = {n: list(v) for n, v in values.items() if isinstance(v, list | tuple)}
        const = {n: v for n, v in values.items() if n not in tune}
        return parse_function(function, const=const, tune=tune)

    return _decorate(function, read, target)


@overload
def program(function: Function, /) -> Kernel: ...
@overload
def program(*, target: str | None = None) -> Callable[[Function], Kernel]: ...
def program(
    function: Function | None = None, /, *, target: str | None = None
) -> Kernel | Callable[[Function], Kernel]:
    """Make a program of a function that calls decorated kernels: several kernels, one dispatch."""

    def read(function: Function) -> Module:
        from dslc.frontend.python_parser import parse_program_function

        return parse_program_function(function)

    return _decorate(function, read, target)


def _decorate(
    function: Function | None, read: Callable[[Function], Module], target: str | None
) -> Kernel | Callable[[Function], Kernel]:
    if function is None:
        return lambda f: DecoratedKernel(f, read, target)
    return DecoratedKernel(function, read, target)
