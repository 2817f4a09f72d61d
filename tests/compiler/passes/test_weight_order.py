"""Weights in the order of a unit's registers: sixteen codes of one place in sixteen bytes."""

from __future__ import annotations

import itertools

import pytest
from dslc.compiler.dtypes import parse_dtype
from dslc.compiler.ir import instructions as ins
from dslc.compiler.passes.weight_order import WeightOrder, order
from dslc.compiler.targets import find_target

from support.kernels import every, one

KERNEL = """
kernel k(a: i8[M, K], w: {0}[K, N], c: out i32[M, N]):
    for m, n in parallel(range(0, M, 16), range(0, N, 32)):
        acc = zeros(i32, [16, 32])
        for k in range(0, K, 32):
            acc += dot(a[m : m + 16, k : k + 32], cast(w[k : k + 32, n : n + 32], i8))
        c[m : m + 16, n : n + 32] = acc
"""


@pytest.mark.parametrize("target", ["aarch64:dotprod", "aarch64:i8mm"])
@pytest.mark.parametrize("bits", [1, 2, 4])
def test_codes_of_sixteen_bytes_are_registers(target: str, bits: int) -> None:
    dtype, found = parse_dtype(f"u{bits}"), find_target(target)
    assert dtype is not None
    atom = found.atoms[-1] if "i8mm" in target else found.atom("sdot.lane")
    assert atom is not None
    layout = order((32, 32), dtype, atom)
    assert layout is not None
    together = 8 // bits
    assert atom.b is not None
    for block, place in itertools.product(range(32 * 32 // (16 * together)), range(together)):
        at = [layout.index(0, (block * 16 + lane) * together + place) for lane in range(16)]
        first = at[0]
        offsets = [tuple(x - y for x, y in zip(p, first, strict=True)) for p in at]
        assert offsets == [atom.b.index(0, lane) for lane in range(16)]


def test_the_load_has_the_order_and_nothing_else_changes() -> None:
    kernel = WeightOrder(find_target("aarch64:i8mm"))(one(KERNEL.format("u4")))
    layouts = [s.out.type.layout is not None for s in every(kernel, ins.Load)]
    assert sorted(layouts) == [False, True]


def test_a_machine_without_units_of_bytes_has_no_order() -> None:
    kernel = one(KERNEL.format("u4"))
    assert WeightOrder(find_target("aarch64:base"))(kernel) is kernel
