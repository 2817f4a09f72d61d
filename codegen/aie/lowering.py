"""From a scheduled kernel to an artifact: MLIR of the aie dialect, and how its arguments lie."""

from __future__ import annotations

from dslc.codegen.aie.arguments import scalars_of
from dslc.codegen.aie.descriptors import print_descriptors
from dslc.codegen.aie.objectfifos import print_objectfifos
from dslc.codegen.aie.planning import plan_kernel
from dslc.compiler.artifact import Artifact, Hashes, Json
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.ir.affine import constant
from dslc.compiler.manifest import grid_of, signature_of, workspaces_of
from dslc.compiler.targets import Target

SOURCE, EXPLICIT = "kernel.mlir", "explicit.mlir"
_UNKNOWN = Hashes("", "", "", "")  # whoever builds knows what it was made of


def lower(program: TileProgram, target: Target) -> Artifact:
    """Place a kernel on the array and print it; DSL0590 to DSL0554 for what has no place there."""
    if not isinstance(program, Kernel):
        raise error(
            "DSL0590",
            f"{program.name} is a program of several kernels, and an NPU gets one kernel at a "
            f"time here",
            program.loc,
            hint="compile its kernels one by one",
        )
    planned = plan_kernel(program, target)
    device = target.name.partition(":")[2]
    files = {
        SOURCE: print_objectfifos(planned, device).encode(),
        EXPLICIT: print_descriptors(planned, device).encode(),
    }
    arguments: list[dict[str, Json]] = [
        {"name": t.memory.name, "dtype": t.memory.dtype.name, "shape": list(t.shape),
         "written": any(s.output and s.memory is t.memory for s in planned.plan.streams)}
        for t in planned.plan.tensors
    ]  # fmt: skip
    for argument, memory in zip(arguments, (t.memory for t in planned.plan.tensors), strict=True):
        own = next((m for m in program.tensors if m.name == memory.name), memory)
        if own.packed == "row":
            argument["rows"] = [int(constant(n) or 0) for n in memory.shape]
    if scalars := scalars_of(program):
        tensors = {m.name for m in program.tensors}
        words = next(a for a in arguments if a["name"] not in tensors)
        words["scalars"] = [[s.name, s.dtype.name] for s in scalars]
    launch: dict[str, Json] = {"arguments": list(arguments)}
    return Artifact(
        name=program.name,
        kind="kernel",
        target=target.name,
        entry=program.name,
        signature=signature_of(program, {}),
        hashes=_UNKNOWN,
        grid=grid_of(program),
        workspaces=workspaces_of(program),
        launch=launch,
        files=files,
    )
