"""From a scheduled kernel to an artifact: CUDA C, machine code, and how it is launched."""

from __future__ import annotations

from dslc.codegen.cuda.generate import emit
from dslc.codegen.cuda.toolchain import DEFAULT, Options, architecture_of, compile_cubin
from dslc.compiler.artifact import Artifact, Hashes, Json
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import DType, Kind
from dslc.compiler.ir import Kernel, Memory, TileProgram
from dslc.compiler.manifest import grid_of, signature_of, workspaces_of
from dslc.compiler.targets import Target

SOURCE = "kernel.cu"
_UNKNOWN = Hashes("", "", "", "")  # whoever builds knows what it was made of


def lower(program: TileProgram, target: Target, options: Options = DEFAULT) -> Artifact:
    """Compile a kernel that the passes of a GPU have scheduled.

    DSL0590 for what the generator cannot say, DSL0951 without a CUDA compiler.
    """
    if not isinstance(program, Kernel):
        raise error(
            "DSL0590",
            f"{program.name} is a program: its kernels are compiled one by one for {target.name}",
            program.loc,
            hint="call its kernels in order, or run it with --target interp",
        )
    text, shared = emit(program)
    architecture = architecture_of(target.name)
    binary = compile_cubin(text, architecture, options, f"{program.name}.cu")
    assert program.threads is not None
    launch: dict[str, Json] = {
        "threads": program.threads,
        "grid": [_blocks(program)],
        "arguments": _arguments(program),
        "resources": binary.resources[program.name].to_data(),
    }
    return Artifact(
        program.name,
        "kernel",
        target.name,
        program.name,
        signature_of(program, {}),
        _UNKNOWN,
        grid_of(program),
        shared,
        workspaces_of(program),
        launch,
        {SOURCE: text.encode(), f"{architecture}.cubin": binary.cubin},
    )


def _blocks(kernel: Kernel) -> str:
    """All turns of the grid along x."""
    return " * ".join(f"({extent})" for extent in grid_of(kernel)) or "1"


def _arguments(kernel: Kernel) -> list[Json]:
    """The C parameters in order: the kernel's, its dims, its workspaces."""
    found: list[Json] = []
    for param in kernel.params:
        if isinstance(param, Memory):
            found.append({"kind": "tensor", "name": param.name})
        else:
            found.append({"kind": "scalar", "name": param.name, "type": _ctype(param.dtype)})
    found += [{"kind": "value", "value": d.name, "type": "i32"} for d in kernel.dims]
    found += [{"kind": "workspace", "name": w.name} for w in kernel.workspaces]
    return found


def _ctype(dtype: DType) -> str:
    """How a scalar travels: narrow integers as 32 bits, narrow floats as f32."""
    if dtype.kind is Kind.BOOL or dtype.bits >= 32:
        return "f32" if dtype.name == "tf32" else dtype.name
    if dtype.is_float:
        return "f32"
    return "i32" if dtype.is_signed else "u32"
