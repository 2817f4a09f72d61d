"""Expressions of C as FlyDSL's Python, with the conversions that C makes unsaid.

Numbers of FlyDSL have C's types and much of its arithmetic; what differs is written out. What is read
from registers or memory has the bits but not the sign of its type, and a literal no type at all.
Integers are divided downwards, as in the language; C cuts off, but the generator divides nothing
negative.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dslc.codegen.flydsl import syntax as sx
from dslc.codegen.flydsl.c_types import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    ULONG,
    UNSIGNED,
    VOID,
    Other,
    Pointer,
    Scalar,
    Type,
    common,
    promoted,
)
from dslc.codegen.flydsl.texts import (
    POSTFIX,
    Text,
    UnprintableError,
    is_small,
    literal_of,
    scalar_of,
    with_sign,
    with_type,
)

_LEVELS = {
    "||": 1, "&&": 2, "==": 4, "!=": 4, "<": 4, ">": 4, "<=": 4, ">=": 4, "|": 5, "^": 6, "&": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_COMPARISONS, _UNARY = ("==", "!=", "<", ">", "<=", ">="), 11
_FOLDED = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.floordiv}
_SUFFIX = {FLOAT: "f32", DOUBLE: "f64"}
_INTRINSICS = {
    "fabs": "fabs", "floor": "floor", "ceil": "ceil", "rint": "rint", "trunc": "trunc", "sqrt": "sqrt",
    "exp": "exp", "exp2": "exp2", "log": "log", "log2": "log2", "fma": "fma", "copysign": "copysign",
    "fmin": "minnum", "fmax": "maxnum", "amdgcn_rsq": "amdgcn.rsq", "amdgcn_rcp": "amdgcn.rcp",
    "amdgcn_exp2": "amdgcn.exp2",
}  # fmt: skip


@dataclass(slots=True)
class Expressions:
    """Types of what expressions name; `traced` where Python's `and`, `or` and `not` are FlyDSL's."""

    functions: Mapping[str, sx.Function]
    names: dict[str, Type]
    traced: bool
    spelled: dict[str, str] = field(default_factory=dict)  # variables with another name

    def text(self, e: sx.Expr, to: Type | None = None) -> str:
        """An expression, as a type if one is given."""
        return (self.read(e) if to is None else self.converted(self.of(e), to)).text

    def condition(self, e: sx.Expr) -> Text:
        """An expression as a truth value."""
        return self.converted(self.of(e), BOOL)

    def read(self, e: sx.Expr) -> Text:
        """An expression with the sign of its type."""
        return with_sign(self.of(e))

    def of(self, e: sx.Expr) -> Text:
        """An expression."""
        match e:
            case sx.Number(text):
                return literal_of(text)
            case sx.Name(name):
                return self._name(name)
            case sx.Index(base, at):
                return self._element(self.of(base), self.read(at))
            case sx.Unary("&", sx.Index(base, at)):
                return self._moved(self.of(base), self.read(at), "+")
            case sx.Unary("*", x):
                return self._element(self.of(x), Text("0", POSTFIX, INT, literal=True))
            case sx.Unary(op, x):
                return self._unary(op, x)
            case sx.Binary(op, a, b):
                return self._binary(op, a, b)
            case sx.Choice(condition, a, b):
                return self._choice(condition, a, b)
            case sx.Cast(kind, x):
                return self._cast(self.of(x), kind)
            case sx.Call():
                return self._call(e)

    def _name(self, name: str) -> Text:
        if name in ("true", "false"):
            return Text(name.capitalize(), POSTFIX, BOOL, literal=True)
        if name not in self.names:
            raise UnprintableError(f"{name} is not known")
        return Text(self.spelled.get(name, name), POSTFIX, self.names[name])

    def _element(self, base: Text, at: Text) -> Text:
        if not isinstance(base.type, Pointer) or base.type.to is None:
            raise UnprintableError(f"{base.text} is no pointer to numbers")
        kind = base.type.to
        signed = kind.floating or (kind.signed and kind != BOOL)
        return Text(f"{base.within(POSTFIX)}[{at.text}]", POSTFIX, kind, raw=not signed)

    def _moved(self, base: Text, at: Text, op: str) -> Text:
        if at.text == "0":
            return base
        level = _LEVELS[op]
        return Text(f"{base.within(level)} {op} {at.within(level + 1)}", level, base.type)

    def _unary(self, op: str, x: sx.Expr) -> Text:
        if op == "!":
            inner = self.condition(x)
            if self.traced:
                return Text(f"not {inner.within(4)}", 3, BOOL)
            return Text(f"inverse({inner.text})", POSTFIX, BOOL)
        if op not in ("-", "~"):
            raise UnprintableError(f"{op} of an expression")
        inner = self._promoted(self.of(x))
        if op == "~" and inner.literal and inner.type in (UNSIGNED, ULONG):
            inner = with_type(inner)
        return Text(f"{op}{inner.within(_UNARY)}", _UNARY, inner.type, literal=inner.literal)

    def _promoted(self, x: Text) -> Text:
        return self.converted(x, promoted(scalar_of(x)))

    def _binary(self, op: str, left: sx.Expr, right: sx.Expr) -> Text:
        level = _LEVELS[op]
        if op in ("&&", "||"):
            a, b = self.condition(left), self.condition(right)
            word = {"&&": "and", "||": "or"}[op]
            if not self.traced:
                word, level = ("&", 7) if op == "&&" else ("|", 5)
            return Text(f"{a.within(level)} {word} {b.within(level + 1)}", level, BOOL)
        a, b = self.of(left), self.of(right)
        if isinstance(a.type, Pointer):
            return self._moved(a, with_sign(b), op)
        a, b = self._promoted(a), self._promoted(b)
        if op in ("<<", ">>"):
            a = with_type(a) if a.literal and not (b.literal and a.type == INT) else a
            literal = a.literal and b.literal
            return Text(f"{a.within(level)} {op} {b.within(level + 1)}", level, a.type, literal)
        kind = common(scalar_of(a), scalar_of(b))
        a, b = self._beside(a, b, kind), self._beside(b, a, kind)
        word = "//" if op == "/" and not kind.floating else op
        low = level + 1 if op in _COMPARISONS else level
        result = BOOL if op in _COMPARISONS else kind
        if a.literal and b.literal and kind == INT and op in _FOLDED:
            value = _FOLDED[op](int(a.text, 0), int(b.text, 0))
            return Text(str(value), POSTFIX if value >= 0 else _UNARY, INT, literal=True)
        literal = a.literal and b.literal and op not in _COMPARISONS
        return Text(f"{a.within(low)} {word} {b.within(level + 1)}", level, result, literal)

    def _beside(self, x: Text, other: Text, kind: Scalar) -> Text:
        """An operand for arithmetic in a type; the other one's type is enough for a literal."""
        if not x.literal:
            return self.converted(x, kind)
        if kind.floating:
            return self.converted(x, kind)
        plain = is_small(x) or (other.literal and kind == LONG)
        return x if plain else with_type(replace(x, type=kind))

    def _choice(self, condition: sx.Expr, left: sx.Expr, right: sx.Expr) -> Text:
        c, a, b = self.condition(condition), self.of(left), self.of(right)
        kind = a.type
        if isinstance(kind, Scalar) and isinstance(b.type, Scalar) and kind != b.type:
            kind = common(kind, b.type)
        a, b = self.converted(a, kind), self.converted(b, kind)
        if a.literal and b.literal and isinstance(kind, Scalar):
            a = with_type(a)
        return Text(f"where({c.text}, {a.text}, {b.text})", POSTFIX, kind)

    def _cast(self, x: Text, to: Type) -> Text:
        if isinstance(to, Pointer):
            if to.to is None or to == x.type:
                return replace(x, type=to) if to.to is not None else x
            return Text(f"pointer(fx.{to.to.fly}, {x.text})", POSTFIX, to)
        if isinstance(to, Other):
            raise UnprintableError(f"a conversion to {to.name}")
        return self.converted(x, to)

    def converted(self, x: Text, to: Type) -> Text:
        """A value as another type, as C converts it."""
        if isinstance(to, Scalar) and isinstance(x.type, Pointer):
            raise UnprintableError(f"{x.text} is an address, not a number")
        if not isinstance(to, Scalar) or not isinstance(x.type, Scalar):
            return x
        if x.type == to:
            return with_sign(x)
        if to == BOOL:
            return Text(f"{with_sign(x).within(5)} != 0", 4, BOOL)
        if x.literal and not x.type.floating and not to.floating and x.type != BOOL:
            retyped = replace(x, type=to)
            return retyped if is_small(x) else with_type(retyped)
        if x.literal and to.floating and x.type.floating and to == FLOAT:
            return replace(x, type=to)
        if x.type == BOOL:
            one, zero = ("1.0", "0.0") if to.floating else ("1", "0")
            return Text(f"where({x.text}, fx.{to.fly}({one}), fx.{to.fly}({zero}))", POSTFIX, to)
        return Text(f"fx.{to.fly}({with_sign(x).text})", POSTFIX, to)

    # Calls

    def _call(self, e: sx.Call) -> Text:
        if e.name.startswith("__builtin_"):
            return self._builtin(e)
        function = self.functions.get(e.name)
        if function is None:
            raise UnprintableError(f"{e.name} has no words in FlyDSL")
        given = [self.text(x) for x in e.given if not isinstance(x, Scalar | Pointer | Other)]
        types = [x for x in e.given if isinstance(x, Scalar)]
        args = [self.of(x) for x in e.args]
        bound = self._bound(function, args, types)
        texts = []
        for x, (kind, _) in zip(args, function.params, strict=True):
            kind = bound if kind == Other("T") and bound is not None else kind  # noqa: PLW2901
            argument = self.converted(x, kind)
            typed = argument.literal and (function.types or kind != INT)
            texts.append((with_type(argument) if typed else argument).text)
        result = bound if function.result == Other("T") and bound is not None else function.result
        return Text(f"{e.name}({', '.join([*given, *texts])})", POSTFIX, result)

    def _bound(self, function: sx.Function, args: list[Text], given: list[Scalar]) -> Scalar | None:
        """What a template's type is: said, or that of an argument."""
        if not function.types:
            return None
        if given:
            return given[0]
        for x, (kind, _) in zip(args, function.params, strict=True):
            if kind == Other("T") and isinstance(x.type, Scalar):
                return x.type
        return None

    def _builtin(self, e: sx.Call) -> Text:
        name = e.name.removeprefix("__builtin_")
        if name == "bit_cast":
            (kind,) = e.given
            if not isinstance(kind, Scalar):
                raise UnprintableError("a vector of bits")
            x = with_type(self.read(e.args[0]))
            return Text(f"bits(fx.{kind.fly}, {x.text})", POSTFIX, kind)
        if name in ("inf", "inff", "nan", "nanf"):
            kind = FLOAT if name.endswith("f") and name != "inf" else DOUBLE
            return Text(f'fx.{kind.fly}(float("{name[:3]}"))', POSTFIX, kind)
        if name == "trap":
            return Text('intrinsic("llvm.trap", None)', POSTFIX, VOID)
        if name == "amdgcn_sched_group_barrier":
            args = ", ".join(self.text(x) for x in e.args)
            return Text(f"rocdl.sched_group_barrier({args})", POSTFIX, VOID)
        if name == "amdgcn_perm":
            args = ", ".join(self.text(x, UNSIGNED) for x in e.args)
            return Text(f'intrinsic("llvm.amdgcn.perm", fx.Uint32, {args})', POSTFIX, UNSIGNED)
        plain = name if name in _INTRINSICS else name.removesuffix("f")
        if plain not in _INTRINSICS:
            raise UnprintableError(f"{e.name} has no words in FlyDSL")
        kind = DOUBLE if plain == name else FLOAT
        args = ", ".join(with_type(self.converted(self.of(x), kind)).text for x in e.args)
        text = f'intrinsic("llvm.{_INTRINSICS[plain]}.{_SUFFIX[kind]}", fx.{kind.fly}, {args})'
        return Text(text, POSTFIX, kind)
