"""Tiles that no thread could hold."""

from __future__ import annotations

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.passes.memory.register_limit import RegisterLimit


def program(locals_: int) -> str:
    n = 32 * locals_
    layout = f"`spatial(32).local({locals_})`"
    return (
        f"kernel k[](@x: in f32[{n}], @y: out f32[{n}]) {{\n  threads(32)\n"
        f"  %t = load @x[0 : +{n}!] : f32[{n}] {layout}\n  store @y[0 : +{n}!], %t\n}}\n"
    )


def test_a_tile_of_several_times_the_registers_is_refused() -> None:
    fitting, huge = parse_program(program(512)), parse_program(program(1024))
    assert RegisterLimit(1020)(fitting) is fitting
    with pytest.raises(DiagnosticError, match=r"DSL0503.*t: f32\[32768\] takes 4096 bytes"):
        RegisterLimit(1020)(huge)
