"""What is added to a product is its accumulator, where nothing else reads the product."""

from __future__ import annotations

import meaning
import numpy as np
import pytest
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.products.fuse_accumulation import FuseAccumulation

from support.kernels import every

PARAMS = (
    "@a: in f16[8, 4], @b: in f16[4, 8], @s: in f32[8, 8], @y: out f32[8, 8], @z: out f32[8, 8]"
)
TEXT = (
    f"kernel f[]({PARAMS}) {{"
    + """
  %a = load @a[0 : +8!, 0 : +4!] : f16[8, 4]
  %b = load @b[0 : +4!, 0 : +8!] : f16[4, 8]
  %s = load @s[0 : +8!, 0 : +8!] : f32[8, 8]
  %d = dot %a, %b : f32[8, 8]
  %half = mul %s, %s : f32[8, 8]
  %sum = add SUM : f32[8, 8]
  store @y[0 : +8!, 0 : +8!], %sum
  store @z[0 : +8!, 0 : +8!], OTHER
}
"""
)


@pytest.mark.parametrize(
    ("total", "other", "fused"),
    [
        ("%half, %d", "%half", True),
        ("%d, %half", "%half", True),
        ("%half, %d", "%d", False),
        ("%d, %d", "%half", False),
        ("%half, %s", "%d", False),
    ],
)
def test_a_product_that_one_sum_alone_reads_is_added_to(
    total: str, other: str, fused: bool
) -> None:
    kernel = parse_program(TEXT.replace("SUM", total).replace("OTHER", other))
    assert isinstance(kernel, Kernel)
    after = FuseAccumulation()(kernel)
    assert isinstance(after, Kernel)
    verify(after)
    (dot,) = every(after, ins.Dot)
    assert (dot.acc is not None) == fused
    draw = np.random.default_rng(0)
    args = {m.name: draw.integers(-4, 5, [int(n.value) for n in m.shape]) for m in kernel.tensors}
    dtypes = {"a": np.float16, "b": np.float16}
    args = {n: x.astype(dtypes.get(n, np.float32)) for n, x in args.items()}
    meaning.assert_same_meaning(kernel, after, args)
