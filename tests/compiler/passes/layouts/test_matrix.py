"""Plans of products: each warp multiplies what it holds, as the atom wants it."""

from __future__ import annotations

import pytest
from dslc.compiler.dtypes import parse_dtype
from dslc.compiler.ir import TileType, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import Layout
from dslc.compiler.passes.layouts.matrix import plans
from dslc.compiler.targets import Target, find_target

TARGET = find_target("cuda:sm_90a")


def product(a: str, b: str, *sizes: int) -> ins.Dot:
    *batch, m, k, n = sizes
    out = "f32" if a.startswith(("f", "bf", "tf")) else "i32"

    def tile(dtype: str, *shape: int) -> Value:
        found = parse_dtype(dtype)
        assert found is not None
        return Value(TileType(found, tuple(shape)))

    return ins.Dot(tile(out, *batch, m, n), tile(a, *batch, m, k), tile(b, *batch, k, n))


CASES = [
    ("f16", "f16", (32, 32, 32), 128),
    ("f16", "f16", (8, 64, 64), 128),
    ("bf16", "bf16", (64, 16, 16), 64),
    ("tf32", "tf32", (16, 16, 32), 64),
    ("i8", "u8", (16, 64, 32), 128),
    ("f8e4m3", "f8e5m2", (16, 32, 16), 32),
    ("f16", "f16", (4, 16, 32, 32), 128),
    ("f16", "f16", (16, 16, 8), 128),
]


@pytest.mark.parametrize(("a", "b", "sizes", "threads"), CASES)
def test_every_warp_has_the_operands_of_its_results(
    a: str, b: str, sizes: tuple[int, ...], threads: int
) -> None:
    """The rows and columns that a warp's results need are in that warp, over all of k."""
    dot = product(a, b, *sizes)
    found = plans(dot, TARGET, threads)
    assert found
    *_, k, _ = sizes
    for plan in found:
        assert plan.a.shape == dot.a.type.shape
        assert plan.b.shape == dot.b.type.shape
        assert plan.c.shape == dot.out.type.shape
        for layout in (plan.a, plan.b, plan.c):
            assert layout.threads == threads
        for warp in range(threads // 32):
            left, right = held(plan.a, warp), held(plan.b, warp)
            for *batch, m, n in held(plan.c, warp):
                assert {(*batch, m, i) for i in range(k)} <= left
                assert {(*batch, i, n) for i in range(k)} <= right


def held(layout: Layout, warp: int) -> set[tuple[int, ...]]:
    lanes = range(32 * warp, 32 * warp + 32)
    return {layout.index(t, i) for t in lanes for i in range(layout.locals)}


@pytest.mark.parametrize(("a", "b", "sizes", "threads"), CASES)
def test_plans_are_repeats_of_the_atom(
    a: str, b: str, sizes: tuple[int, ...], threads: int
) -> None:
    for plan in plans(product(a, b, *sizes), TARGET, threads):
        atom = TARGET.atom(plan.atom)
        assert atom is not None
        assert atom.a is not None
        assert atom.b is not None
        for layout, own in ((plan.a, atom.a), (plan.b, atom.b), (plan.c, atom.c)):
            assert (layout / own).threads == threads // 32


@pytest.mark.parametrize("atom", TARGET.atoms, ids=lambda a: a.name)
def test_swapping_twice_gives_the_atom_back(atom) -> None:
    assert atom.swapped.swapped == atom
    assert TARGET.atom(atom.swapped.name) == atom.swapped


def test_eight_rows_take_the_swapped_atom() -> None:
    found = plans(product("f16", "f16", 8, 64, 64), TARGET, 128)
    assert {p.atom for p in found} == {"mma.m16n8k16.swap"}


@pytest.mark.parametrize(
    ("a", "b", "sizes"),
    [("f16", "f16", (5, 16, 8)), ("f16", "f16", (16, 4, 8)), ("f32", "f32", (16, 16, 16))],
)
def test_what_no_atom_divides_is_left(a: str, b: str, sizes: tuple[int, ...]) -> None:
    assert not plans(product(a, b, *sizes), TARGET, 128)


def test_fp8_needs_hopper() -> None:
    dot = product("f8e4m3", "f8e4m3", 16, 32, 16)
    assert plans(dot, TARGET, 32)
    assert not plans(dot, find_target("cuda:sm_80"), 32)


def test_a_machine_without_atoms_has_no_plan() -> None:
    bare = Target("bare", "cuda", "", 32, 1024, ())
    assert not plans(product("f16", "f16", 16, 16, 16), bare, 32)
