"""Proofs over index expressions: sums that are never negative, and what they leave modulo a number.

A goal `form >= 0` is proved by taking known facts `fact >= 0` from it until a constant of at least 0
is left: Fourier and Motzkin's elimination with the integers' rounding, of bounded depth. Whatever is
not proved may still be true.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir.arithmetic.affine import Linear, linear
from dslc.compiler.ir.arithmetic.linear import factors
from dslc.compiler.ir.expr import Binary, Const, Convert, Expr, Select, Unary

_MAX_DEPTH = 8
_MAX_STEPS = 120  # goals looked at in one proof
_MAX_SCALE = 1 << 40  # beyond it, numbers have grown by eliminating in circles


class Prover:
    """Relations known to be at least 0 and residues of atoms, ready for questions."""

    def __init__(
        self, relations: Iterable[Linear], residues: Mapping[Expr, tuple[int, int]]
    ) -> None:
        self.residues = residues
        self.steps = 0
        self._intrinsic: dict[Expr, list[Linear]] = {}
        self._derived: dict[Expr, tuple[int, int]] = {}  # residues that follow from those of others
        self.relations: list[Linear] = []
        self.relations = [self._tight(r) for r in relations]
        # What an atom of a relation means may bound an atom of a goal: `K` where K - min(K, n) >= 0.
        own = dict.fromkeys(a for r in self.relations for a in r.terms)
        for atom in own:
            self.steps = _MAX_STEPS
            self.relations += [f for f in self.intrinsic(atom) if f not in self.relations]

    def nonnegative(self, form: Linear) -> bool:
        """Whether `form >= 0` could be proved."""
        self.steps = _MAX_STEPS
        return self._prove(form, (), 0)

    def _tight(self, fact: Linear) -> Linear:
        """The strongest of the fact: what is r modulo m and not negative is at least r."""
        modulus, residue = self.congruence(fact)
        return Linear(fact.terms, fact.constant - residue) if modulus > 1 else fact

    def _prove(self, goal: Linear, used: tuple[Linear, ...], depth: int) -> bool:
        if goal.is_constant:
            return goal.constant >= 0
        self.steps -= 1
        if self.steps < 0 or depth > _MAX_DEPTH or abs(goal.constant) > _MAX_SCALE:
            return False
        # What is r modulo m and above r - m is at least r.
        modulus, residue = self.congruence(goal)
        if modulus > 1:
            goal = Linear(goal.terms, goal.constant + modulus - 1 - residue)
        meant = [f for a in goal.terms for f in self.intrinsic(a) if f not in self.relations]
        known = [f for f in (*meant, *self.relations) if f not in used]
        known.sort(key=lambda f: len(f.terms))
        candidates = {
            a: [f for f in known if f.terms.get(a, 0) * k > 0] for a, k in goal.terms.items()
        }
        atom = min(candidates, key=lambda a: (len(candidates[a]), a not in self.residues))
        for fact in candidates[atom]:
            if self._prove(_eliminate(goal, fact, atom), (*used, fact), depth + 1):
                return True
        return self._by_cases(goal, used, depth)

    def _by_cases(self, goal: Linear, used: tuple[Linear, ...], depth: int) -> bool:
        """A minimum, maximum or choice is one of its two operands: prove the goal of each."""
        for atom, k in goal.terms.items():
            match atom:
                case Binary("min" | "max", x, y) | Select(_, x, y):
                    rest = goal - Linear({atom: k})
                    return all(
                        self._prove(rest + linear(e).scale(k), used, depth + 1) for e in (x, y)
                    )
        return False

    def congruence(self, form: Linear) -> tuple[int, int]:
        """(m, r) with form = r modulo m and 0 <= r < m; m is 0 where the form is r exactly."""
        total = (0, form.constant)
        for atom, k in form.terms.items():
            m, r = self._residue(atom)
            total = _reduced(math.gcd(total[0], k * m), total[1] + k * r)
            if total[0] == 1:
                return 1, 0
        return total

    def _residue(self, atom: Expr) -> tuple[int, int]:
        if atom in self.residues:
            return self.residues[atom]
        if atom not in self._derived:
            self._derived[atom] = self._derive(atom)
        return self._derived[atom]

    def _derive(self, atom: Expr) -> tuple[int, int]:
        match atom:
            case Binary("floordiv", x, Const(c)) if c > 0:
                m, r = self.congruence(linear(x))
                return _reduced(m // int(c), r // int(c)) if m % int(c) == 0 else (1, 0)
            case Binary("mod", x, Const(c)) if c > 0:
                m, r = self.congruence(linear(x))
                return _reduced(math.gcd(m, int(c)), r)
            case Binary("mul", x, y):
                (m, r), (n, s) = self.congruence(linear(x)), self.congruence(linear(y))
                return _reduced(math.gcd(m * n, m * s, n * r), r * s)
            case Binary("min" | "max", x, y) | Select(_, x, y):
                (m, r), (n, s) = self.congruence(linear(x)), self.congruence(linear(y))
                return _reduced(math.gcd(m, n, r - s), r)
        return 1, 0

    def intrinsic(self, atom: Expr) -> list[Linear]:
        """What is at least 0 by the meaning of the atom alone."""
        if atom not in self._intrinsic:
            self._intrinsic[atom] = []  # an atom within itself is bounded by nothing
            self._intrinsic[atom] = [self._tight(f) for f in self._meaning(atom)]
        return self._intrinsic[atom]

    def _meaning(self, atom: Expr) -> Iterable[Linear]:
        own = Linear({atom: 1})
        match atom:
            case Binary("mod", x, y):
                divisor = linear(y)
                if self._positive(divisor):
                    yield own
                    yield divisor - own - Linear(constant=1)
            case Binary("floordiv", x, Const(c)) if c > 0:
                yield linear(x) - own.scale(int(c))
                yield own.scale(int(c)) + Linear(constant=int(c) - 1) - linear(x)
            case Binary("floordiv", x, y) if self._positive(linear(y)):
                product = linear(y) * own
                yield linear(x) - product
                yield product + linear(y) - linear(x) - Linear(constant=1)
                if self._prove(linear(x), (), _MAX_DEPTH - 3):
                    yield own
            case Binary("min", x, y):
                yield linear(x) - own
                yield linear(y) - own
            case Binary("max", x, y):
                yield own - linear(x)
                yield own - linear(y)
            case Binary("mul"):
                if all(self._prove(linear(f), (), _MAX_DEPTH - 3) for f in factors(atom)):
                    yield own
            case Binary("and", _, Const(c)) if c >= 0:
                yield own
                yield Linear(constant=int(c)) - own
            case Unary("abs"):
                yield own
            case Convert(x) if not x.dtype.is_float and x.dtype != INDEX:
                low, high = x.dtype.integer_range
                yield own - Linear(constant=low)
                yield Linear(constant=high) - own

    def _positive(self, form: Linear) -> bool:
        return self._prove(form - Linear(constant=1), (), _MAX_DEPTH - 3)


def _eliminate(goal: Linear, fact: Linear, atom: Expr) -> Linear:
    """A goal without the atom that, with `fact >= 0`, implies the goal.

    p * goal >= q * fact - (p - 1) > -p gives goal > -1.
    """
    k, f = abs(goal.terms[atom]), abs(fact.terms[atom])
    common = math.gcd(k, f)
    p, q = f // common, k // common
    return goal.scale(p) - fact.scale(q) + Linear(constant=p - 1)


def _reduced(modulus: int, residue: int) -> tuple[int, int]:
    modulus = abs(modulus)
    return modulus, residue % modulus if modulus else residue
