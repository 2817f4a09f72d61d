"""How a CUDA kernel is launched: what an artifact's `launch` says, read strictly.

    {"threads": 256, "grid": ["cdiv(M, 16)", "1", "1"], "cluster": [2, 1, 1],
     "arguments": [{"kind": "tensor", "name": "x"},
                   {"kind": "scalar", "name": "eps", "type": "f32"},
                   {"kind": "value", "value": "N * 2", "type": "i64"},
                   {"kind": "workspace", "name": "partial"},
                   {"kind": "tensor_map", "name": "x", "bytes": 2, "swizzle": 128, "box": [64, 128],
                    "extents": ["K", "M"], "strides": ["(K) * 2"]}]}

`alignments` may name tensors that begin at multiples of fewer bytes than 16: `{"x": 4}`.

The arguments are in the order of the kernel's C parameters: addresses for tensors and workspaces,
scalars and values as numbers of C's type. `grid` has one to three expressions over dims and scalars,
x first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from dslc.compiler.artifact import Artifact, decode
from dslc.runtime.calls import refuse_launch
from dslc.runtime.cuda.tensor_maps import TensorMap

ArgumentKind = Literal["tensor", "scalar", "value", "workspace", "tensor_map"]
# the C types of scalars and values, as codes of `struct`
CODES = {
    "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q",
    "f32": "f", "f64": "d", "bool": "?",
}  # fmt: skip
_ADDRESS = "Q"
ALIGNMENT = 16  # bytes that every tensor begins at a multiple of, unless a launch says otherwise


@dataclass(frozen=True, slots=True)
class KernelArgument:
    """One C parameter: `text` is a parameter's or workspace's name, or a value's expression."""

    kind: ArgumentKind
    text: str
    code: str = _ADDRESS
    box: TensorMap | None = None


@dataclass(frozen=True, slots=True)
class Description:
    """A launch.

    `cooperative` asks that all blocks run at once, `dependent` that the kernel may begin before the
    one before it ends (it waits by griddepcontrol), `spread` that its blocks are dealt evenly to the
    multiprocessors then. Addresses are multiples of `alignment`, but for
    those that `alignments` names.
    """

    threads: int
    grid: tuple[str, ...]
    arguments: tuple[KernelArgument, ...]
    cluster: tuple[int, int, int] = (1, 1, 1)
    cooperative: bool = False
    dependent: bool = False
    spread: bool = False
    alignment: int = ALIGNMENT
    alignments: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Launch:
    """The keys of a launch; `resources` are for the tuner."""

    threads: int
    grid: tuple[str, ...]
    arguments: tuple[dict[str, Any], ...]
    cluster: tuple[int, ...] = (1, 1, 1)
    cooperative: bool = False
    dependent: bool = False
    spread: bool = False
    alignment: int = ALIGNMENT
    alignments: dict[str, int] = field(default_factory=dict)
    resources: dict[str, Any] = field(default_factory=dict)


def describe(artifact: Artifact) -> Description:
    """The artifact's description; DSL0802 where it is not as this module says."""
    data = decode(_Launch, artifact.launch, f"the launch of {artifact.name}", partial=True)
    params = {p.name: p.dims is not None for p in artifact.signature.params}
    workspaces = {w.name for w in artifact.workspaces}
    if min(data.threads, data.alignment, *data.cluster) < 1 or len(data.cluster) != 3:
        refuse_launch(artifact, "threads, cluster and alignment are positive")
    if not 1 <= len(data.grid) <= 3:
        refuse_launch(artifact, "grid has one to three expressions")
    x, y, z = data.cluster
    return Description(
        data.threads,
        data.grid,
        tuple(_argument(artifact, a, params, workspaces) for a in data.arguments),
        (x, y, z),
        data.cooperative,
        data.dependent,
        data.spread,
        data.alignment,
        read_alignments(artifact),
    )


def read_alignments(artifact: Artifact) -> dict[str, int]:
    """The tensors of a kernel or program that begin at multiples of fewer bytes; DSL0802 as above."""
    alignments = artifact.launch.get("alignments", {})
    tensors = {p.name for p in artifact.signature.params if p.dims is not None}
    if not isinstance(alignments, Mapping) or not all(
        name in tensors and type(n) is int and n > 0 for name, n in alignments.items()
    ):
        refuse_launch(artifact, "alignments are bytes by the names of tensors")
    return dict(alignments)


def _argument(
    artifact: Artifact, data: Mapping[str, Any], params: Mapping[str, bool], workspaces: set[str]
) -> KernelArgument:
    kind: Any = data.get("kind")
    if kind not in get_args(ArgumentKind):
        refuse_launch(artifact, f"an argument's kind is one of {', '.join(get_args(ArgumentKind))}")
    text = str(data.get("value" if kind == "value" else "name"))
    code = CODES.get(str(data.get("type"))) if kind in ("scalar", "value") else _ADDRESS
    known = {
        "tensor": params.get(text) is True,
        "scalar": params.get(text) is False,
        "workspace": text in workspaces,
        "value": "value" in data,
        "tensor_map": params.get(text) is True,
    }
    box = TensorMap.read(data) if kind == "tensor_map" else None
    if not known[kind] or code is None or (kind == "tensor_map" and box is None):
        refuse_launch(artifact, f"{str(data)[:200]} is no argument of it")
    return KernelArgument(kind, text, code, box)
