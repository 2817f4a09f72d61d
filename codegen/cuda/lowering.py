"""From a scheduled kernel to an artifact: emitted, compiled, and described for the launcher."""

from __future__ import annotations

from dslc.codegen.cuda.generate import check, emit
from dslc.codegen.cuda.toolchain import Options, architecture_of, compile_cubin
from dslc.compiler.artifact import Artifact, Hashes, Json
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import DType, Kind
from dslc.compiler.ir import Kernel, Memory, TileProgram
from dslc.compiler.manifest import grid_of, signature_of, workspaces_of
from dslc.compiler.targets import Target

SOURCE = "kernel.cu"
_UNKNOWN = Hashes("", "", "", "")


def lower(program: TileProgram, target: Target, options: Options = Options()) -> Artifact:
    """The artifact of a kernel after the passes; whoever keeps it sets its hashes.

    DSL0590 for what cannot be emitted, DSL0951 to DSL0953 from the CUDA compiler.
    """
    if not isinstance(program, Kernel):
        raise error("DSL0590", f"{program.name} is a program; this machine runs kernels one by one")
    check(program)
    source, shared = emit(program)
    architecture = architecture_of(target.name)
    binary = compile_cubin(source, architecture, options, f"{program.name}.cu")
    return Artifact(
        name=program.name,
        kind="kernel",
        target=target.name,
        entry=program.name,
        signature=signature_of(program, dict(program.config)),
        hashes=_UNKNOWN,
        grid=grid_of(program),
        shared_bytes=shared,
        workspaces=workspaces_of(program),
        launch={
            "threads": program.threads,
            "grid": [_turns(program)],
            "arguments": _arguments(program),
            "resources": binary.resources[program.name].to_data(),
        },
        files={SOURCE: source.encode(), f"{architecture}.cubin": binary.cubin},
    )


def _turns(kernel: Kernel) -> str:
    """The number of turns in all: the kernel finds its own from its block's number."""
    return " * ".join(f"({text})" for text in grid_of(kernel)) or "1"


def _arguments(kernel: Kernel) -> list[Json]:
    """The C parameters as `emit` orders them: those of the kernel, dims, workspaces."""
    found: list[Json] = []
    for param in kernel.params:
        if isinstance(param, Memory):
            found.append({"kind": "tensor", "name": param.name})
        else:
            found.append({"kind": "scalar", "name": param.name, "type": _c_type(param.dtype)})
    found += [{"kind": "value", "value": d.name, "type": "i32"} for d in kernel.dims]
    return found + [{"kind": "workspace", "name": w.name} for w in kernel.workspaces]


def _c_type(dtype: DType) -> str:
    """The type of a scalar parameter: narrow numbers are passed as the words they are computed in."""
    if dtype.kind in (Kind.BOOL, Kind.INDEX):
        return "bool" if dtype.kind is Kind.BOOL else "i32"
    if dtype.is_float:
        return "f64" if dtype.name == "f64" else "f32"
    sign = "u" if dtype.kind is Kind.UINT else "i"
    return f"{sign}{max(32, dtype.bits)}"
