"""Instructions of matrix units: text, rules, the interpreter against NumPy, the machine."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import decode, encode
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.targets.cpu import processor_by_name
from dslc.compiler.vector.function import Module
from dslc.compiler.vector.interpreter import VectorFault, interpret
from dslc.compiler.vector.matrix_instructions import TILE_ATOMS
from dslc.compiler.vector.text import parse, print_module
from dslc.compiler.vector.verifying import verify

STEPS = 3
SHAPES = "rows=(16, 16, 16, 16, 16, 16, {0}, {0}), row_bytes=(64, 64, 64, 64, {1}, {1}, 64, 64)"


def product(atom: str, words: int) -> Module:
    """c += a @ b of 16 rows and columns, `words` of k a step; b comes in words."""
    size = 4 * words
    return parse(f"""
function product(%a: ptr align 64, %b: ptr align 64, %c: ptr align 64) {{
  tile_configure {SHAPES.format(words, size)}
  tile_load %c[0], 64, tile=0
  for %i in range(0, {STEPS}, 1) {{
    %at = mul %i, {size} : index
    tile_load %a[%at], {STEPS * size}, tile=4
    %bt = mul %i, {64 * words} : index
    tile_load %b[%bt], 64, tile=6
    tile_dot {atom}, sums=0, a=4, b=6
  }}
  tile_store %c[0], 64, tile=0
  tile_zero tile=1
  tile_store %c[1024], 64, tile=1
  tile_release
}}
""")


def operands(atom: str, words: int) -> tuple[Array, Array, Array, Array]:
    """a, b in words, c with room behind it, and what c becomes."""
    unit = TILE_ATOMS[atom]
    rng = np.random.default_rng(words)
    k = STEPS * words * unit.k
    if unit.a.is_float:
        x, y = (np.round(rng.normal(size=s) * 64) for s in ((16, k), (k, 16)))
    else:
        x, y = (
            rng.integers(*d.integer_range, s, endpoint=True)
            for d, s in ((unit.a, (16, k)), (unit.b, (k, 16)))
        )
    start = rng.integers(-1000, 1000, (16, 16))
    a, b, c = encode(x, unit.a), encode(y, unit.b), encode(start, unit.acc)
    wanted = start + decode(a, unit.a).astype(np.float64) @ decode(b, unit.b).astype(np.float64)
    in_words = np.ascontiguousarray(b.reshape(-1, unit.k, 16).transpose(0, 2, 1))
    room = np.concatenate([c.reshape(-1).view(np.uint8), np.full(1024, 7, np.uint8)])
    return a.reshape(-1).view(np.uint8), in_words.reshape(-1).view(np.uint8), room, wanted


@pytest.mark.parametrize("words", [8, 16])
@pytest.mark.parametrize("atom", sorted(TILE_ATOMS))
def test_a_product_is_numpys(atom: str, words: int) -> None:
    module = product(atom, words)
    assert print_module(parse(print_module(module))) == print_module(module)
    verify(module)
    a, b, c, wanted = operands(atom, words)
    assert interpret(module, "product", a, b, c) == 0
    found = c[:1024].view(np.float32 if atom == "tdpbf16ps" else np.int32).reshape(16, 16)
    np.testing.assert_array_equal(found, wanted)
    assert not c[1024:].any()


@pytest.mark.parametrize("words", [8, 16])
@pytest.mark.parametrize("atom", sorted(TILE_ATOMS))
def test_the_machine_gives_the_same(atom: str, words: int) -> None:
    pytest.importorskip("llvmlite")
    from dslc.runtime.native import host_features

    from strategies.native_vector import aligned, run_native

    processor = processor_by_name("cpu:sapphirerapids")
    if not processor.features <= host_features():
        pytest.skip("this CPU has no AMX")
    a, b, c, wanted = operands(atom, words)
    given = [aligned(len(x)) for x in (a, b, c)]
    for x, y in zip(given, (a, b, c), strict=True):
        x[:] = y
    assert run_native(product(atom, words), "product", processor, *given) == 0
    found = given[2][:1024].view(np.float32 if atom == "tdpbf16ps" else np.int32).reshape(16, 16)
    np.testing.assert_array_equal(found, wanted)
    assert not given[2][1024:].any()


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("tile_zero tile=8", "DSL0416", "0 to 7"),
        ("tile_dot tdpbssd, sums=0, a=0, b=1", "DSL0416", "different"),
        ("tile_dot vpdpbusd, sums=0, a=1, b=2", "DSL0416", "no product"),
        ("tile_configure rows=(16, 16), row_bytes=(64, 64)", "DSL0416", "8 tiles"),
        ("tile_load %p[0], i32(64), tile=0", "DSL0413", "stride"),
    ],
)
def test_rules(line: str, code: str, words: str) -> None:
    module = parse(f"function f(%p: ptr align 64) {{\n  {line}\n}}\n")
    with pytest.raises(DiagnosticError, match=words) as failure:
        verify(module)
    assert failure.value.diagnostics[0].code == code


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("tile_zero tile=0", "not configured"),
        (
            f"tile_configure {SHAPES.format(8, 32)}\n  tile_dot tdpbssd, sums=0, a=4, b=1",
            "do not fit",
        ),
        (f"tile_configure {SHAPES.format(16, 64)}\n  tile_load %p[0], 64, tile=0", "outside"),
    ],
)
def test_faults(lines: str, words: str) -> None:
    module = parse(f"function f(%p: ptr align 64) {{\n  {lines}\n}}\n")
    with pytest.raises(VectorFault, match=words):
        interpret(module, "f", np.zeros(64, np.uint8))
