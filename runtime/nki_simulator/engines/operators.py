"""The operators of the ALUs and the activation functions, with the inputs for which they are valid.

The tables are "Supported Math Operators" and "Supported Activation Functions" of the NKI documentation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from dslc.runtime.nki_simulator.elements import Array

Function = Callable[..., Any]
_ONE = np.float32(1)


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    """A name of `nki.language`: what the ALUs do with it, and what the Scalar Engine does.

    `bits` for the operators on bit patterns. `limits` are the inputs for which the activation function
    is valid, by magnitude where `magnitude`.
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

    def __repr__(self) -> str:
        return f"nl.{self.name}"

    def __call__(self, *args: object, **kwargs: object) -> None:
        """An operator is given to an instruction; there is no tile-level function of its name."""
        raise TypeError(f"nl.{self.name} is an operator for nki.isa instructions, it is not called")


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


def _silu_slope(x: Array) -> Array:
    s = _sigmoid(x)
    return np.asarray(s * (1 + x * (1 - s)))


def _softplus(x: Array) -> Array:
    return np.logaddexp(np.float32(0), x)


_ALU = (
    Operator("add", np.add, reducible=True),
    Operator("subtract", np.subtract, reducible=True),
    Operator("multiply", np.multiply, reducible=True, identity=1.0),
    Operator("maximum", np.maximum, reducible=True, identity=-math.inf),
    Operator("minimum", np.minimum, reducible=True, identity=math.inf),
    Operator("power", np.power),
    Operator("equal", _truth(np.equal)),
    Operator("not_equal", _truth(np.not_equal)),
    Operator("greater", _truth(np.greater)),
    Operator("greater_equal", _truth(np.greater_equal)),
    Operator("less", _truth(np.less)),
    Operator("less_equal", _truth(np.less_equal)),
    Operator("logical_and", _logical(np.logical_and), reducible=True, identity=1.0),
    Operator("logical_or", _logical(np.logical_or), reducible=True),
    Operator("logical_xor", _logical(np.logical_xor), reducible=True),
    Operator("logical_not", lambda a: (a == 0).astype(np.float32), unary=True),
    Operator("abs_max", lambda a, b: np.maximum(np.abs(a), np.abs(b)), reducible=True),
    Operator("invert", np.invert, bits=True, unary=True),
    Operator("bitwise_and", np.bitwise_and, bits=True, reducible=True),
    Operator("bitwise_or", np.bitwise_or, bits=True, reducible=True),
    Operator("bitwise_xor", np.bitwise_xor, bits=True, reducible=True),
    Operator("left_shift", np.left_shift, bits=True),
    Operator("right_shift", _shifted_right, bits=True),
    Operator("rsqrt", lambda a: _ONE / np.sqrt(a), lambda x: _ONE / np.sqrt(x), unary=True,
             limits=(2.0**-87, 2.0**97)),
    Operator("reciprocal", lambda a: _ONE / a, lambda x: _ONE / x, unary=True,
             limits=(2.0**-42, 2.0**42), magnitude=True),
    Operator("abs", np.abs, np.abs, unary=True),
)  # fmt: skip
_ACTIVATIONS = (
    Operator("copy", act=lambda x: x),
    Operator("square", act=lambda x: x * x),
    Operator("sigmoid", act=_sigmoid),
    Operator("relu", act=lambda x: np.maximum(x, np.float32(0))),
    Operator("gelu", act=_gelu),
    Operator("gelu_dx", act=_gelu_slope),
    Operator("gelu_apprx_tanh", act=_gelu_tanh),
    Operator("gelu_apprx_sigmoid", act=lambda x: x * _sigmoid(np.float32(1.702) * x)),
    Operator("silu", act=lambda x: x * _sigmoid(x)),
    Operator("silu_dx", act=_silu_slope),
    Operator("tanh", act=np.tanh),
    Operator("softplus", act=_softplus),
    Operator("mish", act=lambda x: x * np.tanh(_softplus(x))),
    Operator("erf", act=_erf),
    Operator("erf_dx", act=lambda x: np.float32(2 / math.sqrt(math.pi)) * np.exp(-x * x)),
    Operator("exp", act=np.exp),
    Operator("log", act=np.log, limits=(2.0**-64, 2.0**64)),
    Operator("sin", act=np.sin, limits=(-math.pi, math.pi)),
    Operator("arctan", act=np.arctan, limits=(-math.pi / 2, math.pi / 2)),
    Operator("sqrt", act=np.sqrt, limits=(2.0**-116, 2.0**118)),
    Operator("sign", act=np.sign),
)

# Functions of `nki.language` that no engine has.
_OTHERS = (Operator("divide"), Operator("mod"))

OPERATORS = {op.name: op for op in (*_ALU, *_ACTIVATIONS, *_OTHERS)}
OPERATORS["max"], OPERATORS["min"] = OPERATORS["maximum"], OPERATORS["minimum"]
OPERATORS["bypass"] = Operator("bypass", lambda a, _b: a)
