"""Kernels written as Python functions, in tests: their text, or their errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.frontend import parse_function, parse_tile, print_module


def text_of(fn: object, **options: Any) -> str:
    module = parse_function(fn, **options)
    text = print_module(module)
    assert parse_tile(text, "printed") == module
    return text


def errors(fn: object, **options: Any) -> list[tuple[str, str]]:
    """Code and message of each error; every error has a place."""
    with pytest.raises(DiagnosticError) as caught:
        parse_function(fn, **options)
    assert all(d.loc for d in caught.value.diagnostics)
    return [(d.code, d.message) for d in caught.value.diagnostics]


def defined(folder: Path, text: str) -> object:
    """The function `k` of a file with that text."""
    path = folder / "defined.py"
    path.write_text(text)
    names: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), names)
    return names["k"]


def codes(fn: object, **options: Any) -> list[str]:
    return [code for code, _ in errors(fn, **options)]
