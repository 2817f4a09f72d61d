from __future__ import annotations

from dslc.frontend import parse_tile, print_module, tree
from hypothesis import given, settings

from support.generated.random_tree import modules
from support.tiers import drawn


@given(modules)
@settings(max_examples=drawn(60))
def test_parsing_what_was_printed_gives_the_tree(module: tree.Module) -> None:
    text = print_module(module)
    parsed = parse_tile(text, "printed")
    assert parsed == module
    assert print_module(parsed) == text


def test_the_canonical_form() -> None:
    text = '''"""About the file."""

from lib.gemm import gemm

const G = 128
const W = u4

def f(x, s=1.0):
    return x * s

kernel k(
    a: f16[M, K],
    w: W[K, N] packed row,
    scales_and_more: f16[K // G, N],
    c: out f16[M, N] strides (sm, 1),
):
    """About the kernel.

    More.
    """
    tune BM = 16 | (32 | 64)
    tune BK
    require K % G == 0

    for m, n in parallel(range(0, M, BM), range(N)):
        if m < 0 or not n:
            pass
        elif m == 1:
            x, y = 1, 2
        else:
            c[m, : : 2, None, ...] += -(a ** 2) ** -b
'''
    assert print_module(parse_tile(text, "canonical")) == text.replace("-(a ** 2)", "-(a ** 2)")
