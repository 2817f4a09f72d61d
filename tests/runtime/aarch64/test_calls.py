"""What a caller may do, or do wrong: ranges of turns, addresses, packs, CPUs that lack a feature."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError

from support.aarch64 import needs_emulator

SOURCE = """
kernel product(a: i8[M, K], w: u4[K, N], c: out i32[M, N]):
    tune BN = 16 | 32
    for m, n in parallel(range(0, M, 8), range(0, N, BN)):
        acc = zeros(i32, [8, BN])
        for k in range(0, K, 32):
            acc += dot(a[m : m + 8, k : k + 32], cast(w[k : k + 32, n : n + BN], i8) - 8)
        c[m : m + 8, n : n + BN] = acc
"""
CPUS = ("cortex-a57", "neoverse-n1", "max")


@pytest.fixture(autouse=True)
def _emulator() -> None:
    needs_emulator()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("calls") / "product.tile"
    path.write_text(SOURCE)
    return path


@pytest.fixture(scope="module")
def library(file: Path) -> dslc.Library:
    return dslc.compile(file, target="aarch64:all", cache=False)


def problem(m: int = 20, k: int = 70, n: int = 50) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(m)
    a = rng.integers(-128, 127, (m, k), endpoint=True).astype(np.int8)
    w = rng.integers(0, 15, (k, n), endpoint=True).astype(np.uint8)
    expected = a.astype(np.int32) @ (w.astype(np.int32) - 8)
    return a, w, np.full((m, n), -1, np.int32), expected


@pytest.mark.parametrize("cuts", [(), (1,), (5, 5, 6), (2, 3, 11)])
def test_turns_may_be_cut_anywhere(
    library: dslc.Library, cuts: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """12 turns, of which some ranges begin within a row of tiles and one is empty."""
    ends = (0, *cuts, 12)
    monkeypatch.setattr("dslc.runtime.aarch64.emulated.slices", lambda *_: tuple(pairwise(ends)))
    a, w, c, expected = problem()
    library.product(a, w, c)
    np.testing.assert_array_equal(c, expected)


def unaligned(array: Any, offset: int) -> Any:
    """The array at an address that is no multiple of its elements' size."""
    room = np.zeros(array.nbytes + 64, np.uint8)
    out = room[offset : offset + array.nbytes].view(array.dtype).reshape(array.shape)
    out[...] = array
    return out


@pytest.mark.parametrize("m", [1, 20])
@pytest.mark.parametrize("offset", [1, 7, 13])
def test_arrays_may_begin_at_any_address(library: dslc.Library, offset: int, m: int) -> None:
    a, w, c, expected = problem(m)
    packed = library.product.specialize(M=m, K=70, N=50).pack("w", w)
    c = unaligned(c, offset)
    library.product(unaligned(a, offset), unaligned(packed, offset), c)
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize(("m", "k", "n"), [(20, 0, 50), (0, 70, 50), (20, 70, 0), (1, 0, 1)])
def test_extents_of_nothing(library: dslc.Library, m: int, k: int, n: int) -> None:
    a, w, c, expected = problem(m, k, n)
    library.product(a, w, c)
    np.testing.assert_array_equal(c, expected)


def test_weights_packed_for_one_variant_serve_all(
    file: Path, library: dslc.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variants pack alike, for a row as for many."""
    a, w, _, expected = problem()
    packs = {
        (t, m): dslc.compile(file, target=f"aarch64:{t}", cache=False)
        .product.specialize(M=m, K=70, N=50)
        .pack("w", w)
        for t, m in (("base", 20), ("dotprod", 20), ("i8mm", 20), ("bf16", 1), ("all", 1))
    }
    for pack in packs.values():
        np.testing.assert_array_equal(pack, packs["base", 20])
    for cpu in CPUS:
        monkeypatch.setenv("DSLC_QEMU_CPU", cpu)
        for m in (1, 20):
            c = np.full_like(expected[:m], -1)
            library.product(a[:m], packs["all", 1], c)
            np.testing.assert_array_equal(c, expected[:m])


def test_weights_packed_in_other_tiles_are_refused(library: dslc.Library) -> None:
    a, w, c, _ = problem()
    packed = library.product.specialize(M=20, K=70, N=50, BN=32).pack("w", w)
    with pytest.raises(DiagnosticError, match=r"DSL0768.*w"):
        library.product(a, packed, c, BN=16)


def test_a_cpu_without_the_feature_is_told_before_anything_runs(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSLC_QEMU_CPU", "neoverse-n1")
    a, w, c, _ = problem()
    made = dslc.compile(file, target="aarch64:i8mm", cache=False)
    with pytest.raises(DiagnosticError, match=r"DSL0860.*i8mm: .*neoverse-n1 has no i8mm"):
        made.product(a, w, c)
    np.testing.assert_array_equal(c, -1)
