"""The two front-ends: `.tile` text and decorated Python, both giving one syntax tree.

The parts are loaded when they are asked for: compiling a file needs nothing of Python's `ast`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dslc.frontend.printer import print_expression, print_item, print_module
    from dslc.frontend.python_parser import parse_function, parse_program_function
    from dslc.frontend.source import read_source
    from dslc.frontend.tile_parser import parse_expression, parse_tile

_PARTS = {
    "parse_expression": "tile_parser",
    "parse_function": "python_parser",
    "parse_program_function": "python_parser",
    "parse_tile": "tile_parser",
    "print_expression": "printer",
    "print_item": "printer",
    "print_module": "printer",
    "read_source": "source",
}

__all__ = [
    "parse_expression",
    "parse_function",
    "parse_program_function",
    "parse_tile",
    "print_expression",
    "print_item",
    "print_module",
    "read_source",
]


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return getattr(importlib.import_module(f"dslc.frontend.{_PARTS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
