"""Products in slices along K."""

from dataclasses import replace

import meaning
import numpy as np
import pytest
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.products.k_slices import SliceProducts
from dslc.compiler.targets import find_target

from support.kernels import every

TARGET = find_target("cuda:sm_90a")
A = "column_local(2, {k}).spatial(8, 4).local(1, 2)"
B = "local({k}, 1).column_spatial(4, 8).local(2, 1)"
C = "local(2, 1).spatial(8, 4).local(1, 2)"
TEXT = f"""\
kernel f[](@x: in f16[16, 64], @w: in f16[64, 8], @y: out f32[16, 8]) {{
  threads(32)
  alloc @a: buffer shared f16[16, 64]
  copy_async @a[0 : +16, 0 : +64], @x[0 : +16, 0 : +64]
  commit_group
  wait_group pending=0
  sync
  %a = load @a[0 : +16, 0 : +64] : f16[16, 64] `{A.format(k=8)}`
  %w = load @w[0 : +64, 0 : +8] : f16[64, 8] `{B.format(k=8)}`
  %twice = add %w, %w : f16[64, 8] `{B.format(k=8)}`
  %neg = neg %twice : f16[64, 8] `{B.format(k=8)}`
  MORE
  %d = dot %a, %neg, atom="mma.m16n8k16" : f32[16, 8] `{C}`
  store @y[0 : +16, 0 : +8], %d
}}
"""


def sliced(more: str = "", **changes: str) -> tuple[Kernel, Kernel]:
    text = TEXT.replace("  MORE\n", more)
    for old, new in changes.items():
        text = text.replace(old, new)
    before = parse_program(text)
    assert isinstance(before, Kernel)
    after = SliceProducts(TARGET)(before)
    assert isinstance(after, Kernel)
    verify(after)
    rng = np.random.default_rng(0)
    args = {
        "x": rng.integers(-4, 4, (16, 64)).astype(np.float16),
        "w": rng.integers(-4, 4, (64, 8)).astype(np.float16),
        "y": np.zeros((16, 8), np.float32),
    }
    meaning.assert_same_meaning(before, after, args)
    return before, after


def test_a_slice_is_the_atoms_k():
    _, after = sliced()
    dots = every(after, ins.Dot)
    assert [d.a.type.shape for d in dots] == [(16, 16)] * 4
    assert [d.acc for d in dots] == [None, *(d.out for d in dots[:-1])]
    assert len(every(after, ins.Unary)) == 4
    assert len([s for s in every(after, ins.Load) if s.region.memory.name == "a"]) == 4


def test_the_next_slice_is_loaded_before_the_product():
    _, after = sliced()
    order = [
        type(s).__name__
        for s in after.body
        if isinstance(s, ins.Dot) or (isinstance(s, ins.Load) and s.region.memory.name == "a")
    ]
    assert order == ["Load", "Load", "Dot", "Load", "Dot", "Load", "Dot", "Dot"]


def test_what_is_read_elsewhere_is_not_computed_again():
    more = '  %s = reduce sum %neg, axis=0 : f16[8]\n  print "s", %s\n'
    _, after = sliced(more)
    assert len(every(after, ins.Unary)) == 1
    assert len(every(after, ins.Extract)) == 4


@pytest.mark.parametrize(
    "more",
    [
        "  store @a[0 : +16, 0 : +64], %a\n",  # the memory changes before the product
        '  %also = reduce sum %a, axis=1 : f16[16]\n  print "a", %also\n',
    ],
)
def test_operands_that_cannot_be_loaded_again_stay(more):
    before, after = sliced(more)
    assert after is before


def test_products_without_an_atom_or_with_one_slice_stay():
    before, after = sliced(**{', atom="mma.m16n8k16"': ""})
    assert after is before
    program = parse_program(TEXT.replace("  MORE\n", ""))
    unknown = replace(TARGET, atoms=())
    assert SliceProducts(unknown)(program) is program


def test_threads_that_divide_k_have_no_slices():
    split = "spatial(1, 2).column_local(2, 4).spatial(8, 4).local(1, 2)"
    other = "spatial(2, 1).local(4, 1).column_spatial(4, 8).local(2, 1)"
    changes = {A.format(k=8): split, B.format(k=8): other, C: f"replicate(2).{C}"}
    before, after = sliced(**changes, **{"threads(32)": "threads(64)"})
    # A half of K lies in each warp: slices of 16 of the whole do not.
    assert after is before
