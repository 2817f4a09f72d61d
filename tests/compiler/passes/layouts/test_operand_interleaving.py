"""Dealt plans: the same product, each lane with neighbours along k or along the columns."""

from __future__ import annotations

import pytest
from dslc.codegen.c_family.products import instruction_operands
from dslc.compiler.dtypes import parse_dtype
from dslc.compiler.ir import TileType, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import Layout, contiguity
from dslc.compiler.passes.layouts.matrix import Plan, plans
from dslc.compiler.passes.layouts.operand_interleaving import interleaved
from dslc.compiler.targets import find_target
from dslc.compiler.targets.target import SWAP

TARGET = find_target("cuda:sm_90a")


def ways(dtype: str, batch: int, m: int, k: int, n: int) -> list[Plan]:
    found = parse_dtype(dtype)
    assert found is not None
    sum_ = parse_dtype("f32" if found.is_float else "i32")
    assert sum_ is not None
    a, b = (Value(TileType(found, s)) for s in ((batch, m, k), (batch, k, n)))
    dot = ins.Dot(Value(TileType(sum_, (batch, m, n))), a, b)
    plain = plans(dot, TARGET, 32 * batch)
    atoms = [TARGET.atom(p.atom) for p in plain]
    return [
        d
        for p, atom in zip(plain, atoms, strict=True)
        if atom
        for d in interleaved(p, atom, found.bits)
    ]


CASES = [
    ("f16", 4, 16, 32, 64),
    ("bf16", 2, 8, 64, 32),
    ("i8", 4, 16, 64, 64),
    ("tf32", 1, 16, 16, 16),
]


@pytest.mark.parametrize("case", CASES)
def test_the_unit_takes_dealt_operands_as_they_are(case: tuple[str, int, int, int, int]) -> None:
    found = ways(*case)
    assert {p.interleaved for p in found} == {(True, False), (False, True), (True, True)}
    per = 32 // {"f16": 16, "bf16": 16, "i8": 8, "tf32": 32}[case[0]]
    for plan in found:
        atom = TARGET.atom(plan.atom.removesuffix(SWAP))
        assert atom is not None
        assert atom.a is not None
        assert atom.b is not None
        layouts = (plan.a, plan.b, plan.c)
        if plan.atom.endswith(SWAP):
            layouts = turned(plan.b), turned(plan.a), turned(plan.c)
        matched = instruction_operands.plan(*layouts, (atom.a, atom.b, atom.c), per)
        assert matched.gather_a is None
        assert matched.gather_b is None


def turned(layout: Layout) -> Layout:
    from dslc.compiler.layout import permute

    return permute(layout, (0, 2, 1))


def test_a_lane_has_sixteen_bytes_of_k_and_of_the_columns() -> None:
    found = [
        p for p in ways("f16", 4, 16, 32, 64) if p.is_swapped and p.interleaved == (True, True)
    ]
    (plan,) = found
    assert contiguity(plan.a) == 8
    columns = sorted({tuple(i) for i in plan.c.table()[5, :, 2:].tolist()})
    assert [c for (c,) in columns] == list(range(columns[0][0], columns[0][0] + 8))


def test_warps_that_share_operands_keep_their_order() -> None:
    """What several warps read comes through shared memory, where eight rows are read at once."""
    dtype = parse_dtype("f16")
    assert dtype is not None
    a, b = (Value(TileType(dtype, s)) for s in ((64, 32), (32, 64)))
    out = parse_dtype("f32")
    assert out is not None
    dot = ins.Dot(Value(TileType(out, (64, 64))), a, b)
    for plan in plans(dot, TARGET, 128):
        atom = TARGET.atom(plan.atom)
        assert atom is not None
        assert not interleaved(plan, atom, 16)
