"""The operators that instructions take: of the ALUs, of the Scalar Engine, by parameter.

The rows are the tables "Supported Math Operators" (tbl-aluop) and "Supported Activation Functions"
(tbl-act-func) of nki/api/nki.api.shared.rst; engines and generations are those of the pages of
`nki.isa` and of the release notes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AluRow:
    """An operator of the ALUs: whether it works on bit patterns, has one operand, may reduce."""

    bits: bool = False
    unary: bool = False
    reduces: bool = False
    since: int = 2  # NeuronCore


@dataclass(frozen=True, slots=True)
class ActivationRow:
    """A function of the Scalar Engine, valid from `low` to `high`, of the magnitude where so."""

    low: float = -math.inf
    high: float = math.inf
    magnitude: bool = False


_PLAIN, _REDUCES, _UNARY = AluRow(), AluRow(reduces=True), AluRow(unary=True)

ALU_ROWS: Mapping[str, AluRow] = {
    "invert": AluRow(bits=True, unary=True),
    "bitwise_and": AluRow(bits=True, reduces=True),
    "bitwise_or": AluRow(bits=True, reduces=True),
    "bitwise_xor": AluRow(bits=True, reduces=True),
    "left_shift": AluRow(bits=True),
    "right_shift": AluRow(bits=True),  # logical; an arithmetic one is "not supported"
    "add": _REDUCES,
    "subtract": _REDUCES,
    "multiply": _REDUCES,
    "maximum": _REDUCES,
    "minimum": _REDUCES,
    "equal": _PLAIN,
    "not_equal": _PLAIN,
    "greater_equal": _PLAIN,
    "greater": _PLAIN,
    "less_equal": _PLAIN,
    "less": _PLAIN,
    "logical_and": _REDUCES,
    "logical_or": _REDUCES,
    "logical_xor": _REDUCES,
    "rsqrt": _UNARY,
    "reciprocal": _UNARY,
    "abs": _UNARY,
    "power": _PLAIN,
    "abs_max": AluRow(since=4),  # nki.isa.activate2: a reduction of the Scalar Engine alone
    "abs_min": AluRow(since=4),
}

ACTIVATION_ROWS: Mapping[str, ActivationRow] = dict.fromkeys(
    (
        "copy", "square", "sigmoid", "relu", "gelu", "gelu_dx", "gelu_apprx_tanh",
        "gelu_apprx_sigmoid", "gelu_apprx_sigmoid_dx", "silu", "silu_dx", "tanh", "softplus", "mish",
        "erf", "erf_dx", "exp", "sign", "abs",
    ),
    ActivationRow(),
) | {
    "log": ActivationRow(2.0**-64, 2.0**64),
    "sin": ActivationRow(-math.pi, math.pi),
    "arctan": ActivationRow(-math.pi / 2, math.pi / 2),
    "sqrt": ActivationRow(2.0**-116, 2.0**118),
    "rsqrt": ActivationRow(2.0**-87, 2.0**97),
    "reciprocal": ActivationRow(2.0**-42, 2.0**42, magnitude=True),
}  # fmt: skip

_ORDERINGS = frozenset(("equal", "less", "less_equal", "greater", "greater_equal"))
_ARITHMETIC = frozenset(name for name, row in ALU_ROWS.items() if not row.bits)
_UNARIES = frozenset(name for name, row in ALU_ROWS.items() if row.unary)

KINDS: Mapping[str, frozenset[str]] = {
    "alu": frozenset(ALU_ROWS) - {"power"},
    "binary": frozenset(ALU_ROWS) - _UNARIES,
    "arithmetic": _ARITHMETIC - {"power"},
    "reduction": frozenset(name for name, row in ALU_ROWS.items() if row.reduces),
    "activation": frozenset(ACTIVATION_ROWS),
    "comparison": _ORDERINGS | {"not_equal"},
    "ordering": _ORDERINGS,
    "add": frozenset({"add"}),
    "maximum": frozenset({"maximum"}),
    "partition": frozenset({"add", "maximum", "bitwise_or", "bitwise_and"}),
    "fold": frozenset({"add", "multiply", "maximum", "minimum"}),
    "cumulative": frozenset({"add", "subtract", "multiply", "maximum", "minimum"}),
    "stage": frozenset({"multiply", "add", "subtract", "bypass"}),
    "accumulation": frozenset({"add", "maximum", "minimum", "abs_max", "abs_min"}),
}
"""By the kind of a parameter (instructions.py) the names that it may have.

Powers run on GpSimd, which takes two tiles: nki.isa.tensor_tensor.
"""

ON_GPSIMD = frozenset({"add", "multiply", "power"})
"""Of tensor_tensor on floats by GpSimd: the engine column of tbl-aluop in the releases until 2.26.

Those after it name power alone. 32-bit integers have every arithmetic operator."""

ON_SCALAR = (("multiply", "add"), ("multiply",), ("add",))
"""Of tensor_scalar on the Scalar Engine: op0, or op0 and op1 (nki.isa.tensor_scalar)."""
