"""Emitted register code run for all lanes at once, without a GPU.

The text of straight unrolled code (declarations, loops with constant bounds, calls) becomes Python over
arrays in which every register is a vector over the threads, so one run is a run of the whole block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

_FOR = re.compile(r"for \(int (\w+) = 0; \w+ < (\d+); \+\+\w+\) \{")
_DECLARE = re.compile(r"(?:const )?(?:unsigned|float|int|double) (\w+)\[(\d+)\](?: = \{(.*)\})?;")
_POINTER = re.compile(r"&(\w+)\[((?:[^\[\]]|\[[^\]]*\])*)\]")


class Pointer:
    """`&x[i]`: the registers of x from i on."""

    def __init__(self, array: Any, at: int = 0) -> None:
        self.array, self.at = array, at

    def __getitem__(self, i: int) -> Any:
        return self.array[self.at + i]

    def __setitem__(self, i: int, x: Any) -> None:
        self.array[self.at + i] = x


def run(text: str, registers: dict[str, Any], functions: Mapping[str, Callable[..., Any]]) -> None:
    """Run emitted text; `registers` maps arrays to [registers, threads] and gets the new ones."""
    names: dict[str, Any] = {"P": Pointer, "zeros": _zeros, **functions}
    names["T"] = next(iter(registers.values())).shape[1]
    names.update(registers)
    exec(_python(text), names)
    registers.update({k: v for k, v in names.items() if isinstance(v, np.ndarray)})


def _zeros(count: int, threads: int, values: list[Any] | None = None) -> Any:
    if not values:
        return np.zeros((count, threads), np.uint32)
    return np.stack([np.array(v) for v in values])


def _python(text: str) -> str:
    lines: list[str] = []
    depth = 0
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line.startswith(("#pragma", "//")):
            continue
        if line == "}":
            depth -= 1
            continue
        if match := _FOR.match(line):
            lines.append("  " * depth + f"for {match[1]} in range({match[2]}):")
            depth += 1
            continue
        if line == "{":
            lines.append("  " * depth + "if True:")
            depth += 1
            continue
        if match := _DECLARE.fullmatch(line):
            values = f", [{match[3]}]" if match[3] else ""
            line = f"{match[1]} = zeros({match[2]}, T{values})"
        line = re.sub(r"\bconst (?:unsigned|int|float|auto) (?=\w+ =)", "", line)
        line = _POINTER.sub(r"P(\1, \2)", line)
        line = re.sub(r"(?<!/)/(?!/)", "//", line)
        line = re.sub(r"\b(0x[0-9a-f]+|\d+)u\b", r"\1", line)
        line = re.sub(r"(\w+)<(\d+)>\(", r"\1(\2, ", line)
        lines.append("  " * depth + line.rstrip(";").replace("; ", "\n" + "  " * depth))
    return "\n".join(lines)
