"""Index expressions as sums: integer coefficients of atoms, plus a constant.

An atom is what addition and multiplication do not see through: a variable, a quotient, a remainder, a
minimum, a product of atoms. Equal sums have equal forms, so `a - b` is decided by cancelling. All
numbers are exact: the form speaks of dtype `index` only.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir.expr import REMEMBERED, Binary, Const, Expr, Unary, Var, index

_MAX_PRODUCT_TERMS = 16  # a product of longer sums stays a product


@dataclass(frozen=True, slots=True)
class Linear:
    """The sum of `coefficient * atom` over `terms`, plus `constant`; no coefficient is 0."""

    terms: Mapping[Expr, int] = field(default_factory=dict)
    constant: int = 0

    @property
    def is_constant(self) -> bool:
        """Whether there is no term."""
        return not self.terms

    def __add__(self, other: Linear) -> Linear:
        if not other.terms:
            return Linear(self.terms, self.constant + other.constant)
        terms = dict(self.terms)
        for atom, c in other.terms.items():
            total = terms.get(atom, 0) + c
            if total:
                terms[atom] = total
            else:
                del terms[atom]
        return _recombine(terms, self.constant + other.constant)

    def __neg__(self) -> Linear:
        return self.scale(-1)

    def __sub__(self, other: Linear) -> Linear:
        return self + other.scale(-1)

    def scale(self, factor: int) -> Linear:
        """The sum times an integer."""
        if factor == 0:
            return Linear()
        if factor == 1:
            return self
        return Linear({a: c * factor for a, c in self.terms.items()}, self.constant * factor)

    def __mul__(self, other: Linear) -> Linear:
        if self.is_constant:
            return other.scale(self.constant)
        if other.is_constant:
            return self.scale(other.constant)
        if len(self.terms) * len(other.terms) > _MAX_PRODUCT_TERMS:
            return Linear({_product([to_expr(self), to_expr(other)]): 1})
        total = self.scale(other.constant) + other.scale(self.constant)
        for a, c in self.terms.items():
            for b, d in other.terms.items():
                total += Linear({_product([*factors(a), *factors(b)]): c * d})
        return total + Linear(constant=-self.constant * other.constant)

    def divide(self, divisor: Linear) -> Linear:
        """`self // divisor`, towards minus infinity. By zero it is a quotient that nobody reduces."""
        if not divisor.is_constant:
            return _divide_by_symbol(self, divisor)
        c = divisor.constant
        if c == 0:
            return _atom("floordiv", self, divisor)
        return _quotient(self, c) if c > 0 else _quotient(-self, -c)

    def modulo(self, divisor: Linear) -> Linear:
        """`self % divisor`, of the divisor's sign."""
        if not divisor.is_constant:
            rest = _split_by_symbol(self, divisor)[1]
            return rest if rest == Linear() else _atom("mod", rest, divisor)
        c = divisor.constant
        if c == 0:
            return _atom("mod", self, divisor)
        return _remainder(self, c) if c > 0 else -_remainder(-self, -c)


def to_expr(form: Linear) -> Expr:
    """The form as an expression: atoms in a stable order, what is added before what is subtracted."""
    ordered = sorted(form.terms.items(), key=lambda item: order_key(item[0]))
    added = [_times(a, c) for a, c in ordered if c > 0]
    taken = [_times(a, -c) for a, c in ordered if c < 0]
    if form.constant > 0:
        added.append(index(form.constant))
    if form.constant < 0:
        taken.append(index(-form.constant))
    if not added and len(taken) == 1 and not form.terms:
        return index(form.constant)
    result = added[0] if added else None
    for x in added[1:]:
        assert result is not None
        result = Binary("add", result, x, INDEX)
    for x in taken:
        result = Unary("neg", x, INDEX) if result is None else Binary("sub", result, x, INDEX)
    return index(0) if result is None else result


@functools.lru_cache(REMEMBERED)
def order_key(expr: Expr) -> tuple[int, str]:
    """A total order of atoms that does not depend on the run: variables by name, then the rest."""
    if isinstance(expr, Var):
        return (0, expr.name)
    return (1, repr(expr))


def factors(atom: Expr) -> Iterable[Expr]:
    """The atoms whose product this is."""
    if isinstance(atom, Binary) and atom.op == "mul" and atom.dtype == INDEX:
        yield from factors(atom.x)
        yield from factors(atom.y)
    else:
        yield atom


def _product(parts: Iterable[Expr]) -> Expr:
    first, *rest = sorted(parts, key=order_key)
    for x in rest:
        first = Binary("mul", first, x, INDEX)
    return first


def _times(atom: Expr, coefficient: int) -> Expr:
    return atom if coefficient == 1 else Binary("mul", atom, index(coefficient), INDEX)


def _atom(op: str, x: Linear, y: Linear) -> Linear:
    return Linear({Binary(op, to_expr(x), to_expr(y), INDEX): 1})


def _constant_divisor(atom: Expr, op: str) -> int | None:
    """The c where the atom is `x op c` with c > 0."""
    if not isinstance(atom, Binary) or atom.op != op or not isinstance(atom.y, Const):
        return None
    c = int(atom.y.value)
    return c if c > 0 else None


def _as_sum(expr: Expr) -> Linear:
    """A normal expression (as `to_expr` gives it) read back."""
    match expr:
        case Const(value):
            return Linear(constant=int(value))
        case Unary("neg", x):
            return -_as_sum(x)
        case Binary("add", x, y):
            return _as_sum(x) + _as_sum(y)
        case Binary("sub", x, y):
            return _as_sum(x) - _as_sum(y)
        case Binary("mul", x, Const(value)):
            return _as_sum(x).scale(int(value))
        case _:
            return Linear({expr: 1})


def _quotient(form: Linear, c: int) -> Linear:
    """`form // c` for c > 0: whole multiples of c leave, then common factors of the rest and c."""
    rest = {a: r for a, k in form.terms.items() if (r := _residue(k, c))}
    whole = {a: (k - rest.get(a, 0)) // c for a, k in form.terms.items() if abs(k) >= c}
    outside = Linear(whole, form.constant // c)
    if not rest:
        return outside
    common = math.gcd(c, *rest.values())
    inside = Linear({a: k // common for a, k in rest.items()}, form.constant % c // common)
    c //= common
    if len(rest) == 1:
        ((atom, k),) = inside.terms.items()
        inner = _constant_divisor(atom, "floordiv")
        if inner is not None and k == 1:  # (x // inner + b) // c
            assert isinstance(atom, Binary)
            x = _as_sum(atom.x) + Linear(constant=inside.constant * inner)
            return outside + _quotient(x, inner * c)
    if _lies_below(inside, c):
        return outside
    return outside + _atom("floordiv", inside, Linear(constant=c))


def _remainder(form: Linear, c: int) -> Linear:
    """`form % c` for c > 0: coefficients modulo c, remainders of multiples of c seen through."""
    form = _see_through(form, c)
    terms = {a: r for a, k in form.terms.items() if (r := _residue(k, c))}
    constant = form.constant % c
    if not terms:
        return Linear(constant=constant)
    common = math.gcd(c, *terms.values())
    inside = Linear({a: k // common for a, k in terms.items()}, constant // common)
    outside = Linear(constant=constant % common)
    c //= common
    if not _lies_below(inside, c):
        inside = _atom("mod", inside, Linear(constant=c))
    return inside.scale(common) + outside


def _see_through(form: Linear, c: int) -> Linear:
    """A form equal modulo c, in which no atom is a remainder that c makes needless."""
    for atom, k in form.terms.items():
        inner = _constant_divisor(atom, "mod")
        if inner is not None and k * inner % c == 0:
            assert isinstance(atom, Binary)
            return _see_through(form + (_as_sum(atom.x) - Linear({atom: 1})).scale(k), c)
    return form


def _residue(k: int, c: int) -> int:
    """What k leaves over multiples of c, of the sign of k; quotient and remainder agree in it."""
    return abs(k) % c * (1 if k > 0 else -1)


def _lies_below(form: Linear, c: int) -> bool:
    """Whether 0 <= form < c follows from its atoms being remainders."""
    low = high = form.constant
    for atom, k in form.terms.items():
        modulus = _constant_divisor(atom, "mod")
        if modulus is None:
            return False
        low += min(0, k * (modulus - 1))
        high += max(0, k * (modulus - 1))
    return low >= 0 and high < c


def _split_by_symbol(form: Linear, divisor: Linear) -> tuple[Linear, Linear]:
    """(q, r) with form == q * divisor + r, where the divisor is one product of atoms or the form."""
    if form == divisor:
        return Linear(constant=1), Linear()
    if len(divisor.terms) != 1 or divisor.constant:
        return Linear(), form
    ((symbol, scale),) = divisor.terms.items()
    needed = list(factors(symbol))
    quotient, rest = Linear(), Linear(constant=form.constant)
    for atom, k in form.terms.items():
        left = list(factors(atom))
        divides = k % scale == 0 and all(left.count(f) >= needed.count(f) for f in needed)
        if not divides:
            rest += Linear({atom: k})
            continue
        for f in needed:
            left.remove(f)
        one = Linear({_product(left): 1}) if left else Linear(constant=1)
        quotient += one.scale(k // scale)
    return quotient, rest


def _divide_by_symbol(form: Linear, divisor: Linear) -> Linear:
    quotient, rest = _split_by_symbol(form, divisor)
    return quotient if rest == Linear() else quotient + _atom("floordiv", rest, divisor)


def _recombine(terms: dict[Expr, int], constant: int) -> Linear:
    """`x // c * c + x % c` is x."""
    for atom, k in terms.items():
        c = _constant_divisor(atom, "mod")
        if c is None:
            continue
        assert isinstance(atom, Binary)
        quotient = Binary("floordiv", atom.x, atom.y, INDEX)
        if terms.get(quotient) == k * c:
            rest = {a: n for a, n in terms.items() if a not in (atom, quotient)}
            return Linear(rest, constant) + _as_sum(atom.x).scale(k)
    return Linear(terms, constant)
