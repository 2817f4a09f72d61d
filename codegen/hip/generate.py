"""A scheduled kernel as one self-contained file of HIP C++.

The text names no header and no device library: attributes and builtins of the compiler are all that it
needs, so that every clang that knows the chip compiles it, hipcc and hiprtc among them.
"""

from __future__ import annotations

from dslc.codegen.c_family import control, effects, elementwise, printing
from dslc.codegen.c_family.casts import emit_casts
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.entry import all_shared_memory, parameters, shared_memory, turn_variables
from dslc.codegen.c_family.exchanges import reductions, remap, row_major_staging
from dslc.codegen.c_family.memory import atomics, gathers
from dslc.codegen.emitters import table
from dslc.codegen.hip import block_scaled, copies, groups, interleaving, loads, ordering, stores
from dslc.codegen.hip.prelude import functions, used, vectors
from dslc.codegen.hip.spelling import SPELLINGS, spelled
from dslc.codegen.quoting import comment_lines, entry_name
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.targets import Target

_MATRIX: dict[type, Emitter] = {ins.Dot: block_scaled.dot}
_CASTS = {kind: emitter for kind, emitter in emit_casts.EMITTERS.items() if kind is not ins.Cast}


def _loop(e: Emission, s: ins.For) -> None:
    """A counted loop; one that multiplies says in which order."""
    control.for_loop(e, s, lambda: interleaving.order(e, s))


_CONTROL = {**control.EMITTERS, ins.For: _loop}
EMITTERS = table(
    elementwise.EMITTERS, _CONTROL, remap.EMITTERS, reductions.EMITTERS, effects.EMITTERS,
    atomics.EMITTERS, gathers.EMITTERS, printing.EMITTERS, row_major_staging.EMITTERS, _CASTS,
    copies.EMITTERS, groups.EMITTERS, loads.EMITTERS, stores.EMITTERS, ordering.EMITTERS, _MATRIX,
)  # fmt: skip

_MOST_THREADS = 1024
_HEAD = """#pragma clang fp contract(off)
#define DEVICE static __attribute__((device, always_inline)) inline
"""


def emit(kernel: Kernel, target: Target, waves: int | None = None) -> tuple[str, int]:
    """The text of a kernel, and the bytes of LDS that a workgroup of it needs.

    `waves` of it shall fit on a SIMD, which limits registers; None leaves that to the compiler.
    """
    assert kernel.threads is not None, "layouts are assigned before a kernel is emitted"
    e = Emission(kernel, EMITTERS, kernel.threads, target, target.warp_size, prints=False)
    e.out.reserve([*functions(), *SPELLINGS, "DEVICE"])
    params = parameters(e)
    shared = shared_memory(e)
    e.head.line("const int tid = threadIdx.x;")
    turn_variables(e)
    e.body(kernel.body)
    total = -(-all_shared_memory(e, shared) // 16) * 16
    return _file(kernel, params, e.head.text() + e.out.text(), total, waves), total


def _file(kernel: Kernel, params: list[str], body: str, shared: int, waves: int | None) -> str:
    doc = comment_lines(kernel.doc or "")
    text = spelled(body)
    needed = used(text)
    signature = ",\n    ".join(params)
    lds = ""
    if shared:
        lds = f"  static __attribute__((shared, aligned(1024))) unsigned char shared[{shared}];\n"
    attributes = f"amdgpu_flat_work_group_size({kernel.threads}, {kernel.threads})"
    if waves is not None:
        attributes += f", amdgpu_waves_per_eu({waves}, {waves})"
    types = vectors(needed + text)
    return (
        f"// {kernel.name}: one turn of its grid is one workgroup of {kernel.threads} threads.\n"
        f"{doc}\n{_HEAD}{types}\n{needed}\n\n"
        f'extern "C" __attribute__((global, {attributes})) void\n'
        f"{entry_name(kernel.name)}(\n    {signature}) {{\n{lds}{text}}}\n"
    )


def check(kernel: Kernel) -> None:
    """Refuse what this machine cannot run."""
    if kernel.threads is None or kernel.threads > _MOST_THREADS:
        text = f"a workgroup has at most {_MOST_THREADS} threads, not {kernel.threads}"
        raise error("DSL0590", text, kernel.loc)
