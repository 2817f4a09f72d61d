"""Dot-accumulate atoms that a machine has not: products and sums of their lanes."""

from __future__ import annotations

from dslc.compiler.dtypes import BF16, F64, DType
from dslc.compiler.vector import instructions as ins
from dslc.compiler.vector.atoms import ATOMS, DotAtom
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.legal.containers import U16, dtype_named
from dslc.compiler.vector.legal.small_floats import to_number
from dslc.compiler.vector.values import Operand, Register


def legal_dot(b: LegalBuilder, i: ins.Dot) -> Operand | None:
    """None where the machine has the atom over just these lanes."""
    widths = b.capabilities.atoms.get(i.atom)
    if widths is None:
        return _expanded(b, i)
    count = vector_type(i.out).count
    return None if count in widths else _divided(b, i, widths)


def _divided(b: LegalBuilder, i: ins.Dot, widths: tuple[int, ...]) -> Operand:
    """As few instructions as hold the lanes; the last has some of its lanes twice."""
    atom, out = ATOMS[i.atom], vector_type(i.out)
    per = atom.m * atom.n
    parts, start = [], 0
    while start < out.count:
        width = min((w for w in widths if w >= out.count - start), default=widths[0])
        count = min(width, out.count - start)

        def cut(x: Operand, size: int) -> Operand:
            """The lanes of an operand of which a unit takes `size`."""
            first, lanes = start // per * size, count // per * size  # noqa: B023
            wanted = [first + at % lanes for at in range(width // per * size)]  # noqa: B023
            return b.shuffle(x, wanted)

        acc = None if i.acc is None else cut(i.acc, per)
        operands = cut(i.a, atom.m * atom.k), cut(i.b, atom.n * atom.k)
        part_sum = b.append_result(
            ins.Dot(Register(out.by(width)), i.atom, *operands, acc, loc=i.loc)
        )
        parts.append(b.part(part_sum, 0, count))
        start += count
    return b.concat(*parts)


def _expanded(b: LegalBuilder, i: ins.Dot) -> Operand:
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
