"""Products as Tile IR, for tests of matrix units: any dtype, either operand transposed."""

from __future__ import annotations

from dataclasses import replace

from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import Kernel, Requirement
from dslc.compiler.ir.expr import Binary, index

from support.kernels import one

SUMS = {"i8": "i32", "u8": "i32"}


def product(
    tile: tuple[int, int, int],
    dtype: str = "f16",
    *,
    stages: int | None = None,
    down: bool = False,
    across: bool = False,
    again: int = 0,
) -> Kernel:
    """c = a @ b by tiles (rows, columns, depth), all dims multiples of 16.

    `down` where a is stored as [K, M], `across` where b is stored as [N, K]; with `again` the sum is
    computed so often, in a loop around the loop.
    """
    rows, columns, depth = tile
    total = SUMS.get(dtype, "f32")
    given = dtype if dtype in ("f16", "bf16") else total
    a = f"a[k : k + {depth}, m : m + {rows}]" if down else f"a[m : m + {rows}, k : k + {depth}]"
    b = (
        f"b[n : n + {columns}, k : k + {depth}]"
        if across
        else f"b[k : k + {depth}, n : n + {columns}]"
    )
    turned = ("a" if down else "") + ("b" if across else "")
    option = f', transposed="{turned}"' if turned else ""
    asked = f", stages={stages}" if stages else ""
    inner = f"""acc = zeros({total}, [{rows}, {columns}])
        for k in range(0, K, {depth}{asked}):
            acc += dot({a}, {b}{option})
        """
    body = f"""{inner}c[m : m + {rows}, n : n + {columns}] = cast(acc, {given})"""
    if again:
        deeper = inner.replace("\n", "\n    ")
        body = f"""every = zeros({total}, [{rows}, {columns}])
        for r in range({again}):
            {deeper}every += acc
        c[m : m + {rows}, n : n + {columns}] = cast(every, {given})"""
    text = f"""
kernel product(a: {dtype}[{"K, M" if down else "M, K"}], b: {dtype}[{"N, K" if across else "K, N"}],
               c: out {given}[M, N]):
    for m, n in parallel(range(0, M, {rows}), range(0, N, {columns})):
        {body}
"""
    kernel = one(text)
    known = tuple(
        Requirement(
            Binary("eq", Binary("mod", d, index(16), INDEX), index(0), BOOL), f"{d.name} % 16 == 0"
        )
        for d in kernel.dims
    )
    return replace(kernel, requires=(*kernel.requires, *known))
