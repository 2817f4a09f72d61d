"""How a kernel on a CPU is called: what an artifact's `launch` says, read strictly.

    {"variant": "i8mm", "features": ["dotprod", "i8mm"], "scratch": 4096, "asserts": ["k > 0"],
     "grid": ["cdiv(N, 8)"],
     "arguments": [{"kind": "tensor", "name": "x"},
                   {"kind": "scalar", "name": "eps", "type": "f32"},
                   {"kind": "value", "value": "N", "type": "i64"},
                   {"kind": "workspace", "name": "partial"}]}

The kernel is `int32_t f(const uint64_t *args, int64_t begin, int64_t end, void *scratch)`: `args` has a
word of 64 bits for each argument in order, `grid` the extents whose product is the number of turns, and
the result is 0 or the number, from 1, of the assertion in `asserts` that does not hold.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from dslc.compiler.artifact import Artifact, decode
from dslc.runtime.calls import refuse_launch
from dslc.runtime.expression import Number

ArgumentKind = Literal["tensor", "scalar", "value", "workspace"]
_ADDRESS = "i64"


@dataclass(frozen=True, slots=True)
class KernelArgument:
    """One word: `text` is a parameter's or workspace's name, or a value's expression."""

    kind: ArgumentKind
    text: str
    type: str = _ADDRESS


@dataclass(frozen=True, slots=True)
class Description:
    """A call; `features` are those that the CPU needs, `scratch` the bytes that each thread has."""

    variant: str
    features: frozenset[str]
    arguments: tuple[KernelArgument, ...]
    scratch: int
    asserts: tuple[str, ...]
    grid: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Launch:
    """The keys of a launch."""

    variant: str
    features: tuple[str, ...]
    arguments: tuple[dict[str, Any], ...]
    scratch: int
    asserts: tuple[str, ...]
    grid: tuple[str, ...]


def describe(artifact: Artifact) -> Description:
    """The artifact's description; DSL0802 where it is not as this module says."""
    data = decode(_Launch, artifact.launch, f"the launch of {artifact.name}")
    if data.scratch < 0:
        refuse_launch(artifact, "scratch is a number of bytes")
    params = {p.name: p.dims is not None for p in artifact.signature.params}
    workspaces = {w.name for w in artifact.workspaces}
    return Description(
        data.variant,
        frozenset(data.features),
        tuple(_argument(artifact, a, params, workspaces) for a in data.arguments),
        data.scratch,
        data.asserts,
        data.grid,
    )


def word_of(number: Number, dtype: str) -> int:
    """A scalar as a word: integers extended by their sign, narrow floats as the bits of f32."""
    if dtype == "f64":
        return int.from_bytes(struct.pack("<d", number), "little")
    if isinstance(number, float) or dtype[0] not in "iub":
        return int.from_bytes(struct.pack("<f", number), "little")
    return int(number)


def _argument(
    artifact: Artifact, data: Mapping[str, Any], params: Mapping[str, bool], workspaces: set[str]
) -> KernelArgument:
    kind: Any = data.get("kind")
    if kind not in get_args(ArgumentKind):
        refuse_launch(artifact, f"an argument's kind is one of {', '.join(get_args(ArgumentKind))}")
    text = str(data.get("value" if kind == "value" else "name"))
    known = {
        "tensor": params.get(text) is True,
        "scalar": params.get(text) is False,
        "workspace": text in workspaces,
        "value": "value" in data,
    }
    if not known[kind]:
        refuse_launch(artifact, f"{str(data)[:200]} is no argument of it")
    return KernelArgument(kind, text, str(data.get("type", _ADDRESS)))
