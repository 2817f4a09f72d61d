"""The operators of the ALUs and the activation functions, with the inputs for which they are valid.

What exists, and for which inputs, are the rows of interface/operators.py; here is what each computes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from dslc.runtime.nki_simulator.elements import Array
from dslc.runtime.nki_simulator.interface.names import NAMES
from dslc.runtime.nki_simulator.interface.operators import ACTIVATION_ROWS, ALU_ROWS, AluRow

Function = Callable[..., Any]
_ONE = np.float32(1)
_STEEP = np.float32(1.702)


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    """A name of `nki.language`: what the ALUs do with it, and what the Scalar Engine does.

    `bits` for the operators on bit patterns. `limits` are the inputs for which the activation function
    is valid, by magnitude where `magnitude`. `since` is the NeuronCore from which on it exists.
    """

    name: str
    alu: Function | None = None
    act: Function | None = None
    bits: bool = False
    unary: bool = False
    reducible: bool = False
    identity: float = 0.0
    limits: tuple[float, float] | None = None
    magnitude: bool = False
    since: int = 2

    def __repr__(self) -> str:
        return f"nl.{self.name}"

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """On whole tiles, within a kernel that runs: `nl.add(a, b)`."""
        apply = TILE_LEVEL.get()
        if apply is None:
            raise TypeError(f"nl.{self.name} is called where no kernel runs")
        return apply(self, *args, **kwargs)


TILE_LEVEL: ContextVar[Callable[..., Any] | None] = ContextVar("TILE_LEVEL", default=None)
"""What operators do that a kernel calls: set while one runs."""


def _truth(function: Function) -> Function:
    return lambda a, b: function(a, b).astype(np.float32)


def _logical(function: Function) -> Function:
    return lambda a, b: function(a != 0, b != 0).astype(np.float32)


def _shifted_right(a: Array, b: Array) -> Array:
    """Zeros come in from the left, whatever the sign: the ALUs shift bit patterns."""
    bits = np.dtype(f"u{a.dtype.itemsize}")
    moved: Array = np.asarray(a).view(bits) >> np.asarray(b).view(bits)
    return moved.view(a.dtype)


def _erf(x: Array) -> Array:
    return np.vectorize(math.erf, otypes=[np.float32])(x) if x.size else x


def _sigmoid(x: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(_ONE / (_ONE + np.exp(-x)), np.float32)


def _gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + _erf(x / np.float32(math.sqrt(2)))), np.float32)


def _gelu_tanh(x: Array) -> Array:
    inner = np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x**3)
    return np.asarray(0.5 * x * (1 + np.tanh(inner)))


def _gelu_slope(x: Array) -> Array:
    density = np.exp(-0.5 * x * x) / np.float32(math.sqrt(2 * math.pi))
    return np.asarray(0.5 * (1 + _erf(x / np.float32(math.sqrt(2)))) + x * density, np.float32)


def _gelu_sigmoid_slope(x: Array) -> Array:
    s = _sigmoid(_STEEP * x)
    return np.asarray(s * (1 + _STEEP * x * (1 - s)))


def _silu_slope(x: Array) -> Array:
    s = _sigmoid(x)
    return np.asarray(s * (1 + x * (1 - s)))


def _softplus(x: Array) -> Array:
    return np.logaddexp(np.float32(0), x)


_ALU: dict[str, Function] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "power": np.power,
    "equal": _truth(np.equal),
    "not_equal": _truth(np.not_equal),
    "greater": _truth(np.greater),
    "greater_equal": _truth(np.greater_equal),
    "less": _truth(np.less),
    "less_equal": _truth(np.less_equal),
    "logical_and": _logical(np.logical_and),
    "logical_or": _logical(np.logical_or),
    "logical_xor": _logical(np.logical_xor),
    "abs_max": lambda a, b: np.maximum(np.abs(a), np.abs(b)),
    "abs_min": lambda a, b: np.minimum(np.abs(a), np.abs(b)),
    "invert": np.invert,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": np.left_shift,
    "right_shift": _shifted_right,
    "rsqrt": lambda a: _ONE / np.sqrt(a),
    "reciprocal": lambda a: _ONE / a,
    "abs": np.abs,
}
_ACTIVATIONS: dict[str, Function] = {
    "copy": lambda x: x,
    "square": lambda x: x * x,
    "sigmoid": _sigmoid,
    "relu": lambda x: np.maximum(x, np.float32(0)),
    "gelu": _gelu,
    "gelu_dx": _gelu_slope,
    "gelu_apprx_tanh": _gelu_tanh,
    "gelu_apprx_sigmoid": lambda x: x * _sigmoid(_STEEP * x),
    "gelu_apprx_sigmoid_dx": _gelu_sigmoid_slope,
    "silu": lambda x: x * _sigmoid(x),
    "silu_dx": _silu_slope,
    "tanh": np.tanh,
    "softplus": _softplus,
    "mish": lambda x: x * np.tanh(_softplus(x)),
    "erf": _erf,
    "erf_dx": lambda x: np.float32(2 / math.sqrt(math.pi)) * np.exp(-x * x),
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "arctan": np.arctan,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: _ONE / np.sqrt(x),
    "reciprocal": lambda x: _ONE / x,
    "abs": np.abs,
    "sign": np.sign,
}
_IDENTITIES = {"multiply": 1.0, "logical_and": 1.0, "maximum": -math.inf, "minimum": math.inf}
_IDENTITIES["abs_min"] = math.inf


def _operator(name: str) -> Operator:
    """The operator of a name, by the rows of the published tables."""
    alu, act = ALU_ROWS.get(name, AluRow()), ACTIVATION_ROWS.get(name)
    limits = (act.low, act.high) if act and math.isfinite(act.high) else None
    return Operator(
        name,
        _ALU.get(name),
        _ACTIVATIONS.get(name),
        alu.bits,
        alu.unary,
        alu.reduces,
        _IDENTITIES.get(name, 0.0),
        limits,
        act is not None and act.magnitude,
        alu.since,
    )


# Names of `nki.language` that no engine has as an operator.
_OTHERS = tuple(sorted((*NAMES["functions"], *NAMES["logic"], "divide", "mod", "fmod", "average")))

OPERATORS = {name: _operator(name) for name in dict.fromkeys((*_ALU, *_ACTIVATIONS, *_OTHERS))}
OPERATORS["max"], OPERATORS["min"] = OPERATORS["maximum"], OPERATORS["minimum"]
OPERATORS["bypass"] = Operator("bypass", lambda a, _b: a)
