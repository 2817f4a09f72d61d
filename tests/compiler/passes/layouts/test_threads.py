"""How many threads a turn has, and which ways of a product keep packed weights whole."""

from __future__ import annotations

from dslc.compiler.ir import Kernel
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.passes.layouts.layout_regions import find_regions
from dslc.compiler.passes.layouts.statement_costs import Prices
from dslc.compiler.passes.layouts.threads import thread_counts
from dslc.compiler.targets import find_target

TARGET = find_target("cuda:sm_90a")
SUM = """
kernel f[K](@x: in f16[16, K], @w: in f16[K, 8], @y: out f32[16, 8]) {
  %zero = full f32(0.0) : f32[16, 8]
  %sum = for k in range(0, K, DEEP) carry (%acc : f32[16, 8] = %zero) {
    %a = load @x[0 : +16, k : +DEEP] : f16[16, DEEP]
    %b = load @w[k : +DEEP, 0 : +8] : f16[DEEP, 8]
    %c = dot %a, %b, acc=%acc : f32[16, 8]
    yield %c
  }
  store @y[0 : +16, 0 : +8], %sum
}
"""
WEIGHTS = """
kernel f[](@v: in u4[32, 64], @w: in u4[64, 128], @y: out f32[32, 128]) {
  %p = load @v[0 : +32!, 0 : +64!] : u4[32, 64]
  %q = load @w[0 : +64!, 0 : +128!] : u4[64, 128]
  %a = cast %p : f16[32, 64]
  %b = cast %q : f16[64, 128]
  %c = dot %a, %b : f32[32, 128]
  store @y[0 : +32, 0 : +128], %c
}
"""


def kernel(text: str) -> Kernel:
    program = parse_program(text)
    assert isinstance(program, Kernel)
    return program


def test_warps_share_a_small_product_along_k() -> None:
    """One instruction's result is summed by as many warps as k has instructions for."""
    warps = {
        deep: thread_counts(kernel(SUM.replace("DEEP", str(deep))), TARGET, None)
        for deep in (16, 32, 64)
    }
    assert warps == {16: [32], 32: [64], 64: [128]}


def test_each_warp_has_whole_fragments_of_both_packed_operands() -> None:
    prices = Prices(find_regions(kernel(WEIGHTS)), TARGET, 128)
    (ways,) = prices.plans.values()
    assert {way.share for way in ways} == {(1, 4), (2, 2)}  # with (4, 1) a warp has 8 rows


CHAIN = """
kernel f[L](@q: in f16[PARTS, 8, 64], @k: in f16[L, 64], @y: out f32[PARTS, 8, 64]) {
  %q = load @q[0 : +PARTS!, 0 : +8!, 0 : +64!] : f16[PARTS, 8, 64]
  %zero = full f32(0.0) : f32[PARTS, 8, 64]
  %sum = for l in range(0, L, ROWS) carry (%acc : f32[PARTS, 8, 64] = %zero) {
    %rows = load @k[l : +ROWS, 0 : +64!] : f16[ROWS, 64]
    %keys = reshape %rows : f16[PARTS, 16, 64]
    %turned = transpose %keys, axes=(0, 2, 1) : f16[PARTS, 64, 16]
    %scores = dot %q, %turned : f32[PARTS, 8, 16]
    %p = cast %scores : f16[PARTS, 8, 16]
    %next = dot %p, %keys, acc=%acc : f32[PARTS, 8, 64]
    yield %next
  }
  store @y[0 : +PARTS!, 0 : +8!, 0 : +64!], %sum
}
"""


def test_products_in_a_chain_have_a_warp_for_each_of_their_parts() -> None:
    """Rows fewer than an atom's are padded, so they are a warp's all the same."""
    warps = [
        thread_counts(
            kernel(CHAIN.replace("PARTS", str(n)).replace("ROWS", str(16 * n))), TARGET, None
        )
        for n in (1, 2, 4)
    ]
    assert warps == [[32], [64], [128]]
