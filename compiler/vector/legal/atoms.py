"""Dot-accumulate atoms that a machine has not: products and sums of their lanes."""

from __future__ import annotations

from dslc.compiler.dtypes import BF16, F64, DType
from dslc.compiler.vector import instructions as ins
from dslc.compiler.vector.atoms import ATOMS, DotAtom
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.legal.containers import U16, dtype_named
from dslc.compiler.vector.legal.small_floats import to_number
from dslc.compiler.vector.values import Operand


def expanded_dot(b: LegalBuilder, i: ins.Dot) -> Operand:
    """The sum over t of a[i, t] * b[j, t] for each lane of the sums, by shuffles of a and b.

    Sums of integers are those of 32 bits, of floats those of f64 rounded once.
    """
    atom = ATOMS[i.atom]
    units = vector_type(i.a).count // (atom.m * atom.k)
    wide = F64 if atom.acc.is_float else dtype_named("i32")
    total: Operand | None = None
    for t in range(atom.k):
        rows = [(u * atom.m + m) * atom.k + t for u, m, _ in _lanes(atom, units)]
        columns = [(u * atom.n + n) * atom.k + t for u, _, n in _lanes(atom, units)]
        x = _widened(b, b.shuffle(i.a, rows), atom.a, wide)
        y = _widened(b, b.shuffle(i.b, columns), atom.b, wide)
        product = b.mul(x, y)
        total = product if total is None else b.add(total, product)
    assert total is not None
    if atom.saturates:
        total = b.convert(total, atom.acc, saturate=True)
    if i.acc is not None:
        total = b.add(total, b.convert(i.acc, wide))
    return b.convert(total, atom.acc)


def _lanes(atom: DotAtom, units: int) -> list[tuple[int, int, int]]:
    """Unit, row and column of each lane of the sums."""
    return [(u, m, n) for u in range(units) for m in range(atom.m) for n in range(atom.n)]


def _widened(b: LegalBuilder, x: Operand, dtype: DType, wide: DType) -> Operand:
    if dtype == BF16:
        x = to_number(b, b.bitcast(x, vector_type(x).of(U16)), BF16)
    return b.convert(x, wide)
