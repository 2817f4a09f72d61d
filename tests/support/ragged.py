"""Every kernel of a folder for ragged sizes and the compiler's own choices, up to its text."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dslc
from dslc.compiler.artifact import Artifact, Hashes
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import TileProgram
from dslc.machines.machine import Machine

EXAMPLES = Path(__file__).parents[2] / "examples"
TARGETS = (
    "interp", "cuda:sm_80", "cuda:sm_90a", "hip:gfx942", "hip:gfx950", "nki:trn2", "aie:npu2",
    "aarch64:i8mm", "cpu:x86-64-v3",
)  # fmt: skip
# Primes, numbers beside those of tiles, odd multiples of 8, 4 and 2; then heads and rows of models.
_RAGGED = (
    1, 3, 7, 31, 61, 127, 257, 509, 1021, 15, 17, 33, 63, 65, 129, 255, 40, 72, 328, 520, 20, 100,
    12, 516, 10, 30, 514, 77, 80, 96,
)  # fmt: skip
_LARGE = (50257, 30522, 32001, 50264, 4095, 4544, 11008)
_WHOLE = (8, 16, 32, 64, 128, 256, 512)
_UNMET = ("DSL0217", "DSL0759")  # the sizes are none of the kernel's
_MOST_DRAWS = 40

Sizes = Mapping[str, int]


class Emitted(Exception):
    """A kernel's text was made."""


class Emitting:
    """A machine that stops where the text of a kernel is made: no other compiler runs."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def compile(
        self, program: TileProgram, config: Mapping[str, object], hashes: Hashes
    ) -> Artifact:
        self._machine.draft(program)
        raise Emitted


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel or program of a file."""

    file: Path
    name: str

    def on(self, target: str) -> Any:
        """The kernel for a target, which will be emitted and no more."""
        kernel = dslc.compile(self.file, target=target, cache=False)[self.name]
        kernel.origin.machine = Emitting(kernel.origin.machine)
        return kernel


def files(folder: Path = EXAMPLES) -> list[Path]:
    """The .tile files of a folder."""
    return sorted(folder.glob("*.tile"))


def subjects_of(file: Path) -> Iterator[Subject]:
    """The kernels and programs of a file, those that it imports among them."""
    for name in dslc.compile(file, target="interp", cache=False):
        yield Subject(file, name)


def outcome(subject: Subject, target: str, seed: int) -> tuple[Sizes, DiagnosticError | None]:
    """Ragged sizes that the kernel takes, and the refusal of a machine that cannot have it for them.

    The largest are for GPUs, whose texts do not grow with them.
    """
    rng = random.Random(f"{subject.name} {seed}")
    large = target.partition(":")[0] in ("cuda", "hip", "interp")
    kernel = subject.on(target)
    for draw in range(_MOST_DRAWS):
        whole = draw / _MOST_DRAWS  # the share of dims that are none of the ragged ones
        sizes = {d: _size(rng, whole, large) for d in kernel.dims}
        if draw == _MOST_DRAWS - 1:
            sizes = dict.fromkeys(sizes, _WHOLE[-1])
        try:
            emit(kernel, sizes)
        except DiagnosticError as refusal:
            if refusal.diagnostics[0].code not in _UNMET:
                return sizes, refusal
        else:
            return sizes, None
    raise AssertionError(f"no sizes are found that {subject.name} takes")


def _size(rng: random.Random, whole: float, large: bool) -> int:
    if rng.random() < whole:
        return rng.choice(_WHOLE)
    return rng.choice(_LARGE if large and rng.random() < 0.15 else _RAGGED)


def emit(kernel: Any, sizes: Sizes) -> None:
    """Make the text for the compiler's own choices; the error of what is refused."""
    try:
        kernel.origin.specialization({}, {}, sizes.get)
    except Emitted:
        return
    raise AssertionError("it was compiled")
