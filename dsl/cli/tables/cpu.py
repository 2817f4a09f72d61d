"""What `dslc inspect` says of code for CPUs: the library, what it needs, its hottest loop."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dslc.compilation.specialization import Specialization

_LABEL = re.compile(r"^(\.?L?[\w$.]+):")
_JUMP = re.compile(r"^\s+(?:j\w+|b\.?\w*|cbn?z|tbn?z)\s.*?(\.?L[\w$.]+)\s*$")
# Multiply-adds and dot products of x86-64 and AArch64: what a kernel's inner loop is there for.
_PRODUCT = re.compile(
    r"^\s+(v?f[mn]\w*add\w*|vpdp\w+|vdpbf16ps|vpmadd\w+|fml[as]|[su]dot|\w*mmla|bfdot)\b"
)
_MOST_LINES = 60


def cpu_lines(made: Specialization) -> Iterator[tuple[str, str]]:
    """Labels and texts."""
    library = made.binary("dylib" if sys.platform == "darwin" else "so")
    assert library is not None
    from dslc.cli.tables.table import size_text

    chosen = made.chosen
    kernels = chosen.launch.get("kernels") or [chosen.to_manifest()]
    yield "library", f"{size_text(len(library))}, {', '.join(k['entry'] for k in kernels)}"
    features = sorted({f for k in kernels for f in k["launch"]["features"]})
    yield "needs", ", ".join(features) or "nothing beyond what every such CPU has"
    yield "a thread has", f"{size_text(max(k['launch']['scratch'] for k in kernels))} of scratch"


def hottest_loop(assembly: str) -> str:
    """The innermost loop that does most of the products, else the longest; empty where there is none.

    Loops for edges have as many products among more instructions: the square of their number by that of
    the instructions tells which one it is.
    """
    loops = list(innermost_loops(assembly.splitlines()))
    best = max(loops, key=lambda t: (_products(t) ** 2 / max(1, len(t)), len(t)), default=[])
    products = _products(best)
    if not best:
        return ""
    shown = best if len(best) <= _MOST_LINES else [*best[:_MOST_LINES], "\t..."]
    title = f"the hottest loop: {len(best)} instructions, {products} of them products"
    return "\n".join([title, *(line.expandtabs(4) for line in shown)])


def innermost_loops(lines: list[str]) -> Iterator[list[str]]:
    """The instructions of each loop that has none within: from a label to the jump back to it."""
    labels: dict[str, int] = {}
    for number, line in enumerate(lines):
        if (label := _LABEL.match(line)) is not None:
            labels[label[1]] = number
        elif (jump := _JUMP.match(line)) is not None and jump[1] in labels:
            body = lines[labels[jump[1]] + 1 : number + 1]
            inside = {m[1] for text in body if (m := _LABEL.match(text)) is not None}
            jumps = (m[1] for text in body[:-1] if (m := _JUMP.match(text)) is not None)
            if not any(target in inside for target in jumps):
                yield [
                    t for t in body if t.startswith(("\t", " ")) and not t.strip().startswith(".")
                ]


def _products(lines: list[str]) -> int:
    return sum(_PRODUCT.match(line) is not None for line in lines)
