"""From a scheduled kernel to an artifact: MLIR of the aie dialect, and how its arguments lie."""

from __future__ import annotations

from dslc.codegen.aie.descriptors import print_descriptors
from dslc.codegen.aie.objectfifos import print_objectfifos
from dslc.codegen.aie.planning import plan_kernel
from dslc.compiler.artifact import Artifact, Hashes, Json
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import Kernel, TileProgram
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
    arguments: list[Json] = [
        {"name": t.memory.name, "dtype": t.memory.dtype.name, "shape": list(t.shape),
         "written": any(s.output and s.memory is t.memory for s in planned.plan.streams)}
        for t in planned.plan.tensors
    ]  # fmt: skip
    launch: dict[str, Json] = {"arguments": arguments}
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
