"""Small programs as others would write them, each with arguments and what mathematics says of them.

case = Family("norms")                     # kernels of norms.tile

@case()
def layernorm(rng: Generator) -> Trial:    # runs the kernel of that name
    x = normal(rng, 5, 77)
    return Trial({"x": x}, {"y": (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)})

What is wanted is computed in f64 from the arguments, by the definition and not by the kernel's steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

HERE = Path(__file__).parent
Generator = np.random.Generator
Array = np.ndarray[Any, Any]
bfloat16 = ml_dtypes.bfloat16


@dataclass(frozen=True, slots=True)
class Trial:
    """Arguments of a call by name, and what is to stand in the written ones after it.

    An `out` array needs no argument: it has the shape of what is wanted.
    """

    args: Mapping[str, Any]
    wanted: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel or program with sizes and choices.

    near: greatest error, of each element relative to the sum of its own and the largest one's size;
    None is what the output's dtype rounds to. steps: the same of integers, in units.
    """

    name: str
    file: str
    kernel: str
    make: Callable[[Generator], Trial]
    near: float | None = None
    steps: int = 0
    define: Mapping[str, object] = field(default_factory=dict)
    config: Mapping[str, int] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The file of the kernel."""
        return HERE / f"{self.file}.tile"

    def trial(self) -> Trial:
        """The same arguments at every call."""
        return self.make(np.random.default_rng(sum(self.name.encode())))


_ALL: dict[str, Case] = {}


@dataclass(frozen=True, slots=True)
class Family:
    """The cases of one .tile file."""

    file: str

    def __call__(
        self,
        name: str = "",
        kernel: str = "",
        near: float | None = None,
        steps: int = 0,
        define: Mapping[str, object] | None = None,
        config: Mapping[str, int] | None = None,
    ) -> Callable[[Callable[[Generator], Trial]], Callable[[Generator], Trial]]:
        """Register a function that makes the trial of the kernel of its name.

        A further case of the same kernel says its own name and the kernel's.
        """

        def register(make: Callable[[Generator], Trial]) -> Callable[[Generator], Trial]:
            taken = kernel or make.__name__
            own = name or taken
            assert own not in _ALL, f"two cases are named {own}"
            _ALL[own] = Case(own, self.file, taken, make, near, steps, define or {}, config or {})
            return make

        return register


def cases() -> dict[str, Case]:
    """All of them by name, family by family."""
    for path in sorted(HERE.glob("*.tile")):
        import_module(f"corpus.{path.stem}")
    return dict(_ALL)


def normal(rng: Generator, *shape: int, dtype: Any = np.float32) -> Array:
    """Standard normal numbers."""
    return rng.standard_normal(shape).astype(dtype)


def f64(x: Array) -> Array:
    """The same values."""
    return x.astype(np.float64)


def softmax(x: Array, axis: int = -1) -> Array:
    """exp(x) / sum(exp(x)); -inf has the weight 0."""
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def small(x: Array, dtype: str) -> Array:
    """The nearest small floats, as ml_dtypes has them (`float8_e4m3fn`, `float4_e2m1fn` ...)."""
    return x.astype(getattr(ml_dtypes, dtype))
