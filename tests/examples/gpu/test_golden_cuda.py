"""The CUDA C of a few kernels as it stands: what a reader of `--emit cu` gets to see.

`--update-golden` writes the texts anew; the change is then for the eyes of a review.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from dslc.calls.argument_facts import Facts, divisor_facts, with_facts
from dslc.codegen.cuda.generate import emit
from dslc.compiler.ir import Kernel
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target
from elaboration import elaborated, module

GOLDEN = Path(__file__).parents[2] / "golden" / "cuda"
PRODUCT = {"M": 4096, "N": 4096, "K": 4096}
DECODE = {"M": 16, "N": 8192, "K": 8192}
# Name -> kernel, target, dims, tune choices.
GOLDENS: dict[str, tuple[str, str, dict[str, int], dict[str, int]]] = {
    "vector_add": ("vector_add", "cuda:sm_80", {"N": 1 << 20}, {"BN": 1024}),
    "softmax": ("softmax", "cuda:sm_80", {"M": 4096, "N": 8192}, {"BN": 1024}),
    "gemm.sm_80": ("gemm", "cuda:sm_80", PRODUCT, {"BM": 64, "BN": 128, "BK": 64}),
    "gemm.sm_90a": ("gemm", "cuda:sm_90a", PRODUCT, {"BM": 128, "BN": 256, "BK": 64}),
    "gemm_quantized": ("gemm_quantized", "cuda:sm_90a", DECODE, {"BM": 16, "BN": 64, "BK": 128}),
}


def cuda(kernel: str, target: str, dims: dict[str, int], config: dict[str, int]) -> str:
    machine = find_target(target)
    facts = Facts(divisor_facts(machine, dims, dims.get))
    program = with_facts(elaborated(kernel, dims, config), facts, machine)
    scheduled = run_passes(program, gpu_passes(machine))
    assert isinstance(scheduled, Kernel)
    return emit(scheduled, machine)[0]


@pytest.mark.parametrize("name", GOLDENS)
def test_the_text_of_a_kernel_is_as_it_was(name: str, request: pytest.FixtureRequest) -> None:
    text = cuda(*GOLDENS[name])
    golden = GOLDEN / f"{name}.cu"
    if request.config.getoption("--update-golden"):
        golden.write_text(text, "utf-8")
    assert text == golden.read_text("utf-8")


def test_a_kernel_of_one_name_gives_one_text() -> None:
    """Nothing of a text depends on the order of a set or the address of an object."""
    first = cuda(*GOLDENS["gemm_quantized"])
    module.cache_clear()
    assert cuda(*GOLDENS["gemm_quantized"]) == first
