"""Whole kernels: their numbers, and that the source's own text is what runs."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from dslc.runtime.nki_simulator import NkiFault, simulate
from dslc.runtime.nki_simulator.tensors import Tensor

from support.nki.kernels import GEMM, HEAD, MASKED, RING, SOFTMAX, run

BF16 = ml_dtypes.bfloat16
RNG = np.random.default_rng(5)


def normal(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return RNG.standard_normal(shape, dtype=np.float32)


@pytest.mark.parametrize("target", ["trn1", "trn2", "nki:trn3"])
@pytest.mark.parametrize(("m", "n", "k"), [(128, 512, 128), (200, 700, 300), (1, 3, 5)])
def test_a_product_of_any_shape(m: int, n: int, k: int, target: str) -> None:
    a, b, bias = normal(k, m).astype(BF16), normal(k, n).astype(BF16), normal(n)
    (found,) = run(GEMM, a, b, bias, target=target).outputs
    want = a.astype(np.float32).T @ b.astype(np.float32) + bias
    assert found.dtype == BF16
    np.testing.assert_allclose(found.astype(np.float32), want, rtol=2**-8, atol=1e-5)


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
def test_softmax(target: str) -> None:
    x = normal(300, 77)
    (found,) = run(SOFTMAX, x, target=target).outputs
    power = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(found, power / power.sum(axis=1, keepdims=True), rtol=1e-5)


def test_a_ring_of_tiles_that_is_transposed() -> None:
    x = normal(256, 384).astype(BF16)
    (found,) = run(RING, x).outputs
    assert np.array_equal(found, x.T)


def test_masks_by_place_and_by_value() -> None:
    x, limit = np.abs(normal(64, 40)) + 1, RNG.integers(0, 40, (64, 1)).astype(np.float32)
    (found,) = run(MASKED, x, limit).outputs
    rows, columns = np.indices(x.shape)
    want = np.where(columns < limit, np.sqrt(4 * x), 0)
    np.testing.assert_allclose(found, np.where(rows >= columns, want, -1), rtol=1e-6)


def test_without_values_the_same_things_happen() -> None:
    x = normal(300, 77)
    full, dry = run(SOFTMAX, x), run(SOFTMAX, x, values=False)
    assert dry.outputs == ()
    assert dry.timeline.total == full.timeline.total
    assert dry.hbm_bytes == full.hbm_bytes == 2 * x.nbytes


def test_a_compiled_loop_counts_in_a_scalar_of_run_time() -> None:
    source = HEAD + (
        "@nki.jit\n"
        "def kernel(x):\n"
        "    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    def body(i):\n"
        "        t = nl.ndarray((64, 10), dtype=x.dtype, buffer=nl.sbuf)\n"
        "        nisa.dma_copy(dst=t, src=x[nl.ds(i, 64), 0:10])\n"
        "        nisa.dma_copy(dst=y.ap([[10, 64], [1, 10]], scalar_offset=i), src=t)\n"
        "    nl.fori_loop(0, 320, body, step=64)\n"
        "    return y\n"
    )
    x = normal(320, 10)
    assert np.array_equal(run(source, x).outputs[0], x)
    with pytest.raises(NkiFault) as fault:
        run(source.replace("nl.ds(i, 64)", "0:64 if i == 0 else 64"), x)
    assert fault.value.rule in ("scalar", "subset")


def test_a_loop_while_a_register_is_not_zero() -> None:
    source = HEAD + (
        "@nki.jit\n"
        "def kernel(x):\n"
        "    y = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.shared_hbm)\n"
        "    t = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)\n"
        "    total = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)\n"
        "    nisa.dma_copy(dst=t, src=x)\n"
        "    nisa.memset(dst=total, value=0)\n"
        "    count = nisa.register_alloc()\n"
        "    nisa.register_load(count, t)\n"
        "    def body(r):\n"
        "        nisa.tensor_tensor(dst=total, data1=total, data2=t, op=nl.add)\n"
        "        nisa.tensor_scalar(dst=t, data=t, op0=nl.subtract, operand0=1.0)\n"
        "        after = nisa.register_alloc()\n"
        "        nisa.register_load(after, t)\n"
        "        return after\n"
        "    nl.while_loop(count, body)\n"
        "    nisa.dma_copy(dst=y, src=total)\n"
        "    return y\n"
    )
    assert run(source, np.array([[4]], np.int32)).outputs[0].item() == 4 + 3 + 2 + 1


def test_the_real_package_is_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = type(sys)("nki")
    monkeypatch.setitem(sys.modules, "nki", installed)
    run(SOFTMAX, normal(4, 4))
    assert sys.modules["nki"] is installed
    assert "nki.isa" not in sys.modules


def test_faults_name_tile_rule_and_line_and_travel() -> None:
    source = SOFTMAX.replace("data=tile, axis", "data=power, axis").replace(
        "top = ", "power = top = ", 1
    )
    with pytest.raises(NkiFault) as fault:
        run(source, normal(4, 4))
    found = fault.value
    assert found.rule == "unwritten"
    assert "tensor_reduce: " in found.message
    assert source.splitlines()[found.line - 1].strip().startswith("nisa.tensor_reduce")
    again = pickle.loads(pickle.dumps(found))
    assert (again.rule, again.line, str(again)) == (found.rule, found.line, str(found))


def test_a_fault_of_the_simulator_is_none_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(tensor: Tensor) -> None:
        raise RuntimeError("of our own")

    monkeypatch.setattr(Tensor, "values", broken)
    with pytest.raises(RuntimeError, match="of our own"):
        run(SOFTMAX, normal(4, 4))


def test_an_entry_that_is_not_there() -> None:
    with pytest.raises(NkiFault, match="no kernel other"):
        simulate(SOFTMAX, "other", (), "trn2")


BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks" / "neuronmm"


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("trainium_fusion", (256, 256, 384)),
        ("sequential", (256, 256)),
        ("naive_fusion", (128, 256, 384)),
    ],
)
def test_the_kernels_that_benchmarks_compare_with(name: str, blocks: tuple[int, ...]) -> None:
    """X U V by NeuronMM's kernel (transposed), by two products, and by the naive fusion."""
    x, u, v = (normal(*shape).astype(BF16) for shape in ((512, 384), (384, 256), (256, 768)))
    given = x.T.copy() if name == "naive_fusion" else x
    text = (BENCHMARKS / f"{name}.py").read_text(encoding="utf-8")
    made = simulate(text, name, (given, u, v, *blocks), "trn1")
    low = (x.astype(np.float32) @ u.astype(np.float32)).astype(BF16).astype(np.float32)
    want = low @ v.astype(np.float32)
    found = made.outputs[0].astype(np.float32)
    found = found.T if name == "trainium_fusion" else found
    assert np.abs(found - want).max() < 0.02 * np.abs(want).max()
    assert not made.findings
    once = 2 * 512 * 256 * (384 + 768)
    again = 2 * 512 * 384 * 256  # of the intermediate, for the second block of columns
    assert made.trace.flops == once + (again if name == "naive_fusion" else 0)
