"""What runs the specialisations of some targets: a GPU, or the CPU.

What a machine of one family needs is imported when a package has code for it.
"""

from __future__ import annotations

import importlib
import platform
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from dslc.compiler.artifact import Artifact, Signature
from dslc.compiler.diagnostics import DiagnosticError, error

if TYPE_CHECKING:
    from dslc.runtime.package.folder import PackageFolder


class Loaded(Protocol):
    """A kernel that is ready to run; `signature` is that of the code which was chosen."""

    signature: Signature

    def launch(self, args: Mapping[str, Any], stream: object, dims: Mapping[str, int]) -> None:
        """Run it once over arguments by parameter name; outputs are written in place."""


class Place(Protocol):
    """Somewhere to run: `rank` orders the targets that it runs, the best least; None for others."""

    @property
    def name(self) -> str:
        """How messages call it."""

    def rank(self, target: str, forms: Collection[str]) -> tuple[int, ...] | None:
        """How well it runs a target's code."""

    def load(self, artifact: Artifact) -> Loaded:
        """The artifact's code, loaded when it is first launched or at once."""


def present_places(folder: PackageFolder, *, native: bool) -> list[Place]:
    """Where this machine runs code of a package: its GPU, then its CPU."""
    families = _families(folder)
    places: list[Place] = []
    for family, present in PRESENT.items():
        if family in families and (place := present(folder, native)) is not None:
            places.append(place)
    return places


def cpu_place(folder: PackageFolder, processor: Any = None) -> Place:
    """A processor of a package's kernels for CPUs: by default the CPU of this machine."""
    from dslc.runtime.native import HostProcessor
    from dslc.runtime.package.cpu import Cpu

    return Cpu(folder, HostProcessor.get() if processor is None else processor)


def simulator(target: str) -> Place:
    """The simulator of a target; DSL0834 where there is none, DSL0951 where dslc is not whole."""
    try:
        place: Place = importlib.import_module("dslc.machines.stand_in").StandIn(target)
    except ImportError as missing:
        raise error(
            "DSL0951", f"simulating {target} needs all of dslc: {missing}", hint="pip install dslc"
        ) from None
    return place


def is_simulated(target: str) -> bool:
    """Whether something stands in for a target's machine where that is not here."""
    return target.partition(":")[0] not in _REAL_ALONE


def _families(folder: PackageFolder) -> set[str]:
    return {target.partition(":")[0] for target in folder.index.targets}


# Asked here: what calls kernels is loaded where there is a CPU for them alone.
def _is_arm() -> bool:
    return platform.machine().lower() in ("aarch64", "arm64")


def _arm_cpu(folder: PackageFolder, native: bool) -> Place | None:
    return cpu_place(folder) if _is_arm() else None


def _cpu(folder: PackageFolder, native: bool) -> Place | None:
    """The place of both families where they are both for this CPU."""
    return None if _is_arm() and "aarch64" in _families(folder) else cpu_place(folder)


def _amd_gpu(folder: PackageFolder, native: bool) -> Place | None:
    from dslc.runtime.hip.device import is_present

    if not is_present():
        return None
    from dslc.runtime.package.amd import AmdGpu

    return AmdGpu(folder)


def _gpu(folder: PackageFolder, native: bool) -> Place | None:
    from dslc.runtime.cuda import CudaDevice

    try:
        CudaDevice.get(0)
    except DiagnosticError:
        return None
    from dslc.runtime.package.gpu import Gpu

    return Gpu(0, native)


# The families whose machines may be here, in the order in which they are asked.
PRESENT: dict[str, Callable[[PackageFolder, bool], Place | None]] = {
    "cuda": _gpu,
    "hip": _amd_gpu,
    "aarch64": _arm_cpu,
    "cpu": _cpu,
}
_REAL_ALONE = frozenset({"cpu"})  # which nothing simulates
