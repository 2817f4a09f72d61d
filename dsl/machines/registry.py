"""The machines by the names of their families.

The door of a family is `MACHINE` in the file of its name beside this one: `cuda` is
`dslc.machines.cuda.MACHINE`. Which families there are, `dslc.compiler.targets` lists; a machine that is
not dslc's own is registered with its targets. A door is opened when something is asked of it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
from collections.abc import Iterable

from dslc.compiler import targets as known
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.targets import Target, find_target
from dslc.machines.machine import PLAIN_CODE, CodeOptions, Machine

_registered: dict[str, type[Machine]] = {}


def register(machine: type[Machine], targets: Iterable[Target]) -> None:
    """Make a machine known in this process, and its targets: all of one family, which is new."""
    names = tuple(targets)
    (family,) = {t.family for t in names}
    assert family not in families(), f"the family {family} is there already"
    known.add(names)
    _registered[family] = machine


def withdraw(family: str) -> None:
    """Forget a family that was registered."""
    del _registered[family]
    known.remove(family)


def families() -> tuple[str, ...]:
    """The names of all families, in the order of their targets."""
    return tuple(dict.fromkeys(t.family for t in known.TARGETS.values()))


def machine_class(target: str) -> type[Machine]:
    """The machines of a target's family; DSL0950 where this version cannot generate code for them."""
    family = target.partition(":")[0]
    if family in _registered:
        return _registered[family]
    module = f"{__package__}.{family}"
    if importlib.util.find_spec(module) is None:
        raise error(
            "DSL0950",
            f"there is no code generator for the target {target} here",
            hint="--target interp runs every kernel",
        )
    machine: type[Machine] = importlib.import_module(module).MACHINE
    return machine


@functools.cache
def fastest_target() -> str:
    """The target of the machine that is meant where none is named: the GPU that is here, else the CPU.

    DSL0901 where there is no target for the CPU either; the interpreter is never meant unasked.
    """
    ranked = ((machine_class(f).facts.precedence, f) for f in families())
    present = [f for rank, f in sorted(ranked, reverse=True) if rank]
    for family in present[:-1]:
        with contextlib.suppress(DiagnosticError):  # there is no such machine here
            return resolve_target(family)
    return resolve_target(present[-1])


@functools.cache
def target_on(device: str) -> str:
    """The target of the fastest machine here that takes torch's tensors of a device: `CPU`, `CUDA`.

    DSL0901 where there is none.
    """
    ranked = ((machine_class(f).facts.precedence, f) for f in families())
    for rank, family in sorted(ranked, reverse=True):
        with contextlib.suppress(DiagnosticError):  # there is no such machine here
            if rank and find_machine(family).torch_device() == device:
                return resolve_target(family)
    raise error("DSL0901", f"no machine here takes torch's tensors of {device}")


def resolve_target(name: str) -> str:
    """The full name of a target: of `cuda`, that of the GPU that is there, of `aarch64` of the CPU.

    DSL0840 where there is no GPU, DSL0901 where its kind is not known.
    """
    return name if name not in families() else machine_class(name).present_target() or name


def find_machine(target: str, code: CodeOptions = PLAIN_CODE) -> Machine:
    """The machine of a target.

    DSL09xx for an unknown target, DSL0950 for a target that this version cannot generate code for.
    """
    return machine_of(find_target(resolve_target(target)), code)


def machine_of(target: Target, code: CodeOptions = PLAIN_CODE) -> Machine:
    """The machine of a target that was found."""
    return machine_class(target.name).of(target, code)
