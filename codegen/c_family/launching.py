"""How a kernel is launched, as data of its artifact: blocks, arguments in order, a program's calls."""

from __future__ import annotations

from dslc.compiler.artifact import Json
from dslc.compiler.dtypes import DType, Kind
from dslc.compiler.ir import Kernel, Memory, TileProgram
from dslc.compiler.manifest import grid_of


def blocks_of(kernel: Kernel) -> str:
    """All turns of the grid along x."""
    return " * ".join(f"({extent})" for extent in grid_of(kernel)) or "1"


def alignments_of(program: TileProgram) -> dict[str, Json]:
    """The tensors that begin at multiples of fewer bytes than usual, if there are any."""
    tensors = [p for p in program.params if isinstance(p, Memory)]
    alignments = {m.name: m.align for m in tensors if m.align is not None}
    return {"alignments": alignments} if alignments else {}


def arguments_of(kernel: Kernel) -> list[Json]:
    """The C parameters in order: the kernel's, its dims, its workspaces."""
    arguments: list[Json] = []
    for param in kernel.params:
        if isinstance(param, Memory):
            arguments.append({"kind": "tensor", "name": param.name})
        else:
            arguments.append({"kind": "scalar", "name": param.name, "type": _ctype(param.dtype)})
    arguments += [{"kind": "value", "value": d.name, "type": "i32"} for d in kernel.dims]
    arguments += [{"kind": "workspace", "name": w.name} for w in kernel.workspaces]
    return arguments


def _ctype(dtype: DType) -> str:
    """How a scalar travels: narrow integers as 32 bits, narrow floats as f32."""
    if dtype.kind is Kind.INDEX:
        return "i32"
    if dtype.kind is Kind.BOOL or dtype.bits >= 32:
        return "f32" if dtype.name == "tf32" else dtype.name
    if dtype.is_float:
        return "f32"
    return "i32" if dtype.is_signed else "u32"
