"""What a build for a target would refuse, found without the target's toolchain.

A kernel takes the way of a build up to the text that a compiler or assembler would get: its choices,
the passes, the generator. What is refused there is refused by a build: tiles that registers do not
hold, layouts that cannot be, operations without code.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dslc.checker import NeedsDims
from dslc.checker.samples import different
from dslc.compiler.diagnostics import Diagnostic, DiagnosticError
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import Target

if TYPE_CHECKING:
    from dslc.compilation.templates import TemplateOrigin

_SAMPLES = 3  # of sizes that nothing fixes, before a kernel counts as refused


def refusals(origin: TemplateOrigin) -> list[Diagnostic]:
    """What a build of the kernel for its origin's target says; nothing where it would make it.

    Sizes that must be known and are not are sampled: a kernel is refused that compiles with no sample.
    """
    machine = origin.machine
    first: list[Diagnostic] = []
    for sizes in _sizes(origin):
        try:
            chosen = origin.chosen(origin.fixed, sizes.get)
            dims = {**chosen.fixed_dims, **origin.fixed}
            elaborated = origin.elaborated(dims, chosen.config, sizes.get)
            machine.draft(run_passes(elaborated.program, machine.passes(elaborated.schedule)))
        except DiagnosticError as refused:
            first = first or [_for(machine.target, d) for d in refused.diagnostics]
            continue
        return []
    return first


def _sizes(origin: TemplateOrigin) -> Iterator[Mapping[str, int]]:
    """None where none are needed, else samples."""
    target, template = origin.machine.target, origin.template
    missing = [d for d in template.dims if d not in origin.fixed]
    needed = missing if target.static else []
    if not needed:
        try:
            template.elaborate(origin.fixed)
        except NeedsDims:
            needed = missing
        except DiagnosticError:
            pass  # the way to the target says so
    if not needed:
        yield {}
        return
    yield from itertools.islice(different(template, {}, needed), _SAMPLES)


def _for(target: Target, found: Diagnostic) -> Diagnostic:
    return dataclasses.replace(found, message=f"for {target.name}: {found.message}")
