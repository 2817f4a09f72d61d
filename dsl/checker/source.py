"""Checking a source as `dslc check` does: every kernel, with samples for what only a call knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from dslc.checker.failure import NeedsDims
from dslc.checker.module import Template, check_module
from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Severity
from dslc.compiler.passes.split import SplitReduction
from dslc.frontend.tile_parser import parse_tile

_SAMPLES = (256, 128, 64, 4096, 32, 16, 8, 4, 2, 1)


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
    found: list[Diagnostic] = []
    for template in module.templates.values():
        if template.loc.file == file:
            found += [d for d in check_template(template) if d not in found]
    return found


def check_template(template: Template) -> list[Diagnostic]:
    """Findings for one kernel or program over its tune choices."""
    found: list[Diagnostic] = []
    for config in _configurations(template):
        for diagnostic in _check(template, config):
            if diagnostic not in found:
                found.append(diagnostic)
        if any(d.severity is Severity.ERROR for d in found):
            break
    return found


def _configurations(template: Template) -> Iterator[Mapping[str, object]]:
    yield {}
    for name, choices in template.tunes.items():
        if name not in template.define:
            yield from ({name: choice} for choice in choices[1:])


def _check(template: Template, config: Mapping[str, object]) -> list[Diagnostic]:
    needed: set[str] = set()
    while True:
        try:
            _compile(template, dict.fromkeys(needed, _SAMPLES[0]), config)
        except NeedsDims as e:
            if set(e.dims) <= needed:
                return list(e.diagnostics)
            needed |= set(e.dims)
        except DiagnosticError as e:
            return _with_samples(template, config, needed, e) if needed else list(e.diagnostics)
        else:
            return [_note(template, dict.fromkeys(needed, _SAMPLES[0]))] if needed else []


def _compile(template: Template, fixed: Mapping[str, int], config: Mapping[str, object]) -> None:
    """Elaborate, and split the loops that ask for it: the one shared pass that may refuse."""
    SplitReduction(atomic=True)(template.elaborate(fixed, config))


def _with_samples(
    template: Template, config: Mapping[str, object], needed: set[str], error: DiagnosticError
) -> list[Diagnostic]:
    """Other samples, since the first may break what the kernel rightly requires of its dims."""
    for sample in _SAMPLES[1:]:
        fixed = dict.fromkeys(needed, sample)
        try:
            _compile(template, fixed, config)
        except DiagnosticError:
            continue
        return [_note(template, fixed), *_doubts(template, needed, error)]
    return list(error.diagnostics)


def _doubts(template: Template, needed: set[str], error: DiagnosticError) -> Iterator[Diagnostic]:
    """Shapes that fit by the size of a sample alone, as a square of rows and their sums does."""
    said = ", ".join(f"{n} = {_SAMPLES[0]}" for n in sorted(needed))
    for d in error.diagnostics:
        if d.code == "DSL0203":
            message = f"with {said}, at {d.loc}: {d.message}"
            yield Diagnostic("DSL0203", message, d.loc, d.hint, severity=Severity.NOTE)


def _note(template: Template, fixed: Mapping[str, int]) -> Diagnostic:
    values = ", ".join(f"{n} = {v}" for n, v in sorted(fixed.items()))
    message = (
        f"{template.name} is made for each {' and '.join(sorted(fixed))}; checked with {values}"
    )
    return Diagnostic("DSL0230", message, template.loc, severity=Severity.NOTE)
