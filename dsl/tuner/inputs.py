"""The arguments of a measurement: given ones as they are, the others random, all on the host."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from dslc.calls.random_inputs import repeated_array
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import DType, Kind, storage_dtype
from dslc.runtime.binding import dense_strides
from dslc.runtime.expression import evaluate
from dslc.runtime.packing import pack, packed_shape

if TYPE_CHECKING:
    from dslc.calls.signature import Parameter
    from dslc.compiler.artifact import Param

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Scalar: TypeAlias = "int | float | bool"

_NAME = re.compile(r"[A-Za-z_]\w*")
_QUARTER = 0.25  # deviation of random floats: products over thousands of terms stay within f16


@dataclass(frozen=True, slots=True)
class Extent:
    """The shape and strides of a tensor for the sizes at hand, in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def span(self) -> int:
        """The elements from the first to the last, gaps included."""
        if 0 in self.shape:
            return 0
        return 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))


class Inputs:
    """The arguments of one kernel for one set of sizes.

    `given` are arrays in storage form, packed bytes or numbers by parameter. A tensor that is not given
    is random, but for integers of more than 8 bits, which are 0: they are positions and lengths, and a
    kernel stops where these lie outside. A scalar is 1.
    """

    def __init__(
        self,
        parameters: Iterable[Parameter],
        sizes: Mapping[str, int],
        given: Mapping[str, Array | Scalar] | None = None,
        seed: int = 0,
    ) -> None:
        self.parameters = {p.name: p for p in parameters}
        self.sizes = dict(sizes)
        self._given = dict(given or {})
        self._seed = seed
        self._made: dict[str, Array] = {}
        self._check_given()

    @property
    def written(self) -> list[str]:
        """The parameters that the kernel writes."""
        return [n for n, p in self.parameters.items() if p.is_written]

    def scalar(self, name: str) -> Scalar:
        """The value of a scalar parameter."""
        value = self._given.get(name)
        if isinstance(value, int | float):
            return value
        kind = self.parameters[name].dtype
        return True if kind.kind is Kind.BOOL else 1.0 if kind.is_float else 1

    def extent(self, stored: Param) -> Extent:
        """Of a tensor as an artifact describes it; DSL0913 where a dim has no size."""
        shape = self._numbers(stored.dims or (), stored.name)
        if stored.packed is not None:
            shape = packed_shape(stored.packed, shape)
            return Extent(shape, dense_strides(shape))
        if stored.strides is None:
            return Extent(shape, dense_strides(shape))
        return Extent(shape, self._numbers(stored.strides, stored.name))

    def storage(self, stored: Param) -> np.dtype[Any]:
        """The element type of the array that a launch takes."""
        if stored.packed is not None:
            return np.dtype(np.uint8)
        return storage_dtype(self.parameters[stored.name].dtype)

    def array(self, stored: Param) -> Array:
        """What a launch takes for a tensor, all elements of its span in one axis."""
        parameter = self.parameters[stored.name]
        given = self._given.get(stored.name)
        if isinstance(given, np.ndarray) and self._is_packed(parameter, given):
            return given.reshape(-1)
        shape = self._numbers(stored.dims or (), stored.name)
        if stored.packed is not None:
            codes = self._values(parameter, shape, given)
            return pack(codes.reshape(shape), stored.packed).reshape(-1)
        extent = self.extent(stored)
        if not isinstance(given, np.ndarray) or extent.strides == dense_strides(extent.shape):
            flat = (extent.span,)
            return self._values(parameter, flat, given).reshape(-1)
        spread = np.zeros(extent.span, given.dtype)
        steps = tuple(s * given.itemsize for s in extent.strides)
        np.lib.stride_tricks.as_strided(spread, extent.shape, steps)[...] = given
        return spread

    def packed_given(self) -> list[str]:
        """The weights that are given as packed bytes: all configurations must store them so."""
        return [
            n
            for n, v in self._given.items()
            if isinstance(v, np.ndarray) and self._is_packed(self.parameters[n], v)
        ]

    def _values(self, parameter: Parameter, shape: tuple[int, ...], given: object) -> Array:
        if isinstance(given, np.ndarray):
            return np.ascontiguousarray(given)
        if parameter.name not in self._made:
            number = list(self.parameters).index(parameter.name)
            rng = np.random.default_rng((self._seed, number))
            self._made[parameter.name] = _drawn(parameter.dtype, shape, rng)
        return self._made[parameter.name]

    def _is_packed(self, parameter: Parameter, array: Array) -> bool:
        free = parameter.dtype.is_low_bit and parameter.packed is None
        return free and array.dtype == np.uint8 and array.ndim == parameter.rank + 1

    def _numbers(self, texts: Iterable[str], name: str) -> tuple[int, ...]:
        numbers = []
        for text in texts:
            missing = [n for n in _NAME.findall(text) if self._is_open(n)]
            if missing:
                hint = f"say {missing[0]}=..., or give an argument whose shape says it"
                raise error(
                    "DSL0913", f"the size of {missing[0]} of {name} is not known", hint=hint
                )
            numbers.append(int(evaluate(text, {**self._integers(), **self.sizes})))
        return tuple(numbers)

    def _is_open(self, name: str) -> bool:
        known = name in self.sizes or name in self.parameters
        return not known and name not in ("min", "max", "cdiv", "abs", "select", "and", "or", "not")

    def _integers(self) -> dict[str, int]:
        return {
            n: int(self.scalar(n))
            for n, p in self.parameters.items()
            if p.dims is None and p.dtype.is_integer
        }

    def _check_given(self) -> None:
        for name, value in self._given.items():
            parameter = self.parameters.get(name)
            if parameter is None:
                raise error("DSL0911", f"there is no parameter {name}")
            if (parameter.dims is None) == isinstance(value, np.ndarray):
                raise error(
                    "DSL0911",
                    f"{parameter} got {'an array' if parameter.dims is None else 'a number'}",
                )


def _drawn(dtype: DType, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    if dtype.is_integer and dtype.bits > 8:
        return np.zeros(shape, storage_dtype(dtype))
    drawn = repeated_array(dtype, shape, rng)
    if dtype.is_float and dtype.bits >= 16:
        drawn *= drawn.dtype.type(_QUARTER)
    return drawn
