"""What reaches device memory: tensors that fit into the cache once, others once a wave."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from dslc.compiler.cost.traffic import device_bytes, grid_variables
from dslc.compiler.ir import Kernel, TileProgram

CACHE = 60 << 20
SMS = 132


def traffic(kernel: Kernel, n: int, bm: int, bn: int) -> dict[str, float]:
    """Of a product of n x n f16 matrices by tiles of bm x bn."""
    per_block = {"a": 2.0 * bm * n, "b": 2.0 * bn * n}
    counts = (n // bm, n // bn)
    return device_bytes(kernel, per_block, {}, counts, min(SMS, prod(counts)), CACHE)


def product(schedule: Callable[..., TileProgram], n: int, bm: int, bn: int) -> Kernel:
    # Of few stages, so that a block is a turn of the grid: `cost.together` is for those that take many.
    tiles = {"BM": bm, "BN": bn, "BK": 32}
    made = schedule("gemm", "gemm", dict.fromkeys("MKN", n), tiles, stages=2)
    assert isinstance(made, Kernel)
    return made


def test_a_tensor_depends_on_the_axes_of_its_tiles(schedule: Callable[..., TileProgram]) -> None:
    kernel = product(schedule, 1024, 64, 128)
    found = {m.name: axes for m, axes in grid_variables(kernel).items()}
    assert found == {"a": {0}, "b": {1}, "c": {0, 1}}


def test_what_fits_is_read_once(schedule: Callable[..., TileProgram]) -> None:
    moved = traffic(product(schedule, 2048, 64, 128), 2048, 64, 128)
    assert moved == {"a": 2 * 2048**2, "b": 2 * 2048**2}


def test_what_does_not_fit_is_read_again_each_wave(schedule: Callable[..., TileProgram]) -> None:
    n = 8192
    moved = traffic(product(schedule, n, 128, 256), n, 128, 256)
    assert moved["a"] == 2 * n * n  # the rows of a wave are the waves' own
    waves = n // 128 * (n // 256) / SMS
    assert 0.8 * waves * 2 * n * n < moved["b"] < 1.2 * waves * 2 * n * n


def test_never_more_than_is_asked_for(schedule: Callable[..., TileProgram]) -> None:
    for n, bm, bn in ((8192, 16, 64), (8192, 128, 256), (4096, 64, 64)):
        kernel = product(schedule, n, bm, bn)
        moved = traffic(kernel, n, bm, bn)
        turns = n // bm * (n // bn)
        assert 2 * n * n <= moved["a"] <= 2 * bm * n * turns
        assert 2 * n * n <= moved["b"] <= 2 * bn * n * turns
