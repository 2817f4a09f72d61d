"""Kernels of the examples as Tile IR."""

from __future__ import annotations

import functools

from dslc.checker import CheckedModule, NeedsDims, check_module
from dslc.compiler.ir import TileProgram
from dslc.frontend import parse_tile

from calls import EXAMPLES, TABLE


@functools.cache
def module(file: str) -> CheckedModule:
    path = EXAMPLES / f"{file}.tile"
    return check_module(parse_tile(path.read_text(), str(path)))


def elaborated(
    kernel: str, dims: dict[str, int], config: dict[str, int] | None = None
) -> TileProgram:
    """A kernel for a tuning choice, that of the table by default; `dims` gives what must be fixed."""
    file, _, usual, _ = TABLE[kernel]
    template = module(file).templates[kernel]
    chosen = usual if config is None else config
    try:
        return template.elaborate({}, chosen)
    except NeedsDims as e:
        return template.elaborate({d: dims[d] for d in e.dims}, chosen)
