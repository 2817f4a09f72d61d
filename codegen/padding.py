"""Padding within a slice (`+512 limit 511`), which passes of GPUs make: other machines lack it."""

from __future__ import annotations

from dslc.compiler.diagnostics import error
from dslc.compiler.ir import TileProgram
from dslc.compiler.ir.rewrite import kernels
from dslc.compiler.ir.traverse import regions, walk


def refuse_padding(program: TileProgram) -> None:
    """DSL0590 for the first slice that ends before its size: a generator that reads on is wrong."""
    for kernel in kernels(program):
        for stmt in walk(kernel.body):
            for region in regions(stmt):
                if any(axis.limit is not None for axis in region.axes):
                    text = f"the generator has no limit within a slice of {region.memory.name}"
                    hint = "write the slice with the size that it has"
                    raise error("DSL0590", text, stmt.loc, hint=hint)
