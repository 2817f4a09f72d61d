"""Emitted modules in xDSL: they parse, verify and print back; broken ones are refused."""

from __future__ import annotations

import pytest

pytest.importorskip("xdsl")

from dslc.codegen.aie.dialect import parse_module
from xdsl.utils.exceptions import ParseError, VerifyException

from support.npu.kernels import EXAMPLES, case

_ADD = case(EXAMPLES / "vector_add.tile", "vector_add", N=2048).text
_NORM = case(EXAMPLES / "rmsnorm.tile", "rmsnorm", T="bf16", M=8, H=64).text
_GEMM = case(EXAMPLES / "gemm.tile", "gemm", T="bf16", M=64, N=64, K=64, BN=64, BM=64, BK=32).text
_SOFTMAX = case(EXAMPLES / "softmax.tile", "softmax", T="bf16", M=4, N=1024).text


_CASCADE = case(
    """
kernel total(x: f32[8, N], y: out f32[8]):
    for m in parallel(range(0, 8, 8)):
        acc = zeros(f32, [8])
        for n in range(0, N, 16):
            acc += sum(x[m : m + 8, n : n + 16], 1)
        y[m : m + 8] = acc
""",
    "total",
    N=128,
).text
_CODES = case(
    EXAMPLES / "gemm_quantized.tile", "gemm_quantized_zeros", {"BM": 8, "BN": 32, "BK": 32},
    T="bf16", M=8, N=32, K=64,
).text  # fmt: skip


@pytest.mark.parametrize("text", [_ADD, _NORM, _GEMM, _SOFTMAX, _CODES, _CASCADE])
def test_modules_print_as_they_parse(text: str) -> None:
    module = parse_module(text)
    assert parse_module(str(module)).is_structurally_equivalent(module)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("aie.device(npu2)", "aie.device(npu9)", "no device"),
        ("aie.tile(0, 2)", "aie.tile(0, 7)", "no tile"),
        ("aie.tile(0, 2)", "aie.tile(0, 1)", "only a compute tile"),
        ("{%core_0_2}, 2 : i32", "{%core_0_2}, 0 : i32", "has consumers and objects"),
        ("acquire @x_0(Consume, 1)", "acquire @w_0(Consume, 1)", "no FIFO @w_0"),
        ("acquire @x_0(Consume, 1)", "acquire @x_0(Produce, 1)", "not at this end"),
        ("acquire @x_0(Consume, 1)", "acquire @x_0(Consume, 3)", "which has 2"),
        ("%taken[0]", "%taken[1]", "was not acquired"),
        ("id = 0 : i64", "id = 16 : i64", "no descriptor 16"),
        ("[1, 1, 1, 1024]", "[1, 1, 3, 1024]", "element"),
        ("metadata = @x_0", "metadata = @q", "does not end in a shim"),
        ("symbol = @x_0", "symbol = @q", "does not end in a shim"),
    ],
)
def test_broken_modules_are_refused(old: str, new: str, message: str) -> None:
    text = _ADD.replace("[1, 1, 3, 1024][0, 0, 0, 1]", "[1, 1, 3, 1024][0, 0, 2048, 1]")
    assert old in text
    broken = text.replace(old, new, 1)
    if new.startswith("[1, 1, 3"):
        broken = broken.replace(f"{new}[0, 0, 0, 1]", f"{new}[0, 0, 2048, 1]", 1)
    with pytest.raises((VerifyException, ParseError), match=message):
        parse_module(broken)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("get_cascade() : vector<16xf32>", "get_cascade() : vector<8xf32>", "512 bits|type"),
        (
            "cascade_flow(%core_0_3, %core_0_2)",
            "cascade_flow(%core_0_2, %core_0_3)",
            "south or east",
        ),
        ("aie.cascade_flow(%core_0_3, %core_0_2)", "", "no cascade begins"),
    ],
)
def test_broken_cascades_are_refused(old: str, new: str, message: str) -> None:
    assert old in _CASCADE
    with pytest.raises((VerifyException, ParseError), match=message):
        parse_module(_CASCADE.replace(old, new, 1))


def test_a_product_of_shapes_that_do_not_fit_is_refused() -> None:
    broken = _GEMM.replace("into vector<8x8xf32>", "into vector<8x4xf32>")
    with pytest.raises((VerifyException, ParseError)):
        parse_module(broken)
