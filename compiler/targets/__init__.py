"""Machines as data: memories, banks and matrix units, found by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dslc.compiler.diagnostics import error
from dslc.compiler.diagnostics.suggest import did_you_mean
from dslc.compiler.targets import aarch64, aie, cuda, hip, nki
from dslc.compiler.targets.target import Atom, MemorySpace, Target

INTERP = Target("interp", "interp", "the interpreter on this machine", 32, 1024, ())

TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        target.name: target
        for target in (
            INTERP,
            cuda.SM_80,
            cuda.SM_90A,
            hip.GFX942,
            hip.GFX950,
            nki.TRN1,
            nki.TRN2,
            nki.TRN3,
            aie.NPU2,
            aarch64.BASE,
            aarch64.DOTPROD,
            aarch64.I8MM,
            aarch64.BF16,
            aarch64.ALL,
        )
    }
)


def find_target(name: str) -> Target:
    """The target of that name, such as `cuda:sm_90a`; DSL0901 where there is none."""
    found = TARGETS.get(name)
    if found is not None:
        return found
    family = [t for t in TARGETS if t.split(":")[0] == name.split(":", maxsplit=1)[0]]
    listed = f"the targets are {', '.join(family or TARGETS)}"
    hint = did_you_mean(name, TARGETS) or listed
    raise error("DSL0901", f"there is no target {name!r}", hint=hint)


__all__ = ["INTERP", "TARGETS", "Atom", "MemorySpace", "Target", "find_target"]
