"""AMD's matrix instructions as layouts, against the formulas of the instruction set references."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.targets import TARGETS, Atom

LANES = 64
ATOMS = {f"{t.name} {a.name}": a for t in TARGETS.values() if t.family == "hip" for a in t.atoms}


def operand_place(atom: Atom, lane: int, i: int) -> tuple[int, int]:
    """Row (of b: column) and k of element i of a lane: lanes run along rows, then blocks of k."""
    held = atom.m * atom.k // LANES
    return lane % atom.m, held * (lane // atom.m) + i


def result_place(atom: Atom, lane: int, i: int) -> tuple[int, int]:
    """Row and column of accumulator i: four rows of a lane lie together, its column is the lane's."""
    block = LANES // atom.n * 4
    return block * (i // 4) + 4 * (lane // atom.n) + i % 4, lane % atom.n


@pytest.mark.parametrize("name", ATOMS)
def test_operands_and_results_lie_as_the_machine_has_them(name: str) -> None:
    atom = ATOMS[name]
    assert atom.a is not None
    assert atom.b is not None
    for lane in range(LANES):
        for i in range(atom.a.locals):
            row, k = operand_place(atom, lane, i)
            assert atom.a.index(lane, i) == (row, k)
            assert atom.b.index(lane, i) == (k, row)
        for i in range(atom.c.locals):
            assert atom.c.index(lane, i) == result_place(atom, lane, i)


@pytest.mark.parametrize("name", ATOMS)
def test_products_of_fragments_are_products_of_matrices(name: str) -> None:
    """What the layouts scatter and gather is a matrix product: every k of a row meets its column's."""
    atom = ATOMS[name]
    assert atom.a is not None
    assert atom.b is not None
    assert atom.a.is_injective
    assert atom.b.is_injective
    assert atom.c.is_injective
    rng = np.random.default_rng(0)
    x, y = rng.integers(-9, 9, (atom.m, atom.k)), rng.integers(-9, 9, (atom.k, atom.n))
    a, b = (t[tuple(np.moveaxis(f.table(), -1, 0))] for t, f in ((x, atom.a), (y, atom.b)))
    total = np.zeros((LANES, atom.c.locals), np.int64)
    for lane in range(LANES):
        for i in range(atom.c.locals):
            row, column = atom.c.index(lane, i)
            lanes = range(LANES // atom.m)
            left = np.concatenate([a[row + atom.m * g] for g in lanes])
            right = np.concatenate([b[column + atom.n * g] for g in lanes])
            total[lane, i] = left @ right
    np.testing.assert_array_equal(total, (x @ y)[tuple(np.moveaxis(atom.c.table(), -1, 0))])
