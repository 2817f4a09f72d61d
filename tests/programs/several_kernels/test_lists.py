"""Lists of tensors of one type and unlike lengths, on every machine."""

from __future__ import annotations

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.frontend import parse_tile
from dslc.lang import *  # noqa: F403

from support.kernels import check
from support.machines import MACHINES, call

# ruff: noqa: F405

LENGTHS = (100, 7)
MOMENTUM = """
kernel momentum(ps: inout list[f32[N], COUNT], gs: list[f32[N], COUNT], rate: f32):
    const COUNT = 2
    longest = 0
    for i in static(range(COUNT)):
        longest = max(longest, N[i])
    for n in parallel(range(0, longest, 64)):
        for p, g in zip(ps, gs):
            p[n : n + 64] -= rate * g[n : n + 64]


program twice(ps: inout list[f32[N], 2], g: f32[2, M], rate: f32):
    momentum(ps, [g[0, 0 : dim(ps[0], 0)], g[1, 0 : dim(ps[1], 0)]], rate)
    momentum(gs=[g[1, 0 : dim(ps[0], 0)], g[0, 0 : dim(ps[1], 0)]], ps=ps, rate=rate)
"""
CHOSEN = """
kernel scaled(xs: list[f32[N], 2], ys: out list[f32[N], 2], s: f32[2]):
    longest = max(N[0], N[1])
    for t, n in parallel(range(2), range(0, longest, 64)):
        for i in static(range(2)):
            if t == i:
                ys[i][n : n + 64] = xs[i][n : n + 64] * s[t]
"""


def tensors(seed: int, lengths: tuple[int, ...] = LENGTHS) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(-9, 9, n).astype(np.float32) for n in lengths]


def named(name: str, items: list[np.ndarray]) -> dict[str, np.ndarray]:
    return {f"{name}_{i}": x for i, x in enumerate(items)}


@pytest.mark.parametrize("target", ["interp", *MACHINES])
def test_tensors_of_unlike_lengths(target: str) -> None:
    lengths = (64, 64) if target.startswith("aie") else LENGTHS
    ps, gs = tensors(0, lengths), tensors(1, lengths)
    wanted = [p - 2 * g for p, g in zip(ps, gs, strict=True)]
    args = {**named("ps", ps), **named("gs", gs), "rate": 2.0}
    call(target, MOMENTUM, args, kernel="momentum")
    assert all(map(np.array_equal, ps, wanted))


@pytest.mark.parametrize("target", [m for m in ("interp", *MACHINES) if not m.startswith("aie")])
def test_a_turn_chooses_its_tensor(target: str) -> None:
    xs, ys = tensors(0), [np.zeros(n, np.float32) for n in LENGTHS]
    s = np.array([2, 3], np.float32)
    call(target, CHOSEN, {**named("xs", xs), **named("ys", ys), "s": s})
    assert all(np.array_equal(y, x * k) for x, y, k in zip(xs, ys, s, strict=True))


def test_calls_take_lists() -> None:
    library = dslc.compile(MOMENTUM, target="cpu")
    kernel, gs = library["momentum"], tensors(1)
    wanted = ps = tensors(0)
    wanted = [p.copy() for p in ps]
    for _ in range(3):
        kernel(ps, gs, 2.0)
        kernel(gs=tuple(gs), ps=ps, rate=1.0)
        wanted = [w - 3 * g for w, g in zip(wanted, gs, strict=True)]
        assert all(map(np.array_equal, ps, wanted))
    g = np.zeros((2, 100), np.float32)
    g[0], g[1, :7] = gs[0], gs[1]
    library["twice"](ps, g, 1.0)
    both = [g[0] + g[1], g[1, :7] + g[0, :7]]
    assert all(np.array_equal(p, w - b) for p, w, b in zip(ps, wanted, both, strict=True))


def test_more_tensors_are_another_constant() -> None:
    kernel = dslc.compile(MOMENTUM, target="interp", define={"COUNT": 4})["momentum"]
    ps, gs = tensors(0, (5, 6, 7, 8)), tensors(1, (5, 6, 7, 8))
    wanted = [p - g for p, g in zip(ps, gs, strict=True)]
    kernel(ps, gs, 1.0)
    assert all(map(np.array_equal, ps, wanted))


@pytest.mark.parametrize(("ps", "gs"), [((5,), (5, 5)), ((5, 6), (5, 6, 7))])
def test_a_list_of_another_length_is_refused(ps: tuple[int, ...], gs: tuple[int, ...]) -> None:
    kernel = dslc.compile(MOMENTUM, target="interp")["momentum"]
    with pytest.raises(DiagnosticError, match="is a list of 2 tensors, not of"):
        kernel(tensors(0, ps), tensors(0, gs), 1.0)
    with pytest.raises(DiagnosticError, match="is a list of 2 tensors, not of"):
        kernel(gs=tensors(0, gs), ps=tensors(0, ps), rate=1.0)


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ("xs: list[f32, 2]", "DSL0238"),
        ("xs: list[f32[N], 65]", "DSL0238"),
        ("xs: list[f32[N], 2] | None", "DSL0238"),
        ("xs: list[f32[N], M]", "DSL0201"),
        ("xs: list[f32[N], 2], xs_1: f32[N]", "DSL0216"),
        ("xs: list[f32[N], 2], zs: list[f32[N], 3]", "DSL0203"),
    ],
)
def test_what_is_no_list(params: str, code: str) -> None:
    with pytest.raises(DiagnosticError) as e:
        check(f"kernel k({params}, y: out f32[4]):\n    y[0:4] = 0.0\n").templates["k"].elaborate(
            {}
        )
    assert e.value.diagnostics[0].code == code


def test_a_counter_of_the_machine_chooses_none() -> None:
    text = CHOSEN.replace("ys[i][n", "ys[t][n")
    with pytest.raises(DiagnosticError, match=r"if t == i") as e:
        check(text).templates["scaled"].elaborate({})
    assert e.value.diagnostics[0].code == "DSL0238"


def test_a_dim_of_another_tensor_is_one_for_all() -> None:
    text = "kernel k(xs: list[f32[N, K], 2], y: out f32[K]):\n    y[0:4] = xs[1][0, 0:4]\n"
    assert check(text).templates["k"].dims == ("N_0", "K", "N_1")
    assert parse_tile(text, "k.tile").items[0].params[0].name == "xs"


@dslc.kernel(target="interp")
def total(xs: list[f32[N], 3], y: out[f32[M]]):
    for m in parallel(range(0, M, 16)):
        acc = zeros(f32, [16])
        for x in xs:
            acc += x[m : m + 16]
        y[m : m + 16] = acc


def test_decorated_kernels_have_them_too() -> None:
    xs, y = tensors(0, (20, 20, 5)), np.zeros(20, np.float32)
    total(xs, y)
    assert np.array_equal(y, xs[0] + xs[1] + np.pad(xs[2], (0, 15)))
