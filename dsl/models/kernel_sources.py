"""Where the kernels of a model's steps come from: compiled as they are needed, or a package of them."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dslc import library
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.fingerprint import digest
from dslc.compiler.targets import find_target
from dslc.models.configuration import ModelConfig
from dslc.models.linear import Product
from dslc.models.plan import Step
from dslc.runtime.elements import Array

if TYPE_CHECKING:
    from dslc.compilation.specialization import Specialization

KERNELS = Path(__file__).with_name("kernels.tile")
_MOST_PARTS = 64


class Kernels(Protocol):
    """Gives the compiled kernel of a step."""

    def specialized(self, step: Step) -> Specialization:
        """For the step's dims and constants."""


class CompiledKernels:
    """Compiled for a target, by the compile cache."""

    def __init__(self, target: str) -> None:
        self.target = target
        self._choices: dict[tuple[object, ...], dict[str, int]] = {}

    def specialized(self, step: Step) -> Specialization:
        """DSL0501 and others where the machine cannot be compiled for."""
        kernel = _library(self.target, tuple(sorted(step.constants.items())))[step.kernel]
        return kernel.specialize(**step.dims, **self.choices(step))

    def has(self, step: Step) -> bool:
        """Whether the machine can do a step at all: DSL0590 says that it cannot."""
        try:
            self.specialized(step)
        except DiagnosticError as problem:
            if problem.diagnostics[0].code != "DSL0590":
                raise
            return False
        return True

    def choices(self, step: Step) -> dict[str, int]:
        """The choices of a product: none, or those with which it reads the weights as they are packed.

        Most machines store weights in one way whatever the choices are. Where the storage follows from
        them, those of one row hold for all, with the most rows of a block that read the same.
        """
        if step.product is None:
            return {}
        key = (step.kernel, *sorted(step.dims.items()), *sorted(step.constants.items()))
        if key not in self._choices:
            self._choices[key] = self._fitting(step, step.product)
        return self._choices[key]

    def _fitting(self, step: Step, product: Product) -> dict[str, int]:
        kernel = _library(self.target, tuple(sorted(step.constants.items())))[step.kernel]
        packer = self.packer(product, str(step.constants["T"]))
        wanted = _storages(packer)
        if _storages(kernel.specialize(**step.dims)) == wanted:
            return {}
        own = {n: int(str(v)) for n, v in packer.config.items() if n in kernel.tunes}
        kept = {n: v for n, v in own.items() if n in ("BN", "BK")}
        blocks = {int(str(n)) for n in kernel.tunes["BM"]}
        for block in sorted(blocks, reverse=True):
            if own["BM"] < block <= step.dims["M"]:
                with contextlib.suppress(DiagnosticError):  # such blocks may have no room
                    if _storages(kernel.specialize(**step.dims, **kept, BM=block)) == wanted:
                        return {**kept, "BM": block}
        return own

    def packer(self, product: Product, dtype: str) -> Specialization:
        """What says how a product's weights are stored: the kernel of one row that adds nothing."""
        constants = {"T": dtype, **product.constants}
        kernel = _library(self.target, tuple(sorted(constants.items())))[product.kernel]
        return kernel.specialize(M=1, K=product.rows, N=product.columns)

    def pack(self, product: Product, dtype: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """The arrays of a product's weights as its kernels take them."""
        packer, packed = self.packer(product, dtype), dict(arrays)
        for parameter in packer.parameters:
            if parameter.may_be_packed:
                packed[parameter.name] = packer.pack(parameter.name, arrays[parameter.name])
        return packed


def parts_for(target: str, config: ModelConfig) -> int:
    """Among how many turns a machine should divide the keys of a head that one token sees.

    So many that all of a GPU's multiprocessors have one; 1 where turns have a single thread: few cores
    have enough with a turn for each head.
    """
    machine = find_target(target)
    if machine.warp_size == 1:
        return 1
    return max(1, min(_MOST_PARTS, machine.units // config.key_heads))


class PackagedKernels:
    """Those of a package: nothing is compiled."""

    def __init__(self, path: str | os.PathLike[str], target: str) -> None:
        from dslc.loading import load

        self.target = target
        self._library = load(path, target)

    def specialized(self, step: Step) -> Specialization:
        """DSL0744 and DSL0747 where the package has it not."""
        return self._library[packaged_name(step)].specialize(**step.dims)


@functools.cache
def plan_fingerprint() -> str:
    """The hash of the kernels and of what puts them together: imports of others do not fit."""
    files = (KERNELS, *(KERNELS.with_name(f"{n}.py") for n in ("plan", "linear", "parts")))
    return digest({file.name: file.read_bytes() for file in files})


def packaged_name(step: Step) -> str:
    """The name of a step's kernel in a package, where each set of constants is a kernel of its own."""
    constants = {n: repr(v) for n, v in step.constants.items()}
    if step.product is not None:
        constants |= {"K": repr(step.product.rows), "N": repr(step.product.columns)}
    return f"{step.kernel}_{digest(constants)[:10]}"


def _storages(made: Specialization) -> list[object]:
    return [p.packed for p in made.artifact.signature.params]


@functools.cache
def _library(target: str, constants: tuple[tuple[str, object], ...]) -> library.Library:
    return library.compile(KERNELS, target, define=dict(constants))
