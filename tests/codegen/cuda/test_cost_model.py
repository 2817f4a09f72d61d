"""The cost model's counts against machine code: instructions of main loops, registers of threads."""

from __future__ import annotations

from pathlib import Path

import pytest
from dslc.checker import check_module
from dslc.codegen.cuda.lowering import lower
from dslc.codegen.cuda.tools.sass import disassemble
from dslc.compiler.cost.registers import estimate_registers
from dslc.compiler.cost.weights import main_iteration
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import walk
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target
from dslc.frontend import parse_tile

EXAMPLES = Path(__file__).parents[3] / "examples"
# The machine whose products are all by mma.sync: what wgmma leaves to a warp are indices alone.
A100 = find_target("cuda:sm_80")
DECODE = {"M": 16, "K": 8192, "N": 8192}


@pytest.mark.parametrize(
    ("name", "dims", "choices", "define"),
    [
        ("gemm_quantized", DECODE, {"BM": 16, "BN": 64, "BK": 128}, {}),
        ("gemm_quantized", DECODE, {"BM": 16, "BN": 128, "BK": 128}, {"W": "f6e3m2"}),
        ("gemm_quantized", {**DECODE, "M": 1024}, {"BM": 128, "BN": 128, "BK": 64}, {}),
        ("gemm", dict.fromkeys("MKN", 4096), {"BM": 128, "BN": 256, "BK": 32}, {}),
        ("attention", {"B": 1, "S": 4096, "HQ": 16, "D": 128, "L": 4096, "HK": 16}, {"BL": 32}, {}),
    ],
)
def test_counts_are_near_those_of_the_assembler(
    name: str,
    dims: dict[str, int],
    choices: dict[str, int],
    define: dict[str, str],
    nvdisasm: None,
) -> None:
    path = EXAMPLES / f"{name}.tile"
    template = check_module(parse_tile(path.read_text(), str(path)), define=define).templates[name]
    kernel = run_passes(template.elaborate(dims, choices), gpu_passes(A100))
    assert isinstance(kernel, Kernel)
    made = lower(kernel, A100)
    iteration = main_iteration(kernel, A100)
    (code,) = disassemble(made.files["sm_80.cubin"])
    loop = code.main_loop()
    assert iteration is not None
    assert loop is not None
    unrolled = max(1.0, loop.mix()["matrix"] / iteration.matrix)
    assert len(loop) / unrolled / 1.7 < iteration.instructions < len(loop) / unrolled * 1.7
    registers = made.launch["resources"]["registers"]
    assert registers / 1.6 < min(255, estimate_registers(kernel)) < registers * 1.6
    assert (iteration.weights > 0) == (name == "gemm_quantized")


@pytest.mark.parametrize("target", ["cuda:sm_80", "cuda:sm_90a"])  # of one warp, of four
def test_the_matrix_instructions_of_all_warps_multiply_the_tiles_of_a_turn(target: str) -> None:
    machine = find_target(target)
    path = EXAMPLES / "gemm.tile"
    template = check_module(parse_tile(path.read_text(), str(path))).templates["gemm"]
    blocks = {"BM": 128, "BN": 128, "BK": 64}
    kernel = run_passes(template.elaborate(dict.fromkeys("MKN", 4096), blocks), gpu_passes(machine))
    assert isinstance(kernel, Kernel)
    turn = main_iteration(kernel, machine)
    assert turn is not None
    (name,) = {s.atom for s in walk(kernel.body) if isinstance(s, ins.Dot)}
    atom = machine.atom(name or "")
    assert atom is not None
    instructions = turn.matrix * (kernel.threads or 0) / atom.threads
    assert instructions * atom.m * atom.n * atom.k == 128 * 128 * 64
