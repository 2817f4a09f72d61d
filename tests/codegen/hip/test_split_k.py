"""Reductions that workgroups share: any order gives the same bits, and nothing is left behind."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable
from pathlib import Path

import dslc
import ml_dtypes
import numpy as np
import pytest
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.hip import HipKernel
from dslc.runtime.hip_emulator import compiler

pytestmark = [
    pytest.mark.usefixtures("clang"),
    pytest.mark.skipif(compiler() is None, reason="needs a C compiler"),
]
SOURCE = Path(__file__).parents[2] / "benchmarks" / "split_k.tile"
TYPES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
@pytest.mark.parametrize(
    ("dtype", "shape", "split"),
    [("bf16", (1, 96, 512), 4), ("f16", (33, 100, 640), 8), ("bf16", (17, 64, 264), 2)],
)
def test_parts_are_added_in_one_order(
    chip: str, dtype: str, shape: tuple[int, int, int], split: int
) -> None:
    """Rounding shows the order of a sum: real numbers, and every launch on the same workspaces."""
    m, n, k = shape
    lib = dslc.compile(SOURCE, f"hip:{chip}", define={"T": dtype, "K": k})
    config = {"BM": 16, "BN": 64, "BK": 64, "SPLIT": split}
    made = lib["split_k"].specialize_for({"M": m, "N": n, "K": k}, config)
    kernel = HipKernel(made.artifact)
    rng = np.random.default_rng(0)
    a, w = (rng.standard_normal(s).astype(TYPES[dtype]) for s in ((m, k), (n, k)))
    bias = rng.standard_normal(n).astype(TYPES[dtype])
    exact = a.astype(np.float64) @ w.astype(np.float64).T + bias.astype(np.float64)
    results = []
    for seed in range(5):
        c = np.full((m, n), np.nan, TYPES[dtype])
        kernel.launch({"a": a, "w": w, "bias": bias, "c": c}, {}, seed=seed)
        results.append(c.view(np.uint16).copy())
    assert all((r == results[0]).all() for r in results)
    np.testing.assert_allclose(c.astype(np.float64), exact, rtol=2e-2, atol=2e-2 * k**0.5)


@functools.cache
def adding(chip: str, dtype: str, fixed: tuple[tuple[str, int], ...] = ()) -> Artifact:
    """Four parts that add themselves to the result."""
    names = {"T": dtype, "K": 320, "ATOMIC": True, **dict(fixed)}
    lib = dslc.compile(SOURCE, f"hip:{chip}", define=names)
    config = {"BM": 16, "BN": 64, "BK": 64, "SPLIT": 4}
    sizes = {"M": 33, "N": 100 if fixed else 99, "K": 320}  # of an even N pairs are aligned
    return lib["split_k"].specialize_for(sizes, config).artifact


def launches(artifact: Artifact, chip: str, dtype: str, edit: Callable[[str], str]) -> bool:
    """Whether 20 launches on the same counters give NumPy's numbers; the ISA text is edited before.

    Whole numbers that no order of sums rounds.
    """
    isa = edit(artifact.files[f"{chip}.s"].decode())
    files = {**artifact.files, f"{chip}.s": isa.encode()}
    kernel, as_type = HipKernel(dataclasses.replace(artifact, files=files)), TYPES[dtype]
    rng = np.random.default_rng(0)
    a, w = (rng.integers(-2, 3, s).astype(as_type) for s in ((33, 320), (100, 320)))
    bias = rng.integers(-8, 9, 100).astype(as_type)
    exact = a.astype(np.float64) @ w.astype(np.float64).T + bias.astype(np.float64)
    assert np.abs(exact).max() < 256
    for seed in range(20):
        c = np.full((33, 100), np.nan, as_type)
        try:
            kernel.launch({"a": a, "w": w, "bias": bias, "c": c}, {}, seed=seed)
        except DiagnosticError as report:
            if report.diagnostics[0].code == "DSL0861":  # what the machine forbids
                return False
            raise
        if not np.array_equal(c.astype(np.float64), exact):
            return False
    return True


def same(text: str) -> str:
    return text


@pytest.mark.parametrize(
    ("chip", "dtype", "fixed", "adds"),
    [
        ("gfx942", "f16", (("N", 100),), "global_atomic_pk_add_f16"),
        ("gfx950", "bf16", (("N", 100),), "global_atomic_pk_add_bf16"),
        ("gfx950", "f16", (), "global_atomic_cmpswap"),  # pairs may straddle words
    ],
)
def test_parts_add_themselves_to_the_result(
    chip: str, dtype: str, fixed: tuple[tuple[str, int], ...], adds: str
) -> None:
    made = adding(chip, dtype, fixed)
    assert adds in made.files[f"{chip}.s"].decode()
    assert launches(made, chip, dtype, same)


def without(mark: str, which: int) -> Callable[[str], str]:
    """A text less one of the lines that have a mark."""

    def edit(text: str) -> str:
        lines = text.splitlines(keepends=True)
        del lines[[i for i, line in enumerate(lines) if mark in line][which]]
        return "".join(lines)

    return edit


def without_wait(text: str) -> str:
    found, count = re.subn(
        r"(v_cmp_eq_u32_e32 vcc, 1, v\d+\n\t)s_cbranch_vccnz", r"\1s_branch", text
    )
    assert count == 1
    return found


def without_fence(text: str) -> str:
    """What is stored first may come after the signal."""
    found, count = re.subn(r"(buffer_wbl2 sc1\n)\ts_waitcnt vmcnt\(0\)\n", r"\1", text, count=1)
    assert count == 1
    return found


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(without_wait, id="wait for the signal"),
        pytest.param(without_fence, id="fence before the signal"),
        pytest.param(without("s_barrier", 0), id="barrier before the signal"),
        pytest.param(without("global_store_dword ", -1), id="reset"),
        pytest.param(without("global_store_dword ", -2), id="other reset"),
        pytest.param(without("global_store_dword ", 0), id="signal"),
    ],
)
def test_a_part_of_the_protocol_that_is_left_out_is_found(edit: Callable[[str], str]) -> None:
    made = adding("gfx950", "bf16", (("N", 100),))
    assert not launches(made, "gfx950", "bf16", edit)
