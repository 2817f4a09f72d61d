"""Every diagnostic code with its title and its explanation: what `dslc explain` shows.

Each range of codes has a file here; a code is the prefix of its range and two digits, and once given
it keeps its meaning.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

from dslc.compiler.diagnostics.catalogue import (
    artifact,
    call,
    checker,
    command,
    files,
    interpreter,
    ir,
    layout,
    passes,
    syntax,
)
from dslc.compiler.diagnostics.suggest import suggest

RANGES: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "DSL00": syntax.ENTRIES,
    "DSL01": syntax.ENTRIES,
    "DSL02": checker.ENTRIES,
    "DSL03": layout.ENTRIES,
    "DSL04": ir.ENTRIES,
    "DSL05": passes.ENTRIES,
    "DSL06": interpreter.ENTRIES,
    "DSL07": call.ENTRIES | files.ENTRIES,
    "DSL08": artifact.ENTRIES,
    "DSL09": command.ENTRIES,
}


def join(
    ranges: Iterable[tuple[str, Mapping[str, tuple[str, str]]]],
) -> dict[str, tuple[str, str]]:
    """One mapping of all ranges' entries; ValueError for a code outside its file's range."""
    ranges = list(ranges)
    joined: dict[str, tuple[str, str]] = {}
    for _, entries in ranges:
        prefixes = tuple(p for p, other in ranges if other is entries)
        for code, entry in entries.items():
            if not code.startswith(prefixes) or len(code) != len("DSL0000"):
                raise ValueError(f"{code} is outside the range {' '.join(prefixes)} of its file")
            if joined.setdefault(code, entry) is not entry:
                raise ValueError(f"{code} is defined twice")
    return dict(sorted(joined.items()))


@functools.cache
def entries() -> Mapping[str, tuple[str, str]]:
    """Every code's title and explanation, in the order of the codes."""
    return join(RANGES.items())


def explain(code: str) -> str | None:
    """The full text on a code, or None where there is no such code; case does not matter."""
    entry = entries().get(code.upper())
    if entry is None:
        return None
    title, explanation = entry
    return f"{code.upper()}: {title}\n\n{explanation.strip()}\n"


def similar_code(code: str) -> str | None:
    """The known code that `code` may have been meant to be."""
    return suggest(code.upper(), entries())
