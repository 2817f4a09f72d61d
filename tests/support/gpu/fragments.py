"""Kernels that take a tile through shared memory, by a layout of fragments one way."""

from __future__ import annotations

from dataclasses import replace

from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import parse_layout

from support.building import Builder, at


def staged(
    layout: str, dtype: str, *, memory: str | None = None, first: int = 0, wide: int = 64,
    stores: bool = False,
) -> Kernel:  # fmt: skip
    """y = x by way of shared memory, from a column on; one of both ways through it is `layout`."""
    b = Builder()
    laid = parse_layout(layout)
    x, y = b.tensor("x", dtype, [64, 64]), b.out("y", dtype, [64, 64])
    buffer = b.buffer("s", dtype, [64, wide], layout=parse_layout(memory) if memory else None)
    plain = parse_layout(f"spatial({laid.threads // 4}, 4).local({256 // laid.threads}, 16)")
    into, out = (laid, plain) if stores else (plain, laid)
    region = at(buffer, (0, 64), (first, 64), checked=False)
    b.store(region, b.load(at(x, (0, 64), (0, 64), checked=False), layout=into))
    b.add(ins.Sync())
    b.store(at(y, (0, 64), (0, 64), checked=False), b.load(region, layout=out))
    return replace(b.kernel(), threads=laid.threads)
