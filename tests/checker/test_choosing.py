"""A requirement takes choices away, on every machine and wherever choices are made."""

from __future__ import annotations

import time

import dslc
import numpy as np
import pytest
from dslc import DiagnosticError
from dslc.checker import check_module, check_source
from dslc.compiler.targets import find_target
from dslc.frontend.tile_parser import parse_tile

HEAD = "kernel k(x: f32[M, N], y: out f32[M, N]):\n"
BODY = """
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        y[m : m + BM, n : n + BN] = x[m : m + BM, n : n + BN] * 2.0
"""
TARGETS = ("interp", "cuda:sm_80", "hip:gfx942", "nki:trn2", "aie:npu2", "aarch64:bf16")


def source(*lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines) + BODY


def chosen(text: str, dims: dict[str, int] | None = None, **config: object) -> dict[str, object]:
    """The choices of all tunes."""
    template = check_module(parse_tile(text, "k.tile")).templates["k"]
    return template.choose(dims or {}, config)


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (("tune BM = 64 | 32", "tune BN = 64 | 128", "require BN % 128 == 0"), (64, 128)),
        (("tune BM = 64 | 32", "tune BN = 64 | 128", "require BN % BM == 0"), (64, 64)),
        (("tune BM = 64 | 32", "tune BN = 48 | 32", "require BN % BM == 0"), (32, 32)),
        (("tune BM = 8 | 4", "const G = 4", "tune BN = 8", "require BM == G"), (4, 8)),
        # What only a call knows takes nothing away.
        (("tune BM = 64 | 32", "tune BN = 64 | 128", "require M % BM == 0"), (64, 64)),
        (("tune BM = 64 | 32", "tune BN = 64", "require M % BM == 0 and BM < 64"), (32, 64)),
    ],
)
def test_the_first_product_that_is_allowed(lines: tuple[str, ...], wanted: tuple[int, int]) -> None:
    assert chosen(source(*lines)) == {"BM": wanted[0], "BN": wanted[1]}
    assert not [d for d in check_source(source(*lines), "k.tile") if d.code == "DSL0217"]


def test_what_is_asked_for_decides_the_rest() -> None:
    text = source("tune BM = 64 | 32", "tune BN = 64 | 32", "require BM == BN")
    assert chosen(text, BN=32) == {"BM": 32, "BN": 32}
    text = source("tune BM = 64 | 32", "tune BN = 64", "require M % BM == 0")
    assert chosen(text, {"M": 96}) == {"BM": 32, "BN": 64}


def test_none_left_says_why_each_fell_out() -> None:
    text = source("tune BM = 64 | 32", "tune BN = 64 | 128", "require BN % 256 == 0")
    (found,) = check_source(text, "k.tile")
    assert (found.code, found.loc.line) == ("DSL0217", 4)
    assert "BN = 64: BN % 256 == 0" in found.hint
    assert "BN = 128: BN % 256 == 0" in found.hint


def test_a_choice_that_is_asked_for_and_forbidden_is_an_error() -> None:
    text = source("tune BM = 64 | 32", "tune BN = 64 | 128", "require BN % 128 == 0")
    with pytest.raises(DiagnosticError, match=r"DSL0217.*BN = 64"):
        dslc.compile(text, define={"BN": 64}, cache=False).k.specialize()


def test_many_choices_that_all_fall_out_end_soon() -> None:
    tunes = [f"tune T{i} = {' | '.join(map(str, range(1, 9)))}" for i in range(20)]
    total = " + ".join(f"T{i}" for i in range(20))
    text = source(*tunes, "const BM = 16", "const BN = 16", f"require {total} > 1000")
    began = time.process_time()
    assert [d.code for d in check_source(text, "k.tile")] == ["DSL0217"]
    assert time.process_time() - began < 10


@pytest.mark.parametrize("target", TARGETS)
def test_every_machine_makes_the_same_of_it(target: str) -> None:
    text = source("tune BM = 32 | 64", "tune BN = 64 | 128", "require BN % 128 == 0")
    kernel = dslc.compile(text, "interp", cache=False).k
    origin = dslc.compile(text, target, define={"M": 256, "N": 256}, cache=False).k.origin
    assert find_target(target).name == origin.machine.target.name
    assert origin.defaults["BN"] == 128
    assert origin.elaborated({}, {}, lambda d: None).choices["BN"] == 128
    x = np.ones((64, 128), np.float32)
    y = np.empty_like(x)
    kernel(x, y)
    assert (y == 2).all()


def test_sizes_of_a_call_decide_too_and_what_they_leave_none_of_is_the_calls() -> None:
    text = source("tune BM = 64 | 32", "tune BN = 64", "require M % BM == 0")
    kernel = dslc.compile(text, "interp", cache=False).k
    x = np.ones((96, 64), np.float32)
    y = np.empty_like(x)
    kernel(x, y)
    assert (y == 2).all()
    with pytest.raises(DiagnosticError, match="M % BM == 0"):
        kernel(x[:90], y[:90])
