"""One operator of torch for every kernel: `dslc::call`. torch.compile keeps it whole.

It takes tensors, and as a text which kernel of which source they are for. What it writes is new, so
that torch has to know nothing of the kernel but the shape and dtype of that.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from dslc import library
from dslc.machines.registry import target_on
from dslc.models.kernel_sources import KERNELS as OF_MODELS
from torch import Tensor

SOURCES = {"models": OF_MODELS, "nn": Path(__file__).with_name("kernels.tile")}
NAMES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}


@dataclass(frozen=True)
class Call:
    """A kernel of a source for a target: its constants, the dims that bytes do not tell, its choices.

    `inputs` are the parameters in the order of the tensors, `output` is the one that is made. Where
    `blocks` has sizes, BM is the greatest of them that the rows fill.
    """

    source: str
    kernel: str
    target: str
    define: Mapping[str, str | int | float]
    inputs: tuple[str, ...]
    output: str
    dims: Mapping[str, int] = field(default_factory=dict)
    choices: Mapping[str, int] = field(default_factory=dict)
    blocks: tuple[int, ...] = ()

    def text(self) -> str:
        """As the operator takes it."""
        return json.dumps(asdict(self))

    def __call__(self, tensors: Sequence[Tensor], rows: int, columns: int) -> Tensor:
        """A new tensor [rows, columns] of the first tensor's dtype."""
        y: Tensor = call(list(tensors), self.text(), rows, columns)
        return y


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> tuple[Call, library.Library]:
    described = Call(**json.loads(text))
    define = tuple(sorted(described.define.items()))
    return described, _library(described.source, described.target, define)


@functools.cache
def _library(
    source: str, target: str, define: tuple[tuple[str, str | int | float], ...]
) -> library.Library:
    return library.compile(SOURCES[source], target, define=dict(define))


@torch.library.custom_op("dslc::call", mutates_args=())
def call(tensors: list[Tensor], what: str, rows: int, columns: int) -> Tensor:
    """Run a kernel over tensors; see `Call`."""
    described, kernels = _parsed(what)
    y = tensors[0].new_empty((rows, columns))
    if rows == 0:
        return y
    arguments = dict(zip(described.inputs, (t.contiguous() for t in tensors), strict=True))
    choices = dict(described.choices)
    if described.blocks:
        choices["BM"] = max(b for b in described.blocks if b <= max(rows, min(described.blocks)))
    kernels[described.kernel](**arguments, **{described.output: y}, **described.dims, **choices)
    return y


@call.register_fake
def _empty(tensors: list[Tensor], what: str, rows: int, columns: int) -> Tensor:
    return tensors[0].new_empty((rows, columns))


def element(tensor: Tensor) -> str:
    """The name of a tensor's elements in the language; TypeError for other types."""
    if tensor.dtype not in NAMES:
        raise TypeError(f"dslc.nn computes with {', '.join(NAMES.values())}, not {tensor.dtype}")
    return NAMES[tensor.dtype]


def target_of(device: torch.device) -> str:
    """The machine that takes tensors of a device of torch."""
    return target_on(device.type.upper())
