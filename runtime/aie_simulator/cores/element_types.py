"""Element types of registers, as NumPy has them: bf16 is an f32 whose value is one of bf16."""

from __future__ import annotations

from typing import NoReturn

from dslc.compiler.mlir import Type
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.reader import Operation

TYPES = {"i8": "np.int8", "i16": "np.int16", "i32": "np.int32", "i64": "np.int64", "f32": "np.float32",
         "bf16": "np.float32", "i1": "np.bool_", "index": "int"}  # fmt: skip
FEW = {f"i{bits}": (1 << bits) - 1 for bits in range(1, 8)}


def refuse(op: Operation) -> NoReturn:
    """AieFault for an operation that is not known."""
    raise AieFault("syntax", f"{op.name} has no meaning in a core", line=op.line)


def dtype_of(kind: Type, op: Operation) -> str:
    """The NumPy type of a type's elements."""
    if kind.element not in TYPES:
        raise AieFault("operation", f"{op.name} of {kind}", line=op.line)
    return TYPES[kind.element]
