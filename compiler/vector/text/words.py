"""The words of instructions, which the printer writes and the parser reads."""

from __future__ import annotations

import re
from typing import Any, get_args

from dslc.compiler.vector import instructions as ins
from dslc.compiler.vector.function import Instruction

NAMED_BY_OP = (ins.Unary, ins.Binary)


def mnemonic(kind: type[Any]) -> str:
    """The word of an instruction's class: `LoadPacked` is `load_packed`."""
    return re.sub(r"(?<!^)([A-Z])", r"_\1", kind.__name__).lower()


# Elementwise operations are written by their name: `%z = add %x, %y : f32x16`.
WORDS: dict[str, type[Any]] = {
    mnemonic(kind): kind for kind in get_args(Instruction) if kind not in NAMED_BY_OP
}
WORDS |= dict.fromkeys(ins.UNARY_OPS, ins.Unary)
WORDS |= dict.fromkeys(ins.BINARY_OPS, ins.Binary)
