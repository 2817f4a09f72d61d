"""Where a node of the IR comes from: a field that every statement has and that says nothing else."""

from __future__ import annotations

from dataclasses import field

from dslc.compiler.diagnostics import Loc


def loc_field() -> Loc | None:
    """The field of a dataclass: by keyword, unknown by default, not shown."""
    return field(default=None, kw_only=True, repr=False)
