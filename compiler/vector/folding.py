"""Instructions whose result is known, or is one of their operands."""

from __future__ import annotations

from typing import Any

from dslc.compiler.dtypes import BOOL, DType
from dslc.compiler.vector import instructions as ins
from dslc.compiler.vector.constants import codes_of, constant_of
from dslc.compiler.vector.evaluation import evaluate
from dslc.compiler.vector.traverse import operands
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Constant, Operand, Register

_NEUTRAL = {"add": 0, "sub": 0, "or": 0, "xor": 0, "shl": 0, "shr": 0, "lshift": 0, "rshift": 0}
_ONE = {"mul", "floordiv", "quotient"}
_COMMUTATIVE = {"add", "mul", "and", "or", "xor"}
_LARGEST = 1024  # lanes of a constant that is computed here


def fold(instruction: Any) -> Operand | None:
    """What the instruction gives, where that is a constant or one of its operands; else None."""
    match instruction:
        case ins.Select(condition=Constant() as condition) if condition.is_splat:
            return instruction.x if condition.values[0] else instruction.y
        case ins.Select() if instruction.x is instruction.y:
            return instruction.x
        case ins.Binary() if (same := _identity(instruction)) is not None:
            return same
    reads = operands(instruction)
    type_ = instruction.out.type
    if not isinstance(type_, VectorType) or type_.count > _LARGEST:
        return None
    known = [x for x in reads if isinstance(x, Constant)]
    if len(known) < len(reads):
        return None
    try:
        return constant_of(evaluate(instruction, [codes_of(x) for x in known]), type_)
    except ArithmeticError:  # what the program promised does not hold: it may never come here
        return None


def _identity(instruction: ins.Binary) -> Operand | None:
    """x + 0, 1 * x, x & 0 and the like, of integers and bools."""
    op, x, y = instruction.op, instruction.x, instruction.y
    if op in _COMMUTATIVE and isinstance(x, Constant):
        x, y = y, x
    if not (isinstance(y, Constant) and y.is_splat and isinstance(x, Register)):
        return None
    assert isinstance(x.type, VectorType)
    dtype, value = x.type.dtype, y.values[0]
    if dtype.is_float:
        return None
    if op in _NEUTRAL and value == _NEUTRAL[op]:
        return x
    if (op in _ONE and value == 1) or (op == "and" and value == _all_ones(dtype)):
        return x
    if op in ("and", "mul") and value == 0:
        return Constant((y.values[0],), x.type)
    return None


def _all_ones(dtype: DType) -> int:
    return 1 if dtype == BOOL else -1 if dtype.is_signed else (1 << dtype.bits) - 1
