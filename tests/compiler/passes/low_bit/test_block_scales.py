"""Products of small floats with the scales of their blocks."""

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.interpreter import run
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.low_bit.block_scales import BlockScales
from dslc.compiler.targets import find_target

GFX950 = find_target("hip:gfx950")
TEXT = """\
kernel mx[M, N](@a: in f8e4m3[M, 256], @w: in f4e2m1[256, N], @s: in e8m0[8, N], @c: out f32[M, N]) {
  grid m in range(0, M, 16), n in range(0, N, 16)
  %a = load @a[m : +16, 0 : +256] : f8e4m3[16, 256]
  %x = cast %a : bf16[16, 256]
  %w = load @w[0 : +256, n : +16] : f4e2m1[256, 16]
  %v = cast %w : bf16[256, 16]
  %s = load @s[0 : +8, n : +16] : e8m0[8, 16]
  %t = cast %s : bf16[8, 16]
  %r = repeat %t, times=32, axis=0 : bf16[256, 16]
  %y = mul %v, %r : bf16[256, 16]
  %c = dot %x, %y : f32[16, 16]
  store @c[m : +16, n : +16], %c
}
"""
FOUND = """\
  %a = load @a[m : +16, 0 : +256] : f8e4m3[16, 256]
  %w = load @w[0 : +256, n : +16] : f4e2m1[256, 16]
  %s = load @s[0 : +8, n : +16] : e8m0[8, 16]
  %c = dot %a, %w, scale_b=%s : f32[16, 16]
"""


def found(text, target=GFX950):
    kernel = parse_program(text)
    verify(kernel)
    changed = BlockScales(target)(kernel)
    verify(changed)
    return kernel, changed


def test_golden_and_meaning():
    kernel, changed = found(TEXT)
    text = print_program(changed)
    assert FOUND in text
    assert print_program(parse_program(text)) == text
    random = np.random.default_rng(0)
    a, w = random.integers(0, 126, (20, 256), np.uint8), random.integers(0, 16, (256, 17), np.uint8)
    s = random.integers(120, 134, (8, 17), np.uint8)
    results = []
    for k in (kernel, changed):
        c = np.zeros((20, 17), np.float32)
        run(k, {"a": a, "w": w, "s": s, "c": c})
        results.append(c)
    np.testing.assert_array_equal(*results)
    assert np.abs(results[0]).max() > 0


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("scale_b=%s", "scale_a=%s", "DSL0412"),
        ("%s = load @s[0 : +8, n", "%s = load @s[0 : +4, n", "DSL0412"),
    ],
)
def test_scales_fit_their_blocks(old, new, code):
    text = print_program(found(TEXT)[1]).replace(old, new)
    text = text.replace("e8m0[8, 16]", "e8m0[4, 16]") if "+4" in new else text
    with pytest.raises(DiagnosticError) as raised:
        verify(parse_program(text))
    assert raised.value.diagnostics[0].code == code
