"""Operators: type promotion (which dtypes meet), what shape comes out, and the instructions for it.

A known number and an index scalar are weak: they take the dtype of what they meet. Two strong dtypes
must be equal; the error names the cast to write.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from dslc.checker.emit import Emitter
from dslc.checker.failure import fail
from dslc.checker.items import (
    EXPRESSIONS,
    Item,
    Number,
    describe,
    is_number,
    is_scalar,
    is_weak,
    shape_text,
)
from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import BOOL, F32, INDEX, DType, Kind
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import constant as constant_of

OPERATORS = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod", "**": "pow",
    "&": "and", "|": "or", "^": "xor", "<<": "shl", ">>": "shr", "and": "and", "or": "or",
    "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
}  # fmt: skip
SYMBOLS = {op: symbol for symbol, op in OPERATORS.items() if symbol not in ("and", "or")}

_FOLD: dict[str, Callable[[Number, Number], Number]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "shl": operator.lshift,
    "shr": operator.rshift, "min": min, "max": max, "eq": operator.eq, "ne": operator.ne,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
_BITWISE = ("and", "or", "xor", "shl", "shr")
_ARITHMETIC_FLOATS = ("f16", "bf16", "f32", "f64")
_MAX_BITS = 4096  # of a constant: keeps `1 << 10**9` from taking the machine's memory


def fold(op: str, x: Number, y: Number, loc: Loc) -> Number:
    """A binary operation of two known numbers, by Python's rules."""
    if op in ("pow", "shl") and _too_large(op, x, y):
        fail("DSL0224", "this constant is too large", loc)
    try:
        result = _FOLD[op](x, y)
    except ZeroDivisionError:
        fail("DSL0224", "division by zero in a constant", loc, hint="give the divisor a value")
    except OverflowError:
        fail("DSL0224", "this constant is too large", loc)
    except (TypeError, ValueError) as e:
        fail("DSL0214", f"{SYMBOLS[op]} does not work on {x} and {y}: {e}", loc)
    if isinstance(result, int) and result.bit_length() > _MAX_BITS:
        fail("DSL0224", "this constant is too large", loc)
    if isinstance(result, complex):
        fail("DSL0224", f"{x} ** {y} is not a real number", loc)
    return result


def _too_large(op: str, x: Number, y: Number) -> bool:
    if not isinstance(x, int) or not isinstance(y, int) or y <= 0:
        return False
    return y > _MAX_BITS or (op == "pow" and x.bit_length() * y > _MAX_BITS)


def number_dtype(value: Number) -> DType:
    """The dtype of a known number that has to be one: index, f32 or bool."""
    if isinstance(value, bool):
        return BOOL
    return INDEX if isinstance(value, int) else F32


def constant(value: Number, dtype: DType, loc: Loc) -> ex.Const:
    """A known number as `dtype`; an error if it does not fit."""
    if dtype.is_float:
        if isinstance(value, bool):
            fail("DSL0202", f"{value} is a bool, not a {dtype}", loc, hint="write 1.0 or 0.0")
        try:
            return ex.Const(float(value), dtype)
        except OverflowError:
            fail("DSL0224", f"the number {value} does not fit in {dtype}", loc)
    if dtype is BOOL or dtype.kind is Kind.BOOL:
        if not isinstance(value, bool):
            fail("DSL0202", f"the number {value} meets a bool", loc, hint="write a comparison")
        return ex.Const(value, dtype)
    if isinstance(value, float):
        fail(
            "DSL0202",
            f"the float {value} meets integers of dtype {dtype}",
            loc,
            hint="cast the integers to a float dtype first: cast(x, f32)",
        )
    low, high = dtype.integer_range
    if not low <= value <= high:
        fail("DSL0224", f"the number {value} does not fit in {dtype} ({low} to {high})", loc)
    return ex.Const(int(value), dtype)


def as_expr(item: Item, loc: Loc) -> ex.Expr:
    """A scalar as an expression; known numbers become index, f32 or bool."""
    if is_number(item):
        assert isinstance(item, bool | int | float)
        return constant(item, number_dtype(item), loc)
    if not is_scalar(item):
        fail("DSL0210", f"a scalar is needed here, not {describe(item)}", loc)
    return item  # type: ignore[return-value]


def as_dtype(item: Item, dtype: DType, loc: Loc, what: str = "value") -> ex.Expr:
    """A scalar in `dtype`: weak ones convert, strong ones must have it."""
    if isinstance(item, bool | int | float):
        return constant(item, dtype, loc)
    scalar = as_expr(item, loc)
    if scalar.dtype == dtype:
        return scalar
    both_integers = scalar.dtype.is_integer and dtype.kind is Kind.INDEX
    if both_integers or (is_weak(scalar) and dtype.kind is not Kind.BOOL):
        return ex.Convert(scalar, dtype)
    fail(
        "DSL0202",
        f"the {what} has dtype {scalar.dtype}, {dtype} is needed",
        loc,
        hint=f"write cast(..., {dtype})",
    )


def widened(item: Item) -> Item:
    """An integer scalar as an index; anything else as it is."""
    if isinstance(item, EXPRESSIONS) and item.dtype.is_integer and item.dtype != INDEX:
        return ex.Convert(item, INDEX)
    return item


def broadcast_shapes(a: tuple[int, ...], b: tuple[int, ...], loc: Loc) -> tuple[int, ...]:
    """NumPy's rule: align on the right, sizes equal or 1."""
    rank = max(len(a), len(b))
    wide_a = (1,) * (rank - len(a)) + a
    wide_b = (1,) * (rank - len(b)) + b
    out = []
    for i, (x, y) in enumerate(zip(wide_a, wide_b, strict=True)):
        if x != y and 1 not in (x, y):
            fail(
                "DSL0203",
                f"shapes {shape_text(a)} and {shape_text(b)} do not fit: "
                f"axis {i} has {x} and {y} elements",
                loc,
                hint="sizes must be equal or 1; add an axis of size 1 with x[:, None]",
            )
        out.append(y if x == 1 else x)
    return tuple(out)


def check_operator(op: str, dtype: DType, loc: Loc) -> None:
    """Refuse operators that a dtype does not have, naming the way out."""
    symbol = SYMBOLS.get(op, op)
    if dtype.kind is Kind.BOOL:
        if op not in ("and", "or", "xor", "eq", "ne", "not", "invert"):
            fail(
                "DSL0214",
                f"{symbol} does not work on bool",
                loc,
                hint="write cast(x, i32) to count, or where(cond, a, b)",
            )
    elif dtype.is_float:
        if dtype.name not in _ARITHMETIC_FLOATS:
            fail(
                "DSL0214",
                f"there is no arithmetic on {dtype}",
                loc,
                hint="write cast(x, f16) or cast(x, f32) first",
            )
        if op in _BITWISE or op == "invert":
            fail(
                "DSL0214",
                f"{symbol} does not work on floats ({dtype})",
                loc,
                hint="view the bits as an integer dtype",
            )
    elif op == "div":
        fail(
            "DSL0214",
            f"/ does not work on integers ({dtype})",
            loc,
            hint="write // to round down, or cast(x, f32) / ...",
        )


def splat(emit: Emitter, item: Item, dtype: DType, shape: tuple[int, ...], loc: Loc) -> Value:
    """A tile or a scalar as a tile of `dtype` and `shape`."""
    if isinstance(item, Value):
        if item.type.dtype != dtype:
            fail(
                "DSL0202", f"{describe(item)} meets {dtype}", loc, hint=f"write cast(..., {dtype})"
            )
        return emit.broadcast(item, shape)
    return emit.full(as_dtype(item, dtype, loc), shape)


def common_dtype(items: tuple[Item, ...], loc: Loc) -> DType:
    """The one dtype of operands: that of the strong ones, which must agree."""
    strong: DType | None = None
    for item in items:
        if is_weak(item):
            continue
        dtype = item.type.dtype if isinstance(item, Value) else as_expr(item, loc).dtype
        if strong is not None and dtype != strong:
            hint = f"write cast(..., {strong}) or cast(..., {dtype})"
            narrow, wide = sorted((strong, dtype), key=lambda d: d.bits)
            if narrow.is_low_bit and narrow.is_integer and wide.is_float:
                hint = (
                    f"write cast(..., {wide}), and before any arithmetic: {narrow} wraps within its "
                    f"{narrow.bits} bits, so that w - 8 of a code below 8 is not negative"
                )
            fail("DSL0202", f"two dtypes meet: {strong} and {dtype}", loc, hint=hint)
        strong = dtype
    if strong is not None:
        return strong
    dtypes = [
        number_dtype(i) if isinstance(i, bool | int | float) else as_expr(i, loc).dtype
        for i in items
    ]
    if all(d is BOOL for d in dtypes):
        return BOOL
    return F32 if F32 in dtypes else INDEX


def elementwise(
    emit: Emitter, items: tuple[Item, ...], loc: Loc, op: str
) -> tuple[tuple[Value, ...], DType]:
    """Operands as tiles of one shape and dtype, checked for `op`."""
    for item in items:
        if not isinstance(item, Value) and not is_scalar(item):
            fail("DSL0214", f"{SYMBOLS.get(op, op)} does not work on {describe(item)}", loc)
    dtype = common_dtype(items, loc)
    check_operator(op, dtype, loc)
    shape: tuple[int, ...] = ()
    for item in items:
        if isinstance(item, Value):
            shape = broadcast_shapes(shape, item.type.shape, loc)
    return tuple(splat(emit, i, dtype, shape, loc) for i in items), dtype


def binary(emit: Emitter, op: str, x: Item, y: Item, loc: Loc) -> Item:
    """`x op y` for any two items; op is an IR name from expr.BINARY_OPS."""
    if isinstance(x, bool | int | float) and isinstance(y, bool | int | float):
        return fold(op, x, y, loc)
    if op in ("eq", "ne") and isinstance(x, DType | str) and isinstance(y, DType | str):
        return (x == y) == (op == "eq")
    check_divisor(op, x, y, loc)
    if isinstance(x, Value) or isinstance(y, Value):
        (a, b), _ = elementwise(emit, (x, y), loc, op)
        return emit.binary(op, a, b)
    for item in (x, y):
        if not is_scalar(item):
            fail("DSL0214", f"{SYMBOLS.get(op, op)} does not work on {describe(item)}", loc)
    return scalar_binary(op, x, y, loc)


def check_divisor(op: str, x: Item, y: Item, loc: Loc) -> None:
    """Refuse to divide integers by what is known to be 0."""
    if op not in ("floordiv", "mod") or not is_scalar(y):
        return
    divisor = as_expr(y, loc)
    dividend = x.type.dtype if isinstance(x, Value) else as_expr(x, loc).dtype
    if dividend.is_integer and divisor.dtype.is_integer and constant_of(divisor) == 0:
        fail("DSL0224", "division by zero", loc, hint="the divisor is 0 here for every call")


def scalar_binary(op: str, x: Item, y: Item, loc: Loc) -> ex.Expr:
    """`x op y` of scalars, at least one of them unknown until run time."""
    dtype = _scalar_dtype(x, y, loc)
    check_operator(op, dtype, loc)
    a, b = as_dtype(x, dtype, loc), as_dtype(y, dtype, loc)
    return ex.Binary(op, a, b, BOOL if op in ex.COMPARE_OPS else dtype)


def _scalar_dtype(x: Item, y: Item, loc: Loc) -> DType:
    """An index and a typed integer make an index: index arithmetic never overflows."""
    strong = [as_expr(i, loc).dtype for i in (x, y) if not is_number(i)]
    if any(d.kind is Kind.INDEX for d in strong) and all(d.is_integer for d in strong):
        numbers = [i for i in (x, y) if isinstance(i, float)]
        return F32 if numbers else INDEX
    return common_dtype((x, y), loc)


def unary(emit: Emitter, op: str, x: Item, loc: Loc) -> Item:
    """A function of one operand; op is an IR name from expr.UNARY_OPS."""
    if isinstance(x, bool | int | float):
        return fold_unary(op, x, loc)
    if not isinstance(x, Value) and not is_scalar(x):
        fail("DSL0214", f"{op} does not work on {describe(x)}", loc)
    dtype = x.type.dtype if isinstance(x, Value) else as_expr(x, loc).dtype
    needs_float = op not in ("neg", "not", "invert", "abs")
    if needs_float and dtype.kind is Kind.INDEX:
        x, dtype = ex.Convert(as_expr(x, loc), F32), F32
    check_operator(op, dtype, loc)
    if needs_float and not dtype.is_float:
        fail("DSL0214", f"{op} needs floats, not {dtype}", loc, hint="write cast(x, f32)")
    if isinstance(x, Value):
        return emit.unary(op, x)
    return ex.Unary(op, as_expr(x, loc), dtype)


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


_FOLD_UNARY: dict[str, Callable[[float], Number]] = {
    "exp": math.exp, "exp2": math.exp2, "log": math.log, "log2": math.log2, "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x), "sin": math.sin, "cos": math.cos, "tanh": math.tanh,
    "sigmoid": _sigmoid, "erf": math.erf, "floor": lambda x: float(math.floor(x)),
    "ceil": lambda x: float(math.ceil(x)), "round": lambda x: float(round(x)),
}  # fmt: skip


def fold_unary(op: str, x: Number, loc: Loc) -> Number:
    """A function of one known number."""
    match op:
        case "not":
            return not x
        case "neg":
            return -x
        case "abs":
            return abs(x)
        case "invert":
            if isinstance(x, float):
                fail("DSL0214", "~ does not work on floats", loc)
            return not x if isinstance(x, bool) else ~x
    try:
        return _FOLD_UNARY[op](float(x))
    except (ValueError, OverflowError, ZeroDivisionError):
        fail("DSL0224", f"{op}({x}) is not a number", loc)
