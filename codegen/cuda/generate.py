"""A scheduled kernel as one self-contained file of CUDA C."""

from __future__ import annotations

from dslc.codegen.c_family import control, effects, elementwise, printing
from dslc.codegen.c_family.casts import emit_casts
from dslc.codegen.c_family.emission import Emission
from dslc.codegen.c_family.entry import all_shared_memory, parameters, shared_memory, turn_variables
from dslc.codegen.c_family.exchanges import reductions, remap, row_major_staging
from dslc.codegen.c_family.memory import atomics, gathers
from dslc.codegen.c_family.scalars import FLOAT_FUNCTIONS
from dslc.codegen.cuda import (
    copies,
    dependent_launch,
    ldmatrix,
    matrix,
    ordering,
    ping_pong,
    stmatrix,
    tma,
    warp_specialization,
    wgmma,
)
from dslc.codegen.cuda.prelude import functions, used
from dslc.codegen.emitters import table
from dslc.codegen.quoting import comment_lines, entry_name
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import Kernel
from dslc.compiler.targets import Target

EMITTERS = table(
    elementwise.EMITTERS, control.EMITTERS, stmatrix.EMITTERS, remap.EMITTERS,
    reductions.EMITTERS, effects.EMITTERS, atomics.EMITTERS, gathers.EMITTERS,
    printing.EMITTERS, row_major_staging.EMITTERS, matrix.EMITTERS, emit_casts.EMITTERS,
    copies.EMITTERS, ldmatrix.EMITTERS, wgmma.EMITTERS, tma.EMITTERS, ping_pong.EMITTERS,
    dependent_launch.EMITTERS, ordering.EMITTERS,
)  # fmt: skip

# Words that CUDA gives a meaning, beside those of C.
_CUDA = (
    "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "min", "max", "abs", "fma", "printf",
    *(f"{name}{suffix}" for name in FLOAT_FUNCTIONS for suffix in ("", "f")), "DEVICE", "TensorMap",
)  # fmt: skip


def emit(kernel: Kernel, target: Target, blocks: int | None = None) -> tuple[str, int]:
    """The text of a kernel, and the bytes of shared memory that a block of it needs.

    `blocks` of it shall fit on a multiprocessor; None leaves that to the assembler. DSL0501 where
    buffers and exchanges between threads together need more shared memory than there is.
    """
    assert kernel.threads is not None, "layouts are assigned before a kernel is emitted"
    e = Emission(kernel, EMITTERS, kernel.threads, target)
    e.out.reserve([*functions(), *_CUDA])
    e.in_place = wgmma.in_place(kernel)
    params = _parameters(e)
    shared = shared_memory(e)
    e.head.line("const int tid = threadIdx.x;")
    turn_variables(e)
    warp_specialization.body(e)
    total = all_shared_memory(e, shared)
    body = e.head.text() + e.out.text()
    return _file(kernel, params, body, total, blocks), total


def _parameters(e: Emission) -> list[str]:
    """Those of the family, then tensor maps."""
    declared = parameters(e)
    e.sent = tma.sent_from(e.kernel) | copies.read_in_place(e.kernel)
    for box in tma.tensor_maps(e.kernel):
        e.maps[box] = e.out.name(f"{box.memory.name}_map")
        declared.append(f"const __grid_constant__ TensorMap {e.maps[box]}")
    return declared


def _file(kernel: Kernel, params: list[str], body: str, shared: int, blocks: int | None) -> str:
    doc = comment_lines(kernel.doc or "")
    signature = ",\n    ".join(params)
    uses = "  extern __shared__ __align__(1024) unsigned char shared[];\n" if shared else ""
    needed = used(body)
    threads = warp_specialization.launched_threads(kernel)
    # Registers are handed on where the assembler knows how many a thread begins with.
    blocks = 1 if warp_specialization.producers_of(kernel) is not None else blocks
    bounds = f"__launch_bounds__({threads if blocks is None else f'{threads}, {blocks}'})"
    if kernel.cluster is not None:
        bounds = f"__cluster_dims__({kernel.cluster}, 1, 1) {bounds}"
    vectors = "#define DEVICE static __device__ __forceinline__\n\n"
    if "TensorMap" in signature:
        vectors += tma.TENSOR_MAP
    return (
        f"// {kernel.name}: one turn of its grid is one block of {threads} threads.\n{doc}\n"
        f"{vectors}{needed}\n\n"
        f'extern "C" __global__ void {bounds}\n'
        f"{entry_name(kernel.name)}(\n    {signature}) {{\n{uses}{body}}}\n"
    )


def check(kernel: Kernel) -> None:
    """Refuse what this machine cannot run."""
    if kernel.threads is None or warp_specialization.launched_threads(kernel) > 1024:
        raise error(
            "DSL0590", f"a block has at most 1024 threads, not {kernel.threads}", kernel.loc
        )
