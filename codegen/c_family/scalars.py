"""Scalar expressions as C text.

Index variables are `int` where the launch checks that they fit (dims, block and loop counters); a
product of two of them is computed in `long long`, so that index arithmetic never overflows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, isinf, isnan

from dslc.codegen.c_family.ctypes_of import element_type, scalar_type
from dslc.codegen.c_family.registers import held
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import DType, Kind, limits
from dslc.compiler.dtypes.dtype import I32, I64
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
# Where C's own overflow is undefined; narrower integers are computed in int.
_WRAPPING = {"i32": "unsigned", "i64": "unsigned long long"}
# What gives one of its operands, or less bits of them; but for `abs` and `neg` of integers.
_EXACT = {"min", "max", "and", "or", "xor", "shr", "abs", "neg", "floor", "ceil", "round"}
FLOAT_FUNCTIONS = {
    "exp": "expf", "exp2": "exp2f", "log": "logf", "log2": "log2f", "sqrt": "sqrtf",
    "rsqrt": "rsqrtf", "sin": "sinf", "cos": "cosf", "tanh": "tanhf", "sigmoid": "sigmoidf",
    "erf": "erff", "floor": "floorf", "ceil": "ceilf", "round": "rintf", "abs": "fabsf",
}  # fmt: skip


def literal(value: float | bool, dtype: DType) -> str:
    """A constant of a dtype."""
    if dtype.kind is Kind.BOOL:
        return "true" if value else "false"
    if dtype.is_float:
        return float_literal(float(value), double=dtype.bits == 64)
    number = int(value)
    suffix = {"u32": "u", "u64": "ull", "i64": "ll"}.get(dtype.name, "")
    if dtype.kind is Kind.INDEX and not -(1 << 31) < number < 1 << 31:
        suffix = "ll"
    return f"({number}{suffix})" if number < 0 else f"{number}{suffix}"


def float_literal(value: float, *, double: bool = False) -> str:
    """A float in C, exact."""
    if isnan(value) or isinf(value):
        if double:
            top = "0x7ff8" if isnan(value) else "0x7ff0" if value > 0 else "0xfff0"
            return f"__longlong_as_double({top}000000000000ll)"
        bits = "0x7fc00000" if isnan(value) else "0x7f800000" if value == inf else "0xff800000"
        return f"__uint_as_float({bits}u)"
    text = repr(value)
    if "e" not in text and "." not in text:
        text += ".0"
    text += "" if double else "f"
    return f"({text})" if value < 0 or text.startswith("-") else text


@dataclass(frozen=True, slots=True)
class Scalars:
    """Prints expressions; `names` gives the C name of every variable, `reads` of rank-0 tiles.

    `wide` are the variables that are `long long`, `bounded` tells of a variable whether it is proved to
    be at least 0. `remainders` are those that are known to be remainders of a number: what counts the
    slots of a ring goes on by a comparison, without a division.
    """

    names: Mapping[ex.Var, str]
    reads: Callable[[Value], str]
    wide: frozenset[ex.Var] = frozenset()
    bounded: Callable[[ex.Var], bool] = lambda _: False
    remainders: Mapping[ex.Var, int] = field(default_factory=dict)

    def text(self, e: ex.Expr) -> str:
        """The expression, in parentheses where it is not an atom."""
        match e:
            case ex.Const(value=value, dtype=dtype):
                return literal(value, dtype)
            case ex.Var():
                return self.names[e]
            case ex.Read(value=value):
                return self.reads(value)
            case ex.Select(condition=c, x=x, y=y):
                return f"({self.text(c)} ? {self.text(x)} : {self.text(y)})"
            case ex.Convert(x=x, dtype=dtype, saturate=saturate):
                operation = convert(self.text(x), x.dtype, dtype, saturate)
                return held(operation, dtype) if dtype.is_float and x.dtype != dtype else operation
            case ex.Unary(op=op, x=x, dtype=dtype):
                operation = unary(op, self.text(x), dtype)
                return operation if dtype.is_float and op in _EXACT else held(operation, dtype)
            case ex.Binary(op="mul", x=x, y=y, dtype=dtype) if dtype.kind is Kind.INDEX:
                # A cast that is written already is enough.
                wide = not any(isinstance(z, ex.Convert) for z in (x, y))
                return f"({'(long long)' if wide else ''}{self.text(x)} * {self.text(y)})"
            case ex.Binary(op="floordiv" | "mod" as op, x=x, y=y, dtype=dtype) if (
                dtype.kind is Kind.INDEX and (short := self._short_division(x, y))
            ):
                return f"{'floordiv' if op == 'floordiv' else 'floormod'}<int>({short})"
            case ex.Binary(op=op, x=x, y=y):
                known = self._of_remainder(e)
                plain = self._plain_division(e)
                operation = known or binary(op, self.text(x), self.text(y), x.dtype, plain)
                return operation if op in _EXACT else held(operation, e.dtype)
        raise AssertionError(e)

    def _short_division(self, x: ex.Expr, y: ex.Expr) -> str | None:
        """The operands where they are i32 by name or numbers, whose quotient needs no 64 bits."""
        texts = []
        for operand in (x, y):
            match operand:
                case ex.Convert(x=ex.Var() as named) if named.dtype.name == "i32":
                    texts.append(self.text(named))
                case ex.Const(value) if abs(value) < 1 << 31 and value != -1:
                    texts.append(str(int(value)))
                case _:
                    return None
        return ", ".join(texts)

    def _of_remainder(self, e: ex.Binary) -> str | None:
        """A sum that begins with a remainder of n, divided by n once more; None for anything else."""
        match e:
            case ex.Binary("mod" | "floordiv", ex.Binary("add", ex.Var() as v, more), ex.Const(n)):
                if self.remainders.get(v) != n:
                    return None
            case _:
                return None
        name = self.names[v]
        match more:
            case ex.Const(c) if 0 <= c <= n:
                if e.op == "floordiv":
                    return f"({name} >= {n - c})"
                return f"({name} < {n - c} ? {name} + {c} : {name} - {n - c})"
            case ex.Binary("floordiv") if n == 2 and e.op == "mod":
                flag = self._of_remainder(more)
                return flag and f"({name} ^ {flag})"
        return None

    def _plain_division(self, e: ex.Binary) -> bool:
        """Whether C's division rounds as the language's: nothing negative meets it."""
        if e.op not in ("floordiv", "mod") or not not_negative(e.x, self.bounded):
            return False
        return positive(e.y) or not_negative(e.y, self.bounded)

    def is_wide(self, e: ex.Expr) -> bool:
        """Whether an index expression needs 64 bits."""
        return any(
            (isinstance(n, ex.Binary) and n.op in ("mul", "shl", "pow"))
            or n in self.wide
            or (isinstance(n, ex.Convert) and n.x.dtype.bits > 32)
            for n in ex.walk(e)
        )

    def is_product(self, e: ex.Expr) -> bool:
        """Whether an index expression may be as large as the number of a tensor's elements."""
        return any(
            n in self.wide
            or (
                isinstance(n, ex.Binary)
                and n.op == "mul"
                and n.dtype.kind is Kind.INDEX
                and not any(isinstance(x, ex.Const) for x in (n.x, n.y))
            )
            for n in ex.walk(e)
        )


def not_negative(e: ex.Expr, bounded: Callable[[ex.Var], bool]) -> bool:
    """Whether an index is never below 0; `bounded` knows of its variables."""
    match e:
        case ex.Const(value=value):
            return value >= 0
        case ex.Var(dtype=dtype):
            return dtype.kind is Kind.INDEX and bounded(e)
        case ex.Binary(op="add" | "mul" | "floordiv" | "max" | "min", x=x, y=y):
            return not_negative(x, bounded) and not_negative(y, bounded)
        case ex.Binary(op="mod", y=y):
            return positive(y)
        case ex.Convert(x=x):
            return x.dtype.kind is Kind.UINT or not_negative(x, bounded)
    return False


def positive(e: ex.Expr) -> bool:
    """Whether an expression is a constant above 0."""
    return isinstance(e, ex.Const) and e.value > 0


def binary(op: str, x: str, y: str, dtype: DType, plain_division: bool = False) -> str:
    """`op(x, y)` of C expressions of a dtype's element type."""
    if dtype.is_float:
        return float_binary(op, x, y, dtype)
    if op in ("and", "or") and dtype.kind is Kind.BOOL:
        return f"({x} {'&&' if op == 'and' else '||'} {y})"
    if op in _INFIX:
        if op in ("add", "sub", "mul") and dtype.name in _WRAPPING:
            ctype = element_type(dtype)
            unsigned = _WRAPPING[dtype.name]
            return f"({ctype})(({unsigned}){x} {_INFIX[op]} ({unsigned}){y})"
        return f"({x} {_INFIX[op]} {y})"
    if plain_division:
        return f"({x} {'/' if op == 'floordiv' else '%'} {y})"
    function = {
        "floordiv": "floordiv",
        "mod": "floormod",
        "min": "imin",
        "max": "imax",
        "shl": "shift_left",
        "shr": "shift_right",
        "pow": "ipow",
    }[op]
    ctype = "long long" if dtype.kind is Kind.INDEX else element_type(dtype)
    return f"{function}<{ctype}>({x}, {y})"


def float_binary(op: str, x: str, y: str, dtype: DType) -> str:
    """`op(x, y)` in float or double."""
    double = dtype.bits == 64
    match op:
        case "div":
            return f"({x} / {y})"
        case "floordiv":
            return f"floordiv{'d' if double else 'f'}({x}, {y})"
        case "mod":
            return f"floormod{'d' if double else 'f'}({x}, {y})"
        case "pow":
            return f"pow{'' if double else 'f'}({x}, {y})"
        case "min" | "max":
            return f"{'d' if double else 'f'}{op}_nan({x}, {y})"
        case "add" | "sub" | "mul":
            name = f"__{'d' if double else 'f'}{op}_rn"  # never fused: each operation rounds
            return f"{name}({x}, {y})"
    return f"({x} {_INFIX[op]} {y})"


def unary(op: str, x: str, dtype: DType) -> str:
    """`op(x)` of a C expression of a dtype's element type."""
    match op:
        case "neg" if dtype.name in _WRAPPING:
            return f"({element_type(dtype)})(0 - ({_WRAPPING[dtype.name]}){x})"
        case "neg":
            return f"(-{x})"
        case "not":
            return f"(!{x})"
        case "invert":
            return f"(!{x})" if dtype.kind is Kind.BOOL else f"(~{x})"
        case "floor" | "ceil" | "round" if not dtype.is_float:
            return x
        case "abs" if not dtype.is_float:
            return f"({x} < 0 ? {unary('neg', x, dtype)} : {x})"
        case "exp2" if dtype.bits <= 32:
            return f"exp2_ftz({x})"
    function = FLOAT_FUNCTIONS[op]
    if dtype.bits == 64:
        function = function.removesuffix("f") if op != "sigmoid" else "sigmoidd"
    return f"{function}({x})"


def convert(x: str, source: DType, to: DType, saturate: bool = False) -> str:
    """One element in another dtype, as a value of that dtype's element type."""
    if to.is_float:
        number = x if source == to else _to_float(x, source, to)
        return _finite(number, to) if saturate else number
    if source == to:
        return x
    if to.kind is Kind.BOOL:
        return f"({x} != 0)"
    if source.is_float:
        return _truncated(x, source, to)
    if saturate:
        return clamp(x, to, source)
    return narrow(x, to)


def _finite(x: str, to: DType) -> str:
    """A float within the range of another dtype; of scales, which 0 is none of, the least instead."""
    double = to.bits == 64
    most = float_literal(limits(to).greatest, double=double)
    function = "clamp_scale" if to.kind is Kind.SCALE else "clampd" if double else "clampf"
    return f"{function}({x}, {most})"


def _to_float(x: str, source: DType, to: DType) -> str:
    if to.bits == 64:
        return f"(double){x}"
    base = x if source.is_float and source.bits <= 32 else _as_float(x, source, to)
    if to.name == "tf32" and source.name != "tf32":
        return f"round_tf32({base})"
    return base  # narrower floats are rounded where they are packed


def _as_float(x: str, source: DType, to: DType) -> str:
    """An integer or a double as the float that is rounded to `to` once more: nothing rounds twice."""
    # Integers that a float does not hold are past the range of a type that ends below them.
    held = source.is_integer and (source.bits <= 24 or limits(to).greatest < 1 << 24)
    if to.name == "f32" or held or source.kind is Kind.BOOL:
        return f"(float){x}"
    if source.is_float or source.bits <= 32:
        return f"odd_f32({x})"
    return f"odd_f32_of_long<{scalar_type(source)}>({x})"


def _truncated(x: str, source: DType, to: DType) -> str:
    """A float cut to an integer: what its own instruction saturates at, and a narrower range."""
    if to.bits == 64:
        return f"{'to_long' if to.is_signed else 'to_ulong'}({x})"
    if source.bits == 64:
        return clamp(f"to_long({x})", to, I64)
    return f"to_unsigned({x})" if to.name == "u32" else clamp(f"to_int({x})", to, I32)


def clamp(x: str, to: DType, source: DType) -> str:
    """An integer into the range of another dtype, compared in its own: only ends that it passes."""
    low, high = to.integer_range
    least, greatest = source.integer_range
    ctype = scalar_type(source)
    if high < greatest:
        x = f"imin<{ctype}>({x}, {literal(high, source)})"
    if low > least:
        x = f"imax<{ctype}>({x}, {literal(low, source)})"
    same = element_type(to) == ctype or (ctype == "int" and to.bits < 32)
    return x if same else f"({element_type(to)}){x}"


def narrow(x: str, to: DType) -> str:
    """An integer wrapped to a dtype."""
    if to.kind is Kind.INDEX:
        return f"(long long){x}"
    if to.bits >= 32:
        return f"({element_type(to)}){x}"
    if to.kind is Kind.UINT:
        return f"((unsigned){x} & {(1 << to.bits) - 1}u)"
    return f"sign_extend<{to.bits}>((unsigned){x})"


def unsupported(what: str, hint: str | None = None) -> Exception:
    """The error for what the generator cannot say."""
    return error("DSL0590", f"the generator cannot emit {what}", hint=hint)
