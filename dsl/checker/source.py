"""Checking a source as `dslc check` does: every kernel, with samples for what only a call knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from dslc.checker.associativity import warned
from dslc.checker.failure import NeedsDims
from dslc.checker.groups import rows_of_one_group
from dslc.checker.module import Template, check_module
from dslc.checker.samples import different, equal
from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Severity
from dslc.compiler.ir import Kernel
from dslc.compiler.passes.tile_scheduling.split_k import SplitReduction
from dslc.frontend.tile_parser import parse_tile

_SHAPES = ("DSL0203", "DSL0213")  # codes of extents that do not agree


def check_source(
    text: str,
    file: str,
    *,
    search: tuple[Path, ...] = (),
    define: Mapping[str, object] | None = None,
) -> list[Diagnostic]:
    """Every finding in a `.tile` source, notes included; no errors means that it compiles.

    Every kernel is elaborated with its default choices, then with each other choice alone, and its
    split loops are divided. Dims that must be fixed are tried with samples.
    """
    try:
        module = check_module(parse_tile(text, file), search=search, define=define)
    except DiagnosticError as e:
        return list(e.diagnostics)
    findings: list[Diagnostic] = []
    if not module.templates:
        text = f"{file} defines no kernel: what it holds is checked where it is imported and used"
        hint = "a kernel begins with `kernel NAME(PARAMETERS):`"
        findings.append(Diagnostic("DSL0234", text, None, hint, severity=Severity.NOTE))
    for template in module.templates.values():
        if template.loc.file == file:
            findings += [d for d in check_template(template) if d not in findings]
    return findings


def check_template(template: Template) -> list[Diagnostic]:
    """Findings for one kernel or program over its tune choices."""
    findings: list[Diagnostic] = []
    for config in _configurations(template):
        for diagnostic in _check(template, config):
            if diagnostic not in findings:
                findings.append(diagnostic)
        if _is_refused(findings):
            break
    return findings


def _configurations(template: Template) -> Iterator[Mapping[str, object]]:
    """The default choices, then each other one that the requirements leave, with what goes with it."""
    yield {}
    for name, choices in template.tunes.items():
        for choice in choices[1:] if name not in template.define else ():
            settled = {n: v for n, v in template.define.items() if n in template.tunes}
            with suppress(DiagnosticError):
                yield template.choose({}, {**settled, name: choice})


def _check(template: Template, config: Mapping[str, object]) -> list[Diagnostic]:
    """Findings for choices, with samples of the dims that are found to be needed."""
    needed: tuple[str, ...] = ()
    while True:
        try:
            return _sampled(template, config, needed)
        except NeedsDims as e:
            if {*e.dims} <= {*needed}:
                return list(e.diagnostics)
            needed = tuple(d for d in template.dims if d in {*needed, *e.dims})


def _sampled(
    template: Template, config: Mapping[str, object], needed: tuple[str, ...]
) -> list[Diagnostic]:
    """A note of the sizes that a kernel compiles with, or why it compiles with none.

    What compiles only where a dim is equal to a tile's extent or to another dim is wrong: nothing says
    that it is.
    """
    if not needed:
        return _findings(template, config, {})
    first: list[Diagnostic] = []
    for number, fixed in enumerate(different(template, config, needed)):
        findings = _findings(template, config, fixed)
        if not _is_refused(findings):
            return [_note(template, fixed), *findings]
        if number == 1 and findings == first:  # whatever the sizes are
            return first
        first = first or findings
    for fixed in equal(template, config, needed):
        findings = _findings(template, config, fixed)
        if not _is_refused(findings):
            return _coincidence(first, fixed) or [_note(template, fixed), *findings]
    return first or _findings(template, config, dict.fromkeys(needed, 1))


def _findings(
    template: Template, config: Mapping[str, object], fixed: Mapping[str, int]
) -> list[Diagnostic]:
    """Elaborate, and split the loops that ask for it: the one shared pass that may refuse."""
    try:
        with warned() as warnings:
            program = template.elaborate(fixed, config)
        SplitReduction(atomic=True)(program)
    except NeedsDims:
        raise
    except DiagnosticError as e:
        return list(e.diagnostics)
    rows = rows_of_one_group(program) if isinstance(program, Kernel) else ()
    return [*warnings, *rows]


def _is_refused(found: list[Diagnostic]) -> bool:
    return any(d.severity is Severity.ERROR for d in found)


def _coincidence(found: list[Diagnostic], fixed: Mapping[str, int]) -> list[Diagnostic]:
    """Shapes that do not fit for other sizes, with those for which they do."""
    said = ", ".join(f"{n} = {v}" for n, v in fixed.items())
    wanted = " and ".join(f"{n} == {v}" for n, v in fixed.items())
    hint = f"it fits for {said}: where it is meant for these alone, say `require {wanted}`"
    return [replace(d, hint=hint) for d in found if d.code in _SHAPES]


def _note(template: Template, fixed: Mapping[str, int]) -> Diagnostic:
    values = ", ".join(f"{n} = {v}" for n, v in sorted(fixed.items()))
    message = (
        f"{template.name} is made for each {' and '.join(sorted(fixed))}; checked with {values}"
    )
    return Diagnostic("DSL0230", message, template.loc, severity=Severity.NOTE)
