"""Every matrix instruction of both chips as FlyDSL compiles it."""

from __future__ import annotations

import pytest
from dslc.codegen.c_family.products.matrix import name_of
from dslc.codegen.flydsl.functions import used
from dslc.codegen.flydsl.toolchain import compile_flydsl
from dslc.codegen.hip.compilers import compilers
from dslc.codegen.hip.mfma import SCALED
from dslc.compiler.targets import find_target

HEAD = """import flydsl.compiler as flyc
import flydsl.expr as fx
from flydsl._mlir.dialects import llvm
from flydsl.expr import rocdl

T = fx.T
"""
KERNEL = """@flyc.kernel(name="every", known_block_size=[64, 1, 1])
def every(x: fx.Pointer, y: fx.Pointer):
    x, y = pointer(fx.Uint32, x), pointer(fx.Uint32, y)
    a, b = registers(8, fx.Uint32), registers(8, fx.Uint32)
    af, bf = registers(8, fx.Float32), registers(8, fx.Float32)
    df, di = registers(16, fx.Float32), registers(16, fx.Int32)
    for i in fx.range_constexpr(8):
        a[i], b[i] = x[i], x[i + 8]
        af[i], bf[i] = fx.Float32(fx.Int32(x[i])), fx.Float32(fx.Int32(x[i + 8]))
    clear(df, 16)
    clear(di, 16)
    s = fx.Uint32(x[20])
CALLS
    for i in fx.range_constexpr(16):
        y[i] = fx.Uint32(di[i]) + bits(fx.Uint32, df[i])


@flyc.jit
def launch_every(x: fx.Tensor, y: fx.Tensor, stream: fx.Stream):
    every(x.iter, y.iter).launch(grid=(1, 1, 1), block=(64, 1, 1), stream=stream)
"""


@pytest.mark.skipif(next(compilers(), None) is None, reason="needs a linker for AMD GPUs")
@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
def test_a_call_is_one_instruction(chip: str) -> None:
    pytest.importorskip("flydsl._mlir")
    calls = []
    for atom in find_target(f"hip:{chip}").atoms:
        for a, b, c in atom.types:
            name, d, f = name_of(atom, a, b), "d" + c[0], "f" if a in ("f32", "tf32") else ""
            calls.append(f"    {name}({d}, a{f}, b{f})")
            if atom.scaled:
                calls.append(f"    {name}{SCALED}(1, 2, {d}, a, b, s, s)")
    body = KERNEL.replace("CALLS", "\n".join(calls))
    isa = compile_flydsl(f"{HEAD}\n\n{used(body)}\n\n\n{body}", chip)["every"]
    assert isa.count("\tv_mfma") == len(calls)
