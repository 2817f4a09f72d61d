"""Machines as data: memories, banks and matrix units, found by name.

Here a family enters dslc: its file beside this one lists its targets, and the file of the same name in
dsl/machines says what is done with them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from dslc.compiler.diagnostics import error
from dslc.compiler.diagnostics.suggest import did_you_mean
from dslc.compiler.targets import aarch64, aie, cpu, cuda, hip, interp, nki
from dslc.compiler.targets.interp import INTERP
from dslc.compiler.targets.target import Atom, MemorySpace, Target

_FAMILIES = (interp, cpu, cuda, hip, nki, aie, aarch64)

_known: dict[str, Target] = {t.name: t for family in _FAMILIES for t in family.TARGETS}
TARGETS: Mapping[str, Target] = MappingProxyType(_known)


def add(targets: Iterable[Target]) -> None:
    """Make targets known in this process that are not dslc's own."""
    _known.update({t.name: t for t in targets})


def remove(family: str) -> None:
    """Forget the targets of a family that was added."""
    for name in [n for n, t in _known.items() if t.family == family]:
        del _known[name]


def find_target(name: str) -> Target:
    """The target of that name, such as `cuda:sm_90a`; DSL0901 where there is none.

    `cuda:sm_90a.114` is the GPU of that kind with 114 multiprocessors.
    """
    target = TARGETS.get(name) or _of_units(name)
    if target is not None:
        return target
    family = [t for t in TARGETS if t.split(":")[0] == name.split(":", maxsplit=1)[0]]
    listed = f"the targets are {', '.join(family or TARGETS)}"
    near = did_you_mean(name, TARGETS)
    hint = f"{near} {listed}" if near else listed
    raise error("DSL0901", f"there is no target {name!r}", hint=hint)


def listed_as(name: str, listed: Iterable[str]) -> str | None:
    """The target of a list that serves one: itself, or its kind with the usual number of units."""
    among = tuple(listed)
    return next((t for t in (name, name.partition(".")[0]) if t in among), None)


@functools.cache
def _of_units(name: str) -> Target | None:
    """The GPU of a name that ends with a number of multiprocessors; None for another name."""
    plain, _, units = name.rpartition(".")
    target = TARGETS.get(plain)
    if target is None or target.rates is None or not (units.isdecimal() and int(units)):
        return None
    title = f"{target.title}, of {int(units)} multiprocessors"
    return replace(target, name=name, title=title, units=int(units))


__all__ = ["INTERP", "TARGETS", "Atom", "MemorySpace", "Target", "find_target", "listed_as"]
