"""A row of scales for a block of several groups is warned of, and for no other block."""

from __future__ import annotations

import pytest
from dslc.checker.source import check_source
from dslc.compiler.diagnostics import Severity

SOURCE = """
kernel k(x: i8[M, K], w: i8[K, 32], s: f16[K, 32], y: out f32[M, 32]):
    for m in parallel(range(0, M, 16)):
        acc = zeros(f32, [16, 32])
        for k in range(0, K, {step}):
            row = {row}
            acc += {use}
        y[m : m + 16, :] = acc
"""
USES = {
    "weights": "dot(cast(x[m : m + 16, k : k + {n}], f16), cast(w[k : k + {n}, :], f16) * row)",
    "less 8": "dot(cast(x[m : m + 16, k : k + {n}], f16), row * (cast(w[k : k + {n}, :], f16) - 8))",
}


def warned(step: int, extent: int, group: int, use: str, row: str = "s[k // {g}, :]") -> bool:
    text = SOURCE.format(step=step, row=row.format(g=group), use=USES[use].format(n=extent))
    found = check_source(text, "k.tile")
    assert not [d for d in found if d.severity is Severity.ERROR]
    told = [d for d in found if d.code == "DSL0233"]
    assert all(d.loc is not None and d.loc.line == 6 for d in told)
    return bool(told)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("group", [16, 48, 64, 96, 128])
@pytest.mark.parametrize(("step", "extent"), [(16, 16), (32, 32), (64, 64), (32, 16), (96, 96)])
def test_exactly_the_blocks_that_leave_their_group(
    step: int, extent: int, group: int, use: str
) -> None:
    starts = range(0, 4 * step * group, step)
    leaves = any(k // group != (k + extent - 1) // group for k in starts)
    assert warned(step, extent, group, use) == leaves


def test_rows_of_all_groups_and_rows_of_other_counters_are_right() -> None:
    assert not warned(64, 64, 16, "weights", "repeat(s[k // {g} : k // {g} + 4, :], 16, 0)")
    assert not warned(64, 64, 16, "weights", "s[m // {g}, :]")
    assert not warned(64, 64, 16, "weights", "s[k // 64, :]")
