"""Examples whose products take warpgroups: an operand, or both, in shared memory."""

from __future__ import annotations

import pytest
from dslc.calls.argument_facts import Facts, divisor_facts, with_facts
from dslc.codegen.cuda.generate import emit
from dslc.codegen.cuda.tools.locate import find_library
from dslc.codegen.cuda.tools.toolchain import compile_cubin
from dslc.compiler import interpreter
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.runtime import packing
from dslc.runtime.cuda_emulator import compiler
from elaboration import elaborated

from calls import hold, problem
from support.gpu.emulation import TARGET, execute, lower
from support.kernels import every

CASES: dict[str, tuple[dict[str, int], dict[str, int]]] = {
    "gemm": ({"M": 80, "N": 144, "K": 160}, {"BM": 64, "BN": 128, "BK": 64}),
    "attention": (
        {"B": 1, "S": 80, "HQ": 2, "L": 144, "HK": 1, "D": 64},
        {"BS": 64, "BL": 64},
    ),
    # One block fills a multiprocessor: producer warps copy keys and values.
    "attention, aside": (
        {"B": 1, "S": 150, "HQ": 2, "L": 330, "HK": 1, "D": 128},
        {"BS": 128, "BL": 128},
    ),
    "gemm_quantized": ({"M": 80, "N": 128, "K": 256}, {"BM": 64, "BN": 64, "BK": 64}),
    "gemm_quantized_zeros": ({"M": 64, "N": 128, "K": 128}, {"BM": 64, "BN": 128, "BK": 64}),
}


def name_of(case: str) -> str:
    return case.partition(",")[0]


def lowered(kernel: str) -> Kernel:
    dims, config = CASES[kernel]
    program = elaborated(name_of(kernel), dims, config)
    divisors = divisor_facts(TARGET, [d.name for d in program.dims], dims.get)
    found = lower(with_facts(program, Facts(divisors, ()), TARGET))
    assert isinstance(found, Kernel)
    return found


@pytest.mark.parametrize("kernel", CASES)
def test_its_products_are_the_warpgroups(kernel: str) -> None:
    program = lowered(kernel)
    dots = every(program, ins.Dot)
    assert all((d.atom or "").startswith("wgmma") and d.is_async for d in dots)
    assert bool(every(program, ins.WarpSpecialize)) == (kernel != "attention")
    if name_of(kernel) == "attention":
        assert dots[-1].acc is not None  # shrunk sums are what the product adds to


@pytest.mark.parametrize("kernel", CASES)
def test_it_means_the_same(kernel: str) -> None:
    program = lowered(kernel)
    posed = problem(name_of(kernel), CASES[kernel][0], {}, seed=1)
    args = dict(posed.args)
    for param in program.packed:
        args[param.name] = packing.pack(args[param.name], param.storage.to_data())
    interpreter.run(program, args, interpreter.Options())
    hold(posed)


@pytest.mark.skipif(find_library("nvrtc") is None, reason="needs NVRTC")
@pytest.mark.parametrize("kernel", CASES)
def test_its_products_are_under_way_together(kernel: str) -> None:
    """Else ptxas waits for each: a call, a branch or a spill in the wrong place is enough."""
    text, _ = emit(lowered(kernel), TARGET)
    (resources,) = compile_cubin(text, "sm_90a").resources.values()
    assert not resources.serialized
    assert not resources.spills


@pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")
@pytest.mark.parametrize("kernel", CASES)
def test_its_text_computes_it(kernel: str) -> None:
    program = lowered(kernel)
    for seed in range(2):
        posed = problem(name_of(kernel), CASES[kernel][0], {}, seed=1)
        execute(program, posed.args, seed)
        hold(posed)
