"""The features of the language, a small kernel each (features.tile), and arguments to call them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dslc
import numpy as np
from dslc.calls.signature import Signature
from dslc.compiler.dtypes import F32, DType, cast, encode, storage_dtype

from support.gpu import emulation

_FILE = Path(__file__).with_name("features.tile")
_SIZES = {"M": 20, "N": 40, "K": 33}


@dataclass(frozen=True, slots=True)
class Feature:
    """A kernel that is named k, and the sizes to try it with."""

    source: str
    sizes: dict[str, int]

    def compile(self, target: str) -> Any:
        """The kernel for a target."""
        return dslc.compile(self.source, target=target, cache=False)["k"]

    def lower(self, target: str) -> None:
        """Emit its text for the sizes; the error of what the target refuses."""
        kernel = self.compile(target)
        stage = _STAGES[target.partition(":")[0]]
        kernel.specialize(**{d: self.sizes[d] for d in kernel.dims}).source(stage)

    def outputs(self, target: str, seed: int = 1) -> dict[str, Any]:
        """What a call on a target writes; the arguments are the same for all.

        For CUDA the emulator draws the order of threads from the seed.
        """
        kernel = self.compile(target)
        signature: Signature = kernel.origin.signature
        args = self.arguments(signature)
        if target.startswith("cuda"):
            made = kernel.origin.elaborated({}, {}, lambda d: self.sizes[d])
            emulation.execute(emulation.lower(made.program), args, seed)
        else:
            kernel(**args)
        return {p.name: args[p.name] for p in signature.parameters if p.is_written}

    def arguments(self, signature: Signature) -> dict[str, Any]:
        """Arguments by name: outputs are zeros."""
        rng = np.random.default_rng(0)
        args = {p.name: _argument(p.dtype, p.dims, self.sizes, rng) for p in signature.parameters}
        for p in signature.parameters:
            if p.mode == "out":
                args[p.name] = np.zeros_like(args[p.name])
        return args


_STAGES = {"aie": "aie-mlir", "nki": "nki", "hip": "hip", "aarch64": "asm", "cpu": "ll"}


def features(file: Path = _FILE) -> dict[str, Feature]:
    """All of a file by name."""
    found = {}
    for text in file.read_text().split("\n#: ")[1:]:
        head, _, source = text.partition("\n")
        name, _, sizes = head.partition(" | ")
        given = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", sizes)}
        found[name] = Feature(source, _SIZES | given)
    return found


def _argument(dtype: DType, dims: tuple[str, ...] | None, sizes: dict[str, int], rng: Any) -> Any:
    """A scalar, or small numbers of a type: of integers none is 0."""
    if dims is None:
        return 3 if dtype.is_integer else True if dtype.name == "bool" else 1.5
    shape = [int(eval(d, {}, dict(sizes))) for d in dims]
    stored = storage_dtype(dtype)
    if dtype.name == "bool":
        return rng.integers(0, 2, shape).astype(stored)
    if dtype.is_integer:
        _, high = dtype.integer_range
        return rng.integers(1, min(high, 40), shape, endpoint=True).astype(stored)
    if dtype.name == "e8m0":
        return rng.integers(124, 130, shape).astype(stored)
    numbers = (np.round(rng.standard_normal(shape) * 8) / 4).astype(np.float32)
    return (
        encode(cast(numbers, F32, dtype, True), dtype)
        if dtype.bits <= 8
        else numbers.astype(stored)
    )
