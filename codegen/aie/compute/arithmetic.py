"""Arithmetic of chunks and scalars of a core, by SSA values.

What a core has no instruction for in bf16 (functions, division) is computed in f32 and rounded
once, as the language has it.
"""

from __future__ import annotations

from dslc.codegen.aie.compute.casts import computed_in, converted
from dslc.codegen.aie.compute.emission import Emission, refuse
from dslc.codegen.aie.dtypes import element
from dslc.codegen.aie.printing.builder import vector
from dslc.compiler.dtypes import BF16, BOOL, F32, DType
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins

_FLOAT = {
    "add": "addf",
    "sub": "subf",
    "mul": "mulf",
    "div": "divf",
    "min": "minimumf",
    "max": "maximumf",
}
_WIDE = ("div",)  # computed in f32 for bf16
_SIGNED = {"add": "addi", "sub": "subi", "mul": "muli", "min": "minsi", "max": "maxsi",
           "and": "andi", "or": "ori", "xor": "xori", "shl": "shli", "shr": "shrsi",
           "floordiv": "floordivsi"}  # fmt: skip
_UNSIGNED = {
    **_SIGNED,
    "min": "minui",
    "max": "maxui",
    "shr": "shrui",
    "floordiv": "divui",
    "mod": "remui",
}
_BOOL = {"and": "andi", "or": "ori", "xor": "xori"}
_ORDER = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
_MATH = {"exp": "exp", "exp2": "exp2", "log": "log", "log2": "log2", "sqrt": "sqrt",
         "rsqrt": "rsqrt", "sin": "sin", "cos": "cos", "tanh": "tanh", "erf": "erf",
         "floor": "floor", "ceil": "ceil", "round": "roundeven", "abs": "absf"}  # fmt: skip
HEAVY = frozenset(_MATH) - {"floor", "ceil", "round", "abs"} | {"sigmoid"}


def unary(e: Emission, stmt: ins.Stmt, op: str, x: str, dtype: DType, lanes: int) -> str:
    """`op(x)` of a chunk."""
    if (own := computed_in(dtype)) is not dtype:
        x = converted(e, stmt, x, dtype, own, lanes)
        return converted(e, stmt, unary(e, stmt, op, x, own, lanes), own, dtype, lanes)
    kind = e.type(dtype, lanes)
    if dtype == BOOL and op in ("not", "invert"):
        return e.out.op(f"arith.xori {x}, {e.out.constant(1, kind)} : {kind}", "flag")
    if dtype.is_integer:
        return _integer_unary(e, stmt, op, x, dtype, lanes)
    if op == "neg":
        return e.out.op(f"arith.negf {x} : {kind}", "neg")
    if op not in _MATH and op != "sigmoid":
        raise refuse(stmt, f"{op} of {dtype} has no code on an NPU")
    wide = vector(lanes, "f32")
    if dtype == BF16:
        x = e.out.op(f"arith.extf {x} : {kind} to {wide}", "wide")
    plain = f"math.{_MATH.get(op)} {x} : {wide}"
    wide_result = _sigmoid(e, x, wide) if op == "sigmoid" else e.out.op(plain, op)
    return converted(e, stmt, wide_result, F32, dtype, lanes) if dtype == BF16 else wide_result


def _sigmoid(e: Emission, x: str, wide: str) -> str:
    one = e.out.constant(1.0, wide)
    negative = e.out.op(f"arith.negf {x} : {wide}", "neg")
    power = e.out.op(f"math.exp {negative} : {wide}", "exp")
    below = e.out.op(f"arith.addf {power}, {one} : {wide}", "below")
    return e.out.op(f"arith.divf {one}, {below} : {wide}", "sigmoid")


def _integer_unary(e: Emission, stmt: ins.Stmt, op: str, x: str, dtype: DType, lanes: int) -> str:
    kind = e.type(dtype, lanes)
    match op:
        case "neg":
            return e.out.op(f"arith.subi {e.out.constant(0, kind)}, {x} : {kind}", "neg")
        case "invert":
            return e.out.op(f"arith.xori {x}, {e.out.constant(-1, kind)} : {kind}", "flipped")
        case "abs" if dtype.is_signed:
            return e.out.op(f"math.absi {x} : {kind}", "abs")
        case "abs" | "floor" | "ceil" | "round":
            return x
    raise refuse(stmt, f"{op} of {dtype} has no code on an NPU")


def binary(e: Emission, stmt: ins.Stmt, op: str, x: str, y: str, dtype: DType, lanes: int) -> str:
    """`op(x, y)` of chunks of one dtype."""
    if (wide := computed_in(dtype)) is not dtype:
        x, y = (converted(e, stmt, v, dtype, wide, lanes) for v in (x, y))
        result = binary(e, stmt, op, x, y, wide, lanes)
        return result if op in ex.COMPARE_OPS else converted(e, stmt, result, wide, dtype, lanes)
    kind = e.type(dtype, lanes)
    if op in ex.COMPARE_OPS:
        return compare(e, op, x, y, dtype, kind)
    if dtype.is_float:
        return _float_binary(e, stmt, op, x, y, dtype, lanes)
    words = _BOOL if dtype == BOOL else _SIGNED if dtype.is_signed else _UNSIGNED
    if op == "mod" and dtype.is_signed:  # of the divisor's sign
        whole = e.out.op(f"arith.floordivsi {x}, {y} : {kind}", "whole")
        back = e.out.op(f"arith.muli {whole}, {y} : {kind}", "back")
        return e.out.op(f"arith.subi {x}, {back} : {kind}", "mod")
    if op == "pow":
        return _integer_power(e, x, y, dtype, lanes)
    if op not in words:
        raise refuse(stmt, f"{op} of {dtype} has no code on an NPU")
    return e.out.op(f"arith.{words[op]} {x}, {y} : {kind}", op)


def _float_binary(
    e: Emission, stmt: ins.Stmt, op: str, x: str, y: str, dtype: DType, lanes: int
) -> str:
    kind = e.type(dtype, lanes)
    if op in ("floordiv", "mod"):
        return _whole_quotient(e, stmt, op, x, y, dtype, lanes)
    if op not in _FLOAT and op != "pow":
        raise refuse(stmt, f"{op} of {dtype} has no code on an NPU")
    word = "math.powf" if op == "pow" else f"arith.{_FLOAT[op]}"
    if dtype == F32 or (op in _FLOAT and op not in _WIDE):
        return e.out.op(f"{word} {x}, {y} : {kind}", op)
    wide = vector(lanes, "f32")
    x = e.out.op(f"arith.extf {x} : {kind} to {wide}", "wide")
    y = e.out.op(f"arith.extf {y} : {kind} to {wide}", "wide")
    result = e.out.op(f"{word} {x}, {y} : {wide}", op)
    return converted(e, stmt, result, F32, dtype, lanes)


def _whole_quotient(
    e: Emission, stmt: ins.Stmt, op: str, x: str, y: str, dtype: DType, lanes: int
) -> str:
    """`//` and `%` in f32: the quotient's floor may be one off, which the rest tells."""
    if dtype == BF16:
        x, y = (converted(e, stmt, v, BF16, F32, lanes) for v in (x, y))
    kind = vector(lanes, "f32")
    flags = f"{vector(lanes, 'i1')}, {kind}" if lanes > 1 else kind
    zero, one = e.out.constant(0.0, kind), e.out.constant(1.0, kind)

    def step(word: str, a: str, b: str) -> str:
        return e.out.op(f"arith.{word} {a}, {b} : {kind}", "rest")

    def test(word: str, a: str, b: str) -> str:
        return e.out.op(f"arith.cmpf {word}, {a}, {b} : {kind}", "off")

    def chosen(flag: str, a: str, b: str) -> str:
        return e.out.op(f"arith.select {flag}, {a}, {b} : {flags}", "whole")

    whole = e.out.op(f"math.floor {step('divf', x, y)} : {kind}", "whole")
    back = e.out.op(f"arith.negf {whole} : {kind}", "back")
    rest = e.out.op(f"math.fma {back}, {y}, {x} : {kind}", "rest")
    # The rest has the divisor's sign and is smaller.
    ahead = test("olt", step("mulf", rest, y), zero)
    size = [e.out.op(f"math.absf {v} : {kind}", "size") for v in (rest, y)]
    behind = test("oge", *size)
    if op == "floordiv":
        result = chosen(behind, step("addf", whole, one), whole)
        result = chosen(ahead, step("subf", whole, one), result)
    else:
        result = chosen(behind, step("subf", rest, y), rest)
        result = chosen(ahead, step("addf", rest, y), result)
    return converted(e, stmt, result, F32, dtype, lanes)


def _integer_power(e: Emission, x: str, y: str, dtype: DType, lanes: int) -> str:
    """By squares, a bit of the exponent after the other; products wrap."""
    kind = vector(lanes, element(dtype))
    flags = f"{vector(lanes, 'i1')}, {kind}" if lanes > 1 else kind
    zero, one = e.out.constant(0, kind), e.out.constant(1, kind)
    power = one
    for bit in range(dtype.bits - dtype.is_signed):
        own = e.out.op(f"arith.andi {y}, {e.out.constant(1 << bit, kind)} : {kind}", "bit")
        there = e.out.op(f"arith.cmpi ne, {own}, {zero} : {kind}", "there")
        more = e.out.op(f"arith.muli {power}, {x} : {kind}", "power")
        power = e.out.op(f"arith.select {there}, {more}, {power} : {flags}", "power")
        x = e.out.op(f"arith.muli {x}, {x} : {kind}", "square")
    return power


def compare(e: Emission, op: str, x: str, y: str, dtype: DType, kind: str) -> str:
    """A comparison: an i1, or a vector of them. NaN is unequal to all."""
    if dtype.is_float:
        word = {"eq": "oeq", "ne": "une"}.get(op, f"o{op}")
        return e.out.op(f"arith.cmpf {word}, {x}, {y} : {kind}", op)
    sign = "s" if dtype.is_signed else "u"
    word = op if op in ("eq", "ne") else f"{sign}{_ORDER[op]}"
    return e.out.op(f"arith.cmpi {word}, {x}, {y} : {kind}", op)


def splat(e: Emission, x: str, kind: str, lanes: int) -> str:
    """A scalar in every lane."""
    if lanes == 1:
        return x
    return e.out.op(f"vector.broadcast {x} : {kind} to {vector(lanes, kind)}", "splat")
