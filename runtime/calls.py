"""The calls that a program consists of, as an artifact's `launch` describes them.

    {"buffers": [{"name": "hidden", "bytes": "M * 4096"}],
     "kernels": [{...the manifest of a kernel...}],
     "calls": [{"kernel": 0, "tensors": {"x": "hidden"}, "dims": {"N": "M * 2"}, "scalars": {}}]}

A kernel's files have its number before their names: `0.kernel.cu`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

from dslc.compiler.artifact import Artifact, decode
from dslc.compiler.diagnostics import error


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory between calls; `bytes` is an expression over the program's dims and scalars."""

    name: str
    bytes: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the kernel of a number.

    `tensors` names a parameter or buffer of the program for each tensor of the kernel; `dims` and
    `scalars` are expressions over the program's.
    """

    kernel: int
    tensors: dict[str, str]
    dims: dict[str, str]
    scalars: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Launch:
    buffers: tuple[Buffer, ...]
    kernels: tuple[dict[str, Any], ...]
    calls: tuple[Call, ...]
    alignments: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Calls:
    """A program: its kernels, the bytes of its buffers by name, and the calls in order."""

    kernels: tuple[Artifact, ...]
    buffers: dict[str, str]
    calls: tuple[Call, ...]


def read_calls(program: Artifact, *, files: bool = True) -> Calls:
    """What a program's launch says; DSL0802 where it is not as this module says.

    Without `files` the kernels have none: one library holds the code of all.
    """
    data = decode(_Launch, program.launch, f"the launch of {program.name}", partial=True)
    kernels = tuple(
        Artifact.from_manifest(m, _files(program, f"{i}.") if files else {})
        for i, m in enumerate(data.kernels)
    )
    buffers = {b.name: b.bytes for b in data.buffers}
    params = program.signature.params
    if len(buffers) != len(data.buffers) or buffers.keys() & {p.name for p in params}:
        _wrong(program, "two of its buffers or parameters have one name")
    memory = {*buffers, *(p.name for p in params if p.dims is not None)}
    for call in data.calls:
        if not 0 <= call.kernel < len(kernels):
            _wrong(program, f"it has no kernel {call.kernel}")
        own = kernels[call.kernel].signature
        tensors = {p.name for p in own.params if p.dims is not None}
        scalars = {p.name for p in own.params if p.dims is None}
        asked = tensors, scalars, {*own.dims}
        given = {*call.tensors}, {*call.scalars}, {*call.dims} - own.fixed.keys()
        if asked != given or not {*call.tensors.values()} <= memory:
            _wrong(
                program,
                f"a call of {kernels[call.kernel].name} gives it other things than it takes",
            )
    return Calls(kernels, buffers, data.calls)


def _files(program: Artifact, prefix: str) -> dict[str, bytes]:
    """Those of one of its kernels."""
    files = program.files.items()
    return {n.removeprefix(prefix): c for n, c in files if n.startswith(prefix)}


def _wrong(program: Artifact, what: str) -> NoReturn:
    raise error("DSL0802", f"the launch of {program.name} cannot be read: {what}")
