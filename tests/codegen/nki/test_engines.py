"""Which engine does what: copies shared out, operands transposed ahead, no wait for a bank of PSUM."""

from __future__ import annotations

from pathlib import Path

import dslc
import ml_dtypes
import numpy as np
import pytest
from dslc.cli.tables.nki import run_of
from dslc.runtime.nki_simulator import Run, simulate

ROOT = Path(__file__).parents[3]
BF16 = ml_dtypes.bfloat16
# Large enough that a turn's products hide what the vector engine does.
SIZES = {"M": 1024, "K": 2048, "R": 2048, "N": 1024}


def library(target: str) -> object:
    return dslc.compile(ROOT / "examples" / "neuronmm.tile", target, cache=False)


def modelled(kernel: str, target: str, sizes: dict[str, int], **config: int) -> Run:
    made = library(target)[kernel].specialize_for(sizes, config)  # type: ignore[index]
    return run_of(made, sizes)


def text(kernel: str, target: str, sizes: dict[str, int], **config: int) -> str:
    made = library(target)[kernel].specialize_for(sizes, config)  # type: ignore[index]
    return str(made.source("nki"))


def by_hand(sizes: dict[str, int], block_m: int, block_k: int, block_n: int) -> Run:
    """NeuronMM's kernel as its paper describes it."""
    folder = ROOT / "tests" / "benchmarks" / "neuronmm"
    source = (folder / "trainium_fusion.py").read_text(encoding="utf-8")
    m, k, r, n = (sizes[d] for d in "MKRN")
    given = [np.broadcast_to(np.zeros(1, BF16), s) for s in ((m, k), (k, r), (r, n))]
    arguments = [*given, block_m, block_k, block_n]
    return simulate(source, "trainium_fusion", arguments, "nki:trn1", values=False)


def test_the_vector_engine_transposes_a_turn_ahead() -> None:
    found = text("xuv_to_t", "nki:trn1", SIZES, BM=512, BN=512, BK=1024)
    assert found.count("engine=nisa.engine.vector") == 1
    run = modelled("xuv_to_t", "nki:trn1", SIZES, BM=512, BN=512, BK=1024)
    blocks = 16 * 8  # of 128 x 128 in x; the tensor engine has those of each strip's first turn
    assert run.trace.transpose_flops < 2 * 128**3 * blocks * 0.75
    assert run.trace.counts["nc_transpose"] > 16 * blocks / 4


@pytest.mark.parametrize(("m", "k", "ahead"), [(512, 2048, True), (500, 2000, False)])
def test_what_is_transposed_ahead_is_right(m: int, k: int, ahead: bool) -> None:
    random = np.random.default_rng(1)
    shapes = ((m, k), (k, 1024), (1024, 128))
    x, u, v = (random.integers(-2, 3, s).astype(BF16) for s in shapes)
    y = np.zeros((128, m), BF16)
    blocks = {"BM": 512, "BN": 128, "BK": 1024}
    library("nki:trn1").xuv_to_t(x, u, v, y, **blocks)  # type: ignore[attr-defined]
    low = (x.astype(np.float32) @ u.astype(np.float32)).astype(BF16)
    wanted = (low.astype(np.float32) @ v.astype(np.float32)).T
    np.testing.assert_allclose(y.astype(np.float32), wanted, rtol=1e-2, atol=1.0)
    sizes = {"M": m, "K": k, "R": 1024, "N": 128}
    found = text("xuv_to_t", "nki:trn1", sizes, **blocks)
    assert ("engine=nisa.engine.vector" in found) == ahead


def test_loops_without_room_for_two_operands_transpose_as_they_go() -> None:
    sizes = {"M": 1024, "K": 4096, "R": 4096, "N": 1024}
    found = text("xuv_to_t", "nki:trn1", sizes, BM=1024, BN=512, BK=1024)
    assert "engine=nisa.engine.vector" not in found


def test_dma_engines_that_transpose_leave_nothing_to_the_others() -> None:
    found = text("xuv_to_t", "nki:trn2", SIZES, BM=512, BN=512, BK=512)
    assert "nc_transpose" not in found


@pytest.mark.parametrize("block", [128, 256, 512, 1024])
def test_no_slower_than_the_kernel_by_hand(block: int) -> None:
    sizes = {"M": 1024, "K": 2048, "R": 2048, "N": 4096}
    rival = by_hand(sizes, block, 512, {128: 2048, 256: 1536}.get(block, 1024))
    found = min(
        modelled("xuv_to_t", "nki:trn1", sizes, BM=block, BN=n, BK=512).timeline.total
        for n in (512, 2048)
    )
    assert found <= rival.timeline.total


@pytest.mark.parametrize(("target", "least"), [("nki:trn2", 0.91), ("nki:trn3", 0.91)])
def test_a_square_product_by_the_blocks_that_the_model_chooses(target: str, least: float) -> None:
    assert modelled("xw", target, {"M": 2048, "N": 2048, "K": 2048}).of_peak >= least


def test_the_tensor_engine_hardly_waits() -> None:
    sizes = {"M": 4096, "K": 2048, "R": 2048, "N": 4096}
    run = modelled("xuv_to_t", "nki:trn1", sizes, BM=512, BN=1024, BK=1024)
    assert run.timeline.active("PE") >= 0.97


SILU = """
from swiglu import silu

kernel gated(a: f32[M, N], b: f32[M, N], y: out bf16[M, N]):
    const BM = 128
    const BN = 512
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        x = a[m : m + BM, n : n + BN]
        y[m : m + BM, n : n + BN] = cast({}, bf16)
"""


@pytest.mark.parametrize("target", ["nki:trn1", "nki:trn2"])
def test_copies_go_to_the_engine_that_has_less_to_do(target: str) -> None:
    def made(value: str) -> str:
        source = SILU.format(value)
        found = dslc.compile(source=source, target=target, include=[ROOT / "examples"], cache=False)
        return str(found.gated.specialize(M=128, N=512).source("nki"))

    scalar = "nl.copy" if target == "nki:trn1" else "nisa.engine.scalar"
    busy_vector, busy_scalar = made("x"), made("exp(exp(exp(x)))")
    assert scalar in busy_vector
    assert scalar not in busy_scalar
