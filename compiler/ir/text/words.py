"""The words of the text form that the printer writes and the parser reads."""

from __future__ import annotations

import re

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import BINARY_OPS, UNARY_OPS
from dslc.compiler.ir.instructions import Instruction
from dslc.compiler.ir.traverse import INSTRUCTIONS

SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
OPS = {symbol: op for op, symbol in SYMBOLS.items()}

# How tightly a symbol binds, as in Python but that all group to the left.
_LEVELS = (
    ("eq", "ne", "lt", "le", "gt", "ge"),
    ("or",),
    ("xor",),
    ("and",),
    ("shl", "shr"),
    ("add", "sub"),
    ("mul", "div", "floordiv", "mod"),
    (),  # a sign
    ("pow",),
)
PRECEDENCE = {op: level for level, ops in enumerate(_LEVELS, start=1) for op in ops}
SIGN = 8
ATOM = 10
SIGNS = {"neg": "-", "invert": "~"}

UNARY_CALLS = tuple(op for op in UNARY_OPS if op not in SIGNS)
BINARY_CALLS = tuple(op for op in BINARY_OPS if op not in SYMBOLS)


def mnemonic(kind: type[Instruction]) -> str:
    """The word of an instruction class: `CopyAsync` is `copy_async`."""
    return re.sub(r"(?<!^)([A-Z])", r"_\1", kind.__name__).lower()


# Elementwise instructions are written by their operation: `%z = add %x, %y : f32[16]`.
WORDS: dict[str, type[Instruction]] = {mnemonic(kind): kind for kind in INSTRUCTIONS}
del WORDS["unary"], WORDS["binary"]
WORDS |= dict.fromkeys(UNARY_OPS, ins.Unary)
WORDS |= dict.fromkeys(BINARY_OPS, ins.Binary)

STRUCTURED = ("for", "while", "if", "warp_specialize")
