"""K of a product among the warps: the same sums, and only where they are sums."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler import interpreter
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.traverse import walk
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.layouts.assign_layouts import AssignLayouts
from dslc.compiler.passes.layouts.warp_split import accumulations, parts, split_over_warps
from dslc.compiler.targets import find_target

TARGET = find_target("cuda:sm_90a")


def product(body: str, init: str = "i32(0)", handed: str = "%next") -> Kernel:
    kernel = parse_program(
        "kernel k[K](@a: in i8[16, K], @b: in i8[K, 32], @c: out i32[16, 32]) {\n"
        f"  %zero = full {init} : i32[16, 32]\n"
        "  %acc = for k in range(0, K, 128) carry (%sum : i32[16, 32] = %zero) {\n"
        "    %x = load @a[0 : +16, k : +128] : i8[16, 128]\n"
        "    %y = load @b[k : +128, 0 : +32] : i8[128, 32]\n"
        f"    {body}\n"
        f"    yield {handed}\n"
        "  }\n"
        "  store @c[0 : +16, 0 : +32], %acc\n"
        "}\n"
    )
    verify(kernel)
    assert isinstance(kernel, Kernel)
    return kernel


PLAIN = "%next = dot %x, %y, acc=%sum : i32[16, 32]"
TWICE = f"%first = dot %x, %y, acc=%sum : i32[16, 32]\n{PLAIN.replace('%sum', '%first')}"


@pytest.mark.parametrize("body", [PLAIN, TWICE])
@pytest.mark.parametrize("init", ["i32(0)", "i32(7)"])
@pytest.mark.parametrize("k", [0, 100, 256])
@pytest.mark.parametrize("count", [2, 4])
def test_the_sums_are_the_same(body: str, init: str, k: int, count: int) -> None:
    kernel = product(body, init)
    split = split_over_warps(kernel, count)
    verify(split)
    rng = np.random.default_rng(k)
    args = {
        "a": rng.integers(-128, 128, (16, k)).astype(np.int8),
        "b": rng.integers(-128, 128, (k, 32)).astype(np.int8),
    }
    results = []
    for way in (kernel, split):
        results.append(np.zeros((16, 32), np.int32))
        interpreter.run(way, {**args, "c": results[-1]}, interpreter.Options())
    assert (results[0] == results[1]).all()


def test_every_product_gets_an_axis_of_parts() -> None:
    split = split_over_warps(product(TWICE), 4)
    dots = [s for s in walk(split.body) if isinstance(s, ins.Dot)]
    assert [d.out.type.shape for d in dots] == [(4, 16, 32)] * 2
    assert not any(isinstance(s, ins.Binary) for s in walk(split.body)), "the sum began at 0"


@pytest.mark.parametrize(
    ("body", "handed"),
    [
        (f"{PLAIN}\n%twice = add %next, %next : i32[16, 32]", "%twice"),
        (f"{PLAIN}\n%other = neg %next : i32[16, 32]", "%next"),
        ("%part = dot %x, %y : i32[16, 32]\n%next = max %sum, %part : i32[16, 32]", "%next"),
        (PLAIN, "%sum"),
    ],
)
def test_what_is_more_than_a_sum_stays(body: str, handed: str) -> None:
    kernel = product(body, handed=handed)
    assert not accumulations(kernel)
    assert not list(parts(kernel, TARGET, 128))


def test_parts_divide_k_into_atoms() -> None:
    assert list(parts(product(PLAIN), TARGET, 128)) == [4, 2]
    assert list(parts(product(PLAIN), TARGET, 256)) == [4, 2], "eight would leave half an atom"
    assert list(parts(product(PLAIN), TARGET, 32)) == []


def test_a_narrow_tile_is_split_and_each_warp_reads_its_part() -> None:
    kernel = AssignLayouts(TARGET)(product(PLAIN))
    assert isinstance(kernel, Kernel)
    assert kernel.threads == 128
    (dot,) = (s for s in walk(kernel.body) if isinstance(s, ins.Dot))
    assert dot.out.type.shape == (4, 16, 32)
    for operand in (dot.a, dot.b):
        assert operand.type.layout is not None
        assert operand.type.layout.replication == 1
