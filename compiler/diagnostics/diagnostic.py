"""What an error is: a stable code, a place, a sentence, and where possible the way out."""

from __future__ import annotations

import enum
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loc:
    """A span of source text: lines and columns count from 1, the end column is exclusive."""

    file: str
    line: int
    col: int
    end_line: int = 0
    end_col: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.col}"


class Severity(enum.Enum):
    """How much a diagnostic matters: an error stops the compilation."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Label:
    """A second place that a diagnostic speaks of, with what is to be said there."""

    loc: Loc
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: `code` is stable (`DSL0201`) and `dslc explain CODE` says more."""

    code: str
    message: str
    loc: Loc | None = None
    hint: str | None = None
    labels: tuple[Label, ...] = ()
    severity: Severity = Severity.ERROR
