"""Emitted texts and machine code, with the line of the source that each of their lines is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dslc.compilation.specialization import Specialization
    from dslc.machines.machine import Machine

_MOST = 6000  # lines of a text


def code_of(machine: Machine, made: Specialization) -> list[dict[str, Any]]:
    """Each text: its `name`, its `lines`, how many were left `out`, and `runs`.

    A run is how many lines in a row are for which line of which file; no file where none is known.
    """
    found = []
    for name, lines in machine.placed_code(made).items():
        runs: list[list[Any]] = []
        for _, place in lines[:_MOST]:
            at = list(place) if place else ["", 0]
            if runs and runs[-1][1:] == at:
                runs[-1][0] += 1
            else:
                runs.append([1, *at])
        texts = [text for text, _ in lines[:_MOST]]
        found.append(
            {"name": name, "lines": texts, "out": max(0, len(lines) - _MOST), "runs": runs}
        )
    return found
