"""Loads and stores of AMD texts in the emulator: words turned, casts for two stores, rows before 0."""

from __future__ import annotations

import numpy as np
from dslc.codegen.hip.copies import lands_in_order
from dslc.compiler.layout import local, spatial

from support.machines import call

TARGET = "hip:gfx950"


def test_words_of_two_rows_are_turned() -> None:
    """Lanes read four halves of a row at once and hold columns."""
    text = (
        "kernel k(x: f16[16, 32], y: out f16[16, 32]):\n"
        "    s = shared(f16, [16, 32])\n"
        "    s[:, :] = load(x[:, :], layout=spatial(16, 4).local(1, 8))\n"
        "    sync()\n"
        "    y[:, :] = load(s[:, :], layout=spatial(8, 8).column_local(2, 4))\n"
    )
    x = np.arange(512, dtype=np.float16).reshape(16, 32)
    y = np.zeros_like(x)
    call(TARGET, text, {"x": x, "y": y})
    np.testing.assert_array_equal(y, x)


def test_a_cast_that_two_stores_read_is_made_for_both() -> None:
    """What the first store masks off, the second one stores."""
    text = (
        "kernel k(x: f32[P, 512], y: out f16[M, 512], z: out f16[P, 512]):\n"
        "    for m in parallel(range(0, P, 128)):\n"
        "        h = cast(x[m : m + 128, :] * 2.0, f16)\n"
        "        y[m : m + 128, :] = h\n"
        "        z[m : m + 128, :] = h\n"
    )
    x = np.random.default_rng(0).integers(1, 9, (128, 512)).astype(np.float32)
    y, z = np.zeros((70, 512), np.float16), np.zeros((128, 512), np.float16)
    call(TARGET, text, {"x": x, "y": y, "z": z})
    np.testing.assert_array_equal(y, 2 * x[:70])
    np.testing.assert_array_equal(z, 2 * x)


def test_rows_before_the_first_are_zeros_in_a_ring() -> None:
    text = (
        "kernel k(a: f16[M, K], b: f16[K, N], y: out f32[P, N]):\n"
        "    for m, n in parallel(range(0, P, 32), range(0, N, 32)):\n"
        "        acc = zeros(f32, [32, 32])\n"
        "        for k in range(0, K, 64):\n"
        "            acc += dot(a[m - 3 : m + 29, k : k + 64], b[k : k + 64, n : n + 32])\n"
        "        y[m : m + 32, n : n + 32] = acc\n"
    )
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, s).astype(np.float16) for s in ((61, 256), (256, 64)))
    y = np.zeros((64, 64), np.float32)
    call(TARGET, text, {"a": a, "b": b, "y": y})
    wanted = np.pad(a.astype(np.float32), ((3, 0), (0, 0))) @ b.astype(np.float32)
    np.testing.assert_array_equal(y, wanted)


def test_copies_of_other_layouts_do_not_land_in_order() -> None:
    memory = local(8, 512)
    assert lands_in_order(spatial(8, 64).local(1, 8), memory, 8, 64)
    assert not lands_in_order(spatial(8, 64).local(1, 8), local(16, 512), 4, 64)
    assert not lands_in_order(spatial(64, 8).local(1, 8), local(64, 128), 8, 64)
