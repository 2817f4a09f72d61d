"""The two printers of a plan agree bit for bit, and both read back in xDSL."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dslc.codegen.aie.printing.descriptors import print_descriptors
from dslc.runtime.aie_simulator import simulate

from support.npu.kernels import EXAMPLES, Case, case

_CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "vector_add": ("vector_add", {}, {"N": 5000}),
    "rmsnorm": ("rmsnorm", {}, {"T": "bf16", "M": 80, "H": 64}),
    "softmax": ("softmax", {}, {"T": "bf16", "M": 12, "N": 1500}),
    "layernorm": ("layernorm", {}, {"T": "bf16", "M": 40, "H": 64}),
    "gemm": ("gemm", {"BM": 16, "BK": 32}, {"T": "bf16", "M": 100, "N": 130, "K": 64, "BN": 64}),
    # Four turns read the same rows of a: the memory tiles hold them as panels.
    "gemm_panels": (
        "gemm",
        {"BM": 16, "BK": 32},
        {"T": "bf16", "M": 128, "N": 2048, "K": 64, "BN": 64},
    ),
    "gemm_residual": ("mlp", {}, {"T": "bf16", "M": 70, "N": 64, "K": 128, "BN": 64}),
    "gemm_i8": ("gemm", {}, {"M": 64, "N": 128, "K": 128, "BN": 64}),
}


@pytest.fixture(scope="module", params=sorted(_CASES))
def made(request: pytest.FixtureRequest) -> Case:
    file, config, sizes = _CASES[request.param]
    kernel = request.param.removesuffix("_panels")
    return case(EXAMPLES / f"{file}.tile", kernel, config, **sizes)


def test_they_agree_bit_for_bit(made: Case) -> None:
    a, b = made.padded, made.padded
    first = simulate(made.text, a)
    second = simulate(print_descriptors(made.planned, "npu2"), b)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x.view(np.uint8), y.view(np.uint8))
    assert (first.host_read, first.host_written) == (second.host_read, second.host_written)


def test_panels_are_read_once() -> None:
    file, config, sizes = _CASES["gemm_panels"]
    made = case(EXAMPLES / f"{file}.tile", "gemm", config, **sizes)
    held = [f for f in made.planned.plan.fifos if f.repeat > 1 and f.producer[1] == 1]
    assert all(
        "repeat_count = 4" in line
        for line in made.text.splitlines()
        if f"@{held[0].name}(%" in line
    )
    read = simulate(made.text, made.padded).host_read
    elements = {t.memory.name: t.elements for t in made.planned.plan.tensors}
    assert read == 2 * (elements["a"] + 2 * elements["b"]), "b is read for each of 2 rows of turns"


def test_a_panel_is_pushed_whole_where_phases_end_within_turns() -> None:
    config = {"BM": 64, "BN": 64, "BK": 64, "SPLIT": 1}
    made = case(
        EXAMPLES / "gemm_quantized.tile", "gemm_quantized", config, T="bf16", M=256, N=4096, K=512
    )
    assert any(f.repeat > 1 for f in made.planned.plan.fifos)
    assert len(made.planned.plan.phases) > made.planned.plan.herd.turns
    simulate(made.text, None)


def test_the_explicit_module_reads_back() -> None:
    pytest.importorskip("xdsl")
    from dslc.codegen.aie.dialect import parse_module

    # Links, loops in descriptors and a channel that two tensors share.
    made = case(EXAMPLES / "mlp.tile", "gemm_residual", T="bf16", M=64, N=64, K=128, BN=64)
    module = parse_module(print_descriptors(made.planned, "npu2"))
    assert parse_module(str(module)).is_structurally_equivalent(module)
