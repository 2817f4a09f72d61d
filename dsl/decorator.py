"""`@dslc.kernel` and `@dslc.program`: a Python function as a kernel.

The body is compiled from its source and never executed. Keywords are the kernel's `const`s, and its
`tune`s where they are lists.
"""

from __future__ import annotations

import functools
import sys
import threading
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, overload

from dslc.kernels import Kernel

if TYPE_CHECKING:
    from dslc.frontend.tree import Module
    from dslc.kernels import Origin

Function = Callable[..., Any]
Kind = Literal["kernel", "program"]
Values = dict[str, object]


class DecoratedKernel(Kernel):
    """A kernel from a Python function, which `__wrapped__` is.

    It is compiled for `target`, or else for what `DSLC_TARGET` says, or else for the GPU or the CPU
    that is here. The source is read at the first use, so that it may name what its module defines
    further down.
    """

    __wrapped__: Function
    __qualname__: str

    def __init__(
        self, function: Function, kind: Kind, values: Values, target: str | None, autotune: bool
    ) -> None:
        super().__init__(self._origin_for_target, autotune=autotune)
        functools.update_wrapper(self, function)
        _keep_annotations(self, function)
        if isinstance(function, types.FunctionType) and _is_unsaved(function):
            from dslc.unsaved_source import keep_unsaved_source

            keep_unsaved_source(function)
        self._kind = kind
        self._values = values
        self._target = target
        self._module: Module | None = None
        self._origins: dict[str, Origin] = {}
        self._reading = threading.RLock()

    def __reduce__(self) -> str:
        return self.__qualname__  # pickles as functions do: by where it is found

    def __dslc_definition__(self) -> tuple[Kind, Function, Values, dict[str, list[object]]]:
        """Kind, function, constants and choices: what a program that calls this reads of it."""
        tune = {n: list(v) for n, v in self._values.items() if isinstance(v, list | tuple)}
        const = {n: v for n, v in self._values.items() if n not in tune}
        return self._kind, self.__wrapped__, const, tune

    def __dslc_tree__(self) -> Module:
        """The syntax tree: the kernel last, before it what it captured."""
        from dslc.frontend.python_parser import parse_function, parse_program_function

        with self._reading:
            if self._module is None:
                kind, function, const, tune = self.__dslc_definition__()
                parse = parse_function if kind == "kernel" else parse_program_function
                self._module = parse(function, const=const, tune=tune)
            return self._module

    def _origin_for_target(self) -> Origin:
        from dslc.compilation.building import build_options
        from dslc.compilation.origins import origins
        from dslc.environment import default_target

        target = self._target or default_target()
        origin = self._origins.get(target)
        if origin is None:
            with self._reading:
                by_name = origins(self.__dslc_tree__(), build_options(target))
                origin = self._origins.setdefault(target, by_name[self.__wrapped__.__name__])
        return origin


@overload
def kernel(function: Function, /) -> Kernel: ...
@overload
def kernel(
    *, target: str | None = None, autotune: bool = False, **values: Any
) -> Callable[[Function], Kernel]: ...
def kernel(
    function: Function | None = None,
    /,
    *,
    target: str | None = None,
    autotune: bool = False,
    **values: Any,
) -> Kernel | Callable[[Function], Kernel]:
    """Make a kernel of a function: `@dslc.kernel` or `@dslc.kernel(G=128, BM=[16, 64])`.

    A keyword becomes a `const` of the kernel, or a `tune` where it is a list of choices. With
    `autotune` the first call of sizes that were never tuned finds the fastest choices (docs/tuning.md).
    """
    return _decorate(function, "kernel", values, target, autotune)


@overload
def program(function: Function, /) -> Kernel: ...
@overload
def program(
    *, target: str | None = None, autotune: bool = False, **values: Any
) -> Callable[[Function], Kernel]: ...
def program(
    function: Function | None = None,
    /,
    *,
    target: str | None = None,
    autotune: bool = False,
    **values: Any,
) -> Kernel | Callable[[Function], Kernel]:
    """Make a program of a function that calls decorated kernels: several kernels, one dispatch."""
    return _decorate(function, "program", values, target, autotune)


def _keep_annotations(kernel: DecoratedKernel, function: Function) -> None:
    """Give the kernel the function's annotations as texts, where Python evaluates them late (PEP 649).

    Their names are dims, which are nowhere defined: nothing evaluates them. Python up to 3.13 has the
    texts already, by `from __future__ import annotations`.
    """
    if sys.version_info >= (3, 14):
        import annotationlib

        texts = annotationlib.get_annotations(function, format=annotationlib.Format.STRING)
        kernel.__annotations__ = texts


def _is_unsaved(function: types.FunctionType) -> bool:
    """Whether a function's source is in no file, as far as its name says."""
    return function.__code__.co_filename.startswith("<")


def _decorate(
    function: Function | None, kind: Kind, values: Values, target: str | None, autotune: bool
) -> Kernel | Callable[[Function], Kernel]:
    if function is None:
        return lambda f: DecoratedKernel(f, kind, values, target, autotune)
    return DecoratedKernel(function, kind, values, target, autotune)
