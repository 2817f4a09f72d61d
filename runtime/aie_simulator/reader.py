"""A module's text as operations, with what it lacks as faults of the simulator."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dslc.compiler.mlir import MlirError, Number, Operation, Type, parse
from dslc.runtime.aie_simulator.errors import AieFault

__all__ = ["Operation", "elements_of", "faults", "loops_of", "pads_of", "read"]


@contextmanager
def faults() -> Iterator[None]:
    """What an operation lacks that the reader did not need is a fault of syntax."""
    try:
        yield
    except MlirError as problem:
        raise AieFault("syntax", problem.message, line=problem.line) from None


def read(text: str) -> Operation:
    """The module of a text; AieFault where it is none."""
    with faults():
        return parse(text)


def elements_of(kind: Type | None, line: int) -> tuple[int, str]:
    """Elements and element type of a memref's type."""
    if kind is None or kind.kind != "memref" or min(kind.shape, default=1) < 0:
        raise AieFault("syntax", f"{kind} is no memref of known size", line=line)
    return math.prod(kind.shape), kind.element


def loops_of(found: Any, line: int) -> tuple[tuple[int, int], ...]:
    """The loops (size, stride) of a list of dimensions, outermost first."""
    return _pairs(found, "size", "stride", line)


def pads_of(found: Any, line: int) -> tuple[tuple[int, int], ...]:
    """The elements put before and after each dimension."""
    return _pairs(found, "const_pad_before", "const_pad_after", line)


def _pairs(found: Any, first: str, second: str, line: int) -> tuple[tuple[int, int], ...]:
    pairs = []
    for entry in [found] if isinstance(found, dict) else found or ():
        known = entry if isinstance(entry, dict) else {}
        one, two = known.get(first), known.get(second)
        if not isinstance(one, Number) or not isinstance(two, Number):
            raise AieFault("syntax", f"a {first} or {second} is no number", line=line)
        pairs.append((int(one.value), int(two.value)))
    return tuple(pairs)
