"""Operands that are computed once: what is read from memory alone is not computed again."""

import pytest
from dslc.checker import check_module
from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.products.materialize_operands import MaterializeOperands
from dslc.compiler.targets import find_target
from dslc.frontend import parse_tile

SOURCE = """
const T = f16
kernel linear(a: T[M, K], w: u4[K, N], c: out T[M, N]):
    for m, n in parallel(range(0, M, 1), range(0, N, 64)):
        acc = zeros(f32, [1, 64])
        for k in range(0, K, 16):
            acc += dot(a[m : m + 1, k : k + 16], cast(w[k : k + 16, n : n + 64], T))
        c[m : m + 1, n : n + 64] = cast(acc, T)
"""


def before(target: str, dtype: str, **fixed: int) -> TileProgram:
    """The kernel with what stands before this pass in the list."""
    machine = find_target(target)
    module = check_module(parse_tile(SOURCE, "k.tile"), define={"T": dtype}, machine=machine)
    program: TileProgram = module.templates["linear"].elaborate(fixed)
    for step in gpu_passes(machine):
        if isinstance(step, MaterializeOperands):
            break
        program = step(program)
    return program


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("target", ["cuda:sm_90a", "cuda:sm_80"])
def test_tiles_that_are_loaded_alone_stay(target: str, dtype: str) -> None:
    """Short rows of f32, whose product no unit makes, were copied to a buffer again and again."""
    program = before(target, dtype, M=1, K=2048, N=2048)
    assert isinstance(MaterializeOperands(find_target(target))(program), Kernel)
