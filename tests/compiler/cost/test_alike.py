"""Where all turns of a grid are alike, one is looked at: the same prediction with less work."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from dslc.compiler.cost import predict
from dslc.compiler.cost.alike import are_turns_alike
from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.targets import find_target

H200 = find_target("cuda:sm_90a")
SIZES = {"M": 16, "K": 8192, "N": 8192}

BODY = """
kernel k[M](@x: in f32[M, 64], @y: out f32[M, 64]) {{
  grid m in range(0, M, 64)
  let first: index = m + 1
  {head} {{
    %x = load @x[m : +64, 0 : +64] : f32[64, 64]
    store @y[m : +64, 0 : +64], %x
  }}
}}
"""
CARRIED = """last: index = for j in range(0, M, 64) carry (n: index = {}) {{
    yield n + 1
  }}
  for k in range(0, last, 64)"""


@pytest.mark.parametrize(
    ("head", "alike"),
    [
        ("for k in range(0, M, 64)", True),
        ("for k in range(0, m, 64)", False),
        ("for k in range(first, M, 64)", False),
        ("if M > 64", True),
        ("if first > 64", False),
        (CARRIED.format("0"), True),
        (CARRIED.format("m"), False),
    ],
)
def test_what_decides_must_not_follow_from_the_grid(head: str, alike: bool) -> None:
    kernel = parse_program(BODY.format(head=head), "k.ir")
    assert isinstance(kernel, Kernel)
    assert are_turns_alike(kernel) is alike


def test_one_turn_stands_for_all(
    schedule: Callable[..., TileProgram], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = schedule("gemm_quantized", "gemm_quantized_sums", SIZES)
    assert isinstance(made, Kernel)
    assert are_turns_alike(made)
    found = predict(made, H200, SIZES)
    monkeypatch.setattr("dslc.compiler.cost.model.are_turns_alike", lambda _: False)
    assert predict(made, H200, SIZES).seconds == pytest.approx(found.seconds, rel=1e-9)


def test_blocks_that_take_turn_after_turn_are_not_alike(
    schedule: Callable[..., TileProgram],
) -> None:
    sizes = {"M": 256, "K": 8192, "N": 8192}
    choices = {"BM": 128, "BN": 128, "BK": 64}
    made = schedule("gemm", "gemm", sizes, choices)
    assert isinstance(made, Kernel)
    assert not are_turns_alike(made)
