"""Which axis lies along the partitions: the cheapest for a whole kernel."""

from __future__ import annotations

from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.ir.traverse import tile_of, walk
from dslc.compiler.passes.trainium.capacity import sbuf_peak, tile_bytes
from dslc.compiler.passes.trainium.placement import EVERYWHERE, placement_of, rows

from support.nki.trainium import lower

CHAIN = """kernel chain[](@x: in bf16[512, 128], @u: in bf16[512, 64], @v: in bf16[64, 512],
             @y: out bf16[128, 512]) {
  %x = load @x[0 : +512!, 0 : +128!] : bf16[512, 128]
  %t = transpose %x, axes=(1, 0) : bf16[128, 512]
  %u = load @u[0 : +512!, 0 : +64!] : bf16[512, 64]
  %a = dot %t, %u : f32[128, 64]
  %low = cast %a : bf16[128, 64]
  %v = load @v[0 : +64!, 0 : +512!] : bf16[64, 512]
  %b = dot %low, %v : f32[128, 512]
  %c = cast %b : bf16[128, 512]
  store @y[0 : +128!, 0 : +512!], %c
}
"""
NORM = """kernel norm[](@x: in f32[64, 1024], @g: in f32[1024], @y: out f32[64, 1024]) {
  %x = load @x[0 : +64!, 0 : +1024!] : f32[64, 1024]
  %m = reduce max %x, axis=1, keepdims : f32[64, 1]
  %b = broadcast %m : f32[64, 1024]
  %s = sub %x, %b : f32[64, 1024]
  %g = load @g[0 : +1024!] : f32[1024]
  %w = broadcast %g : f32[64, 1024]
  %p = mul %s, %w : f32[64, 1024]
  store @y[0 : +64!, 0 : +1024!], %p
}
"""
COLUMNS = """kernel columns[](@x: in f32[300, 512], @y: out f32[512]) {
  %x = load @x[0 : +300!, 0 : +512!] : f32[300, 512]
  %s = reduce sum %x, axis=0 : f32[512]
  store @y[0 : +512!], %s
}
"""


def places(text: str) -> dict[str, object]:
    kernel = lower(text)
    found = {}
    for stmt in walk(kernel.body):  # type: ignore[union-attr]
        tile = tile_of(stmt)
        if tile is not None:
            assert tile.type.layout is not None
            found.setdefault(tile.name, placement_of(tile.type.layout))
    return found


def test_a_chain_of_products_is_never_transposed() -> None:
    kernel = lower(CHAIN)
    assert isinstance(kernel, Kernel)
    assert not [s for s in walk(kernel.body) if isinstance(s, ins.ConvertLayout)]
    atoms = [s.atom for s in walk(kernel.body) if isinstance(s, ins.Dot)]
    assert atoms == ["nc_matmul.swap", "nc_matmul"]


def test_rows_are_reduced_along_their_partition() -> None:
    found = places(NORM)
    assert found["x"] == rows(0)
    assert found["m"] == rows(0)
    assert found["g"] == EVERYWHERE


def test_columns_are_summed_by_a_product_with_ones() -> None:
    found = places(COLUMNS)
    assert found["x"] == rows(0)
    assert found["s"] == EVERYWHERE


def test_the_text_parses_back() -> None:
    from dslc.compiler.ir.text.parser import parse_program

    for text in (CHAIN, NORM, COLUMNS):
        printed = print_program(lower(text))
        assert print_program(parse_program(printed)) == printed


def test_the_peak_counts_what_lives_at_one_time() -> None:
    kernel = lower(NORM)
    assert isinstance(kernel, Kernel)
    peak = sbuf_peak(kernel)
    # x, g, and the result that is made of them, beside the root of each row.
    assert peak.bytes == 3 * 4096 + 4
    assert {v.name for v in peak.tiles} >= {"g"}
    assert all(tile_bytes(v) <= 4096 for v in peak.tiles)
