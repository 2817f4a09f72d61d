"""The calls that a program consists of, as an artifact's `launch` describes them.

    {"buffers": [{"name": "hidden", "bytes": "M * 4096"}],
     "views": [{"name": "hidden_1", "of": "hidden", "offset": "M * 64"}],
     "kernels": [{...the manifest of a kernel...}],
     "calls": [{"kernel": 0, "tensors": {"x": "hidden_1"}, "dims": {"N": "M * 2"}, "scalars": {},
                "when": "M > 4"}]}

A kernel's files have its number before their names: `0.kernel.cu`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from dslc.compiler.artifact import Artifact, decode
from dslc.compiler.diagnostics import error
from dslc.runtime.elements import Array, bytes_of
from dslc.runtime.expression import Number, evaluate


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory between calls; `bytes` is an expression over the program's dims and scalars."""

    name: str
    bytes: str


@dataclass(frozen=True, slots=True)
class View:
    """What begins `offset` bytes, an expression, after a parameter or buffer does."""

    name: str
    of: str
    offset: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the kernel of a number.

    `tensors` names a parameter, buffer or view of the program for each tensor of the kernel; `dims`
    and `scalars` are expressions over the program's, and `when` one that is 0 where nothing is called.
    """

    kernel: int
    tensors: dict[str, str]
    dims: dict[str, str]
    scalars: dict[str, str]
    when: str = "1"


@dataclass(frozen=True, slots=True)
class _Launch:
    buffers: tuple[Buffer, ...]
    kernels: tuple[dict[str, Any], ...]
    calls: tuple[dict[str, Any], ...]
    views: tuple[View, ...] = ()
    alignments: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Between:
    """The memory that calls take beside the parameters: the bytes of buffers by name, and the views."""

    buffers: Mapping[str, str] = field(default_factory=dict)
    views: tuple[View, ...] = ()

    def add_to(self, arrays: dict[str, Array], values: Mapping[str, Number]) -> None:
        """Add memory for each buffer, and the bytes of each view, to the arrays of parameters."""
        for name, size in self.buffers.items():
            arrays[name] = np.empty(int(evaluate(size, values)), np.uint8)
        for view in self.views:
            arrays[view.name] = bytes_of(arrays[view.of])[int(evaluate(view.offset, values)) :]


@dataclass(frozen=True, slots=True)
class Calls:
    """A program: its kernels, the memory beside its parameters, and the calls in order."""

    kernels: tuple[Artifact, ...]
    between: Between
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
        refuse_launch(program, "two of its buffers or parameters have one name")
    memory = {*buffers, *(p.name for p in params if p.dims is not None)}
    views = {v.name: v for v in data.views}
    if len(views) != len(data.views) or views.keys() & (memory | {p.name for p in params}):
        refuse_launch(program, "two of its views or other tensors have one name")
    if not {v.of for v in data.views} <= memory:
        refuse_launch(program, "a view is of no parameter or buffer")
    memory |= views.keys()
    calls = tuple(decode(Call, c, f"a call of {program.name}", partial=True) for c in data.calls)
    for call in calls:
        if not 0 <= call.kernel < len(kernels):
            refuse_launch(program, f"it has no kernel {call.kernel}")
        own = kernels[call.kernel].signature
        tensors = {p.name for p in own.params if p.dims is not None}
        scalars = {p.name for p in own.params if p.dims is None}
        asked = tensors, scalars, {*own.dims}
        given = {*call.tensors}, {*call.scalars}, {*call.dims} - own.fixed.keys()
        if asked != given or not {*call.tensors.values()} <= memory:
            refuse_launch(
                program,
                f"a call of {kernels[call.kernel].name} gives it other things than it takes",
            )
    return Calls(kernels, Between(buffers, data.views), calls)


def _files(program: Artifact, prefix: str) -> dict[str, bytes]:
    """Those of one of its kernels."""
    files = program.files.items()
    return {n.removeprefix(prefix): c for n, c in files if n.startswith(prefix)}


def refuse_launch(artifact: Artifact, what: str) -> NoReturn:
    """DSL0802, with what is wrong in the artifact's `launch`."""
    raise error("DSL0802", f"the launch of {artifact.name} cannot be read: {what}")
