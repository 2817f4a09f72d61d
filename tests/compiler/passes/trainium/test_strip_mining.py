"""Sums that do not fit into SBUF: made in parts of the rows, with the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.interpreter import run
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.trainium.capacity import sbuf_peak, usable
from dslc.compiler.passes.trainium.place_tiles import PlaceTiles
from dslc.compiler.passes.trainium.strip_mining import StripMine
from dslc.compiler.targets import find_target
from dslc.compiler.targets.nki import engines_of

from support.kernels import every, one
from support.nki.trainium import execute, interpret

TARGET = find_target("nki:trn1")
PLACE = PlaceTiles(TARGET)
ROOM = usable(engines_of(TARGET))
R = 12800  # 1024 rows of f32 sums: 800 bytes a row and partition

STRIP = f"""
kernel k(x: f32[M, K], u: f32[K, {R}], v: f32[{R}, N], b: f32[N], y: out f32[N, M]):
    for m in parallel(range(0, M, 512)):
        acc = zeros(f32, [512, {R}])
        for k in range(0, K, 4):
            acc += dot(x[m : m + 512, k : k + 4], u[k : k + 4, :])
        low = cast(maximum(acc, 0.0), bf16)
        for n in range(0, N, 8):
            block = dot(low, cast(v[:, n : n + 8], bf16)) + b[n : n + 8]
            y[n : n + 8, m : m + 512] = transpose(block)
"""


def mined(text: str) -> tuple[Kernel, Kernel]:
    before = one(text)
    after = StripMine(TARGET, PLACE.kernel)(before)
    assert isinstance(before, Kernel)
    assert isinstance(after, Kernel)
    return before, after


def test_parts_fit_and_share_what_is_not_split() -> None:
    before, after = mined(STRIP)
    assert sbuf_peak(PLACE.kernel(before)).bytes > ROOM >= sbuf_peak(PLACE.kernel(after)).bytes
    verify(after)
    assert [s.out.type.shape[0] for s in every(after, ins.Dot)] == [256, 256] * 2
    loads = [s.region.memory.name for s in every(after, ins.Load)]
    assert loads.count("v") == loads.count("b") == 1
    assert loads.count("u") == loads.count("x") == 2


def test_the_numbers_are_the_same() -> None:
    before, after = mined(STRIP)
    rng = np.random.default_rng(0)
    shapes = {"x": (700, 6), "u": (6, R), "v": (R, 12), "b": (12,), "y": (12, 700)}  # ragged
    # Small integers: products of other sizes may add up in another order, which must not show.
    args = {n: rng.integers(-8, 9, s).astype(np.float32) for n, s in shapes.items()}
    found = [dict(args, y=np.zeros_like(args["y"])) for _ in range(2)]
    run(before, found[0])
    run(after, found[1])
    np.testing.assert_array_equal(found[0]["y"], found[1]["y"])


def test_the_machine_has_them_too() -> None:
    kernel = one(STRIP, {"M": 512, "K": 8, "N": 8})
    rng = np.random.default_rng(1)
    shapes = {"x": (512, 8), "u": (8, R), "v": (R, 8), "b": (8,), "y": (8, 512)}
    args = {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    wanted, got = (dict(args, y=np.zeros_like(args["y"])) for _ in range(2))
    interpret(kernel, wanted)
    found = execute(kernel, got, "nki:trn1")
    np.testing.assert_allclose(got["y"], wanted["y"], rtol=1e-2, atol=1e-2 * wanted["y"].std())
    assert found is not None
    # u is read by both parts, v by both together, b by each partition; y, which they cover, by none.
    twice = args["u"].nbytes + 127 * args["b"].nbytes
    assert found.hbm_bytes == sum(a.nbytes for a in args.values()) + twice


def test_what_fits_stays_as_it_is() -> None:
    before, after = mined(STRIP.replace(str(R), "1280"))
    assert after is before


@pytest.mark.parametrize(
    "line",
    [
        "low = cast(acc - max(acc, 0, keepdims=True), bf16)",  # rows bear on each other
        "low = cast(acc + cast(arange(512), f32)[:, None], bf16)",  # rows are numbered
        'print("acc", acc)\n        low = cast(acc, bf16)',
    ],
)
def test_rows_that_cannot_part_stay_together(line: str) -> None:
    before, after = mined(STRIP.replace("low = cast(maximum(acc, 0.0), bf16)", line))
    assert after is before


def test_a_memory_that_is_read_back_keeps_its_order() -> None:
    text = STRIP.replace("y: out f32", "y: inout f32").replace(
        "+ b[n : n + 8]", "+ b[n : n + 8] + transpose(y[n : n + 8, m : m + 512])"
    )
    before, after = mined(text)
    assert after is before
