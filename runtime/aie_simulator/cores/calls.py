"""Functions that a module only declares, as Python: what `link_with` names an object file for.

A function is given by its name in the module. It takes a NumPy array of the type's shape for a memref,
which it may write, and a number for a scalar, and gives what the declaration returns. One that waits
is a generator; its parameter `core` has `put_cascade(vector, type)` and `get_cascade(type)`:

    def pass_on(x, core):
        yield from core.put_cascade(x[:16], "i32")

A lock that is passed has `acquire(amount, equal=False)`, which waits, and `release(amount)`:

    def pass_when_full(x, full, free):
        yield from full.acquire(1)
        free.release(1)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from dslc.runtime.aie_simulator.cores.waits import Runtime
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.parts import Memory
from dslc.runtime.aie_simulator.reader import Operation

Functions = Mapping[str, Callable[..., Any]]
# The trace's marks of a core's program: they compute nothing.
_MARKS = ("event_0", "event_1", "event0", "event1", "flush_trace")


class Core:
    """What a function sees of the core that calls it."""

    def __init__(self, runtime: Runtime, line: int) -> None:
        self._runtime, self._line = runtime, line

    def put_cascade(self, vector: Any, kind: str) -> Any:
        """Send 512 bits of elements of a type to the next core."""
        yield from self._runtime.put(np.asarray(vector), kind, self._line)

    def get_cascade(self, kind: str) -> Any:
        """Take 512 bits of elements of a type from the core before."""
        vector = yield from self._runtime.get(kind, self._line)
        return vector


def called(name: str, functions: Functions, op: Operation) -> Callable[..., Any]:
    """A call as the program makes it; AieFault where nobody gave the function."""
    function = functions.get(name, (lambda: None) if name in _MARKS else None)
    if function is None:
        raise AieFault("function", f"@{name} is not given", line=op.line)
    wants_core = "core" in inspect.signature(function).parameters
    waits = inspect.isgeneratorfunction(function)
    shapes = [t.shape for t in op.types]

    def call(runtime: Runtime, given: list[Any]) -> Any:
        pairs = list(zip(given, shapes, strict=True))
        arguments = [x.data.reshape(s) if isinstance(x, Memory) else x for x, s in pairs]
        more = {"core": Core(runtime, op.line)} if wants_core else {}
        try:
            result: Any = function(*arguments, **more)
            if waits:
                result = yield from result
        except (TypeError, ValueError, IndexError) as problem:
            raise AieFault("function", f"@{name}: {problem}", line=op.line) from problem
        for x in given:
            if isinstance(x, Memory):
                x.mark(np.arange(x.count))
        return result

    return call
