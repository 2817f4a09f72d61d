"""Parameters that a call may leave out: a kernel for what is there."""

from __future__ import annotations

from typing import Any

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError

from support.machines import MACHINES, call, require, target_of

SOURCE = """
def biased(v, b, n):
    return v if b is None else v + b[n : n + 32]


kernel linear(x: f32[M, N], bias: f32[N] | None, scale: f32 | None, y: out f32[M, N],
              first: out f32[M] | None):
    for m, n in parallel(range(0, M, 8), range(0, N, 32)):
        v = biased(x[m : m + 8, n : n + 32], bias, n)
        if scale is not None:
            v = v * scale
        y[m : m + 8, n : n + 32] = v
        if first is not None and n == 0:
            first[m : m + 8] = v[:, 0]


program twice(x: f32[M, N], bias: f32[N] | None, y: out f32[M, N]):
    t = buffer(f32, [M, N])
    linear(x, bias, None, t)
    linear(t, scale=2.0, y=y)
"""
PLAIN = """
kernel plain(x: f32[M, N], bias: f32[N], y: out f32[M, N]):
    for m, n in parallel(range(0, M, 8), range(0, N, 32)):
        y[m : m + 8, n : n + 32] = x[m : m + 8, n : n + 32] + bias[n : n + 32]
"""
X = np.arange(12 * 40, dtype=np.float32).reshape(12, 40)
BIAS = np.arange(40, dtype=np.float32)


def compiled(**options: Any) -> Any:
    return dslc.compile(SOURCE, target="interp", cache=False, **options)


@pytest.mark.parametrize("bias", [None, BIAS], ids=["none", "bias"])
@pytest.mark.parametrize("scale", [None, 2.0])
def test_a_call_says_what_is_there(bias: Any, scale: float | None) -> None:
    y, first = np.empty_like(X), np.empty(12, np.float32)
    wanted = (X if bias is None else X + bias) * (1.0 if scale is None else scale)
    kernel = compiled().linear
    kernel(X, bias, scale, y)
    np.testing.assert_array_equal(y, wanted)
    y[:] = 0
    kernel(X, y=y, bias=bias, scale=scale, first=first)
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(first, wanted[:, 0])


@pytest.mark.parametrize("target", MACHINES)
def test_every_machine_has_them(target: str) -> None:
    require(target)
    library = dslc.compile(SOURCE, target=target_of(target), define={"first": None}, cache=False)
    kernel = library.linear.without("scale")
    assert [p.name for p in kernel.parameters] == ["x", "bias", "y"]
    y = np.empty_like(X)
    call(target, PLAIN, {"x": X, "bias": BIAS, "y": y})
    np.testing.assert_array_equal(y, X + BIAS)
    if not target.startswith("cuda"):  # of which the emulator runs sources alone
        z = np.empty_like(X)
        kernel(X, BIAS, z)
        np.testing.assert_array_equal(z, y)
        library.linear(X, None, 0.5, z)
        np.testing.assert_array_equal(z, X * 0.5)


@pytest.mark.parametrize("bias", [None, BIAS], ids=["none", "bias"])
def test_a_program_hands_them_on(bias: Any) -> None:
    y = np.empty_like(X)
    compiled().twice(X, bias, y)
    np.testing.assert_array_equal(y, (X if bias is None else X + bias) * 2)


def test_what_is_absent_has_no_parameters_and_no_dims() -> None:
    text = "kernel k(x: f32[N], w: f32[N, K] | None, y: out f32[N]):\n    y[:] = x[:]\n"
    library = dslc.compile(text, target="interp", cache=False)
    assert library.k.dims == ("N", "K")
    assert library.k.without("w").dims == ("N",)
    assert library.k.without() is library.k.without()
    fixed = dslc.compile(text, target="interp", define={"w": None}, cache=False)
    assert [p.name for p in fixed.k.parameters] == ["x", "y"]
    assert str(library.k.parameters[1]) == "w: f32[N, K] | None"
    with pytest.raises(DiagnosticError, match=r"DSL0755.*x of k is not optional"):
        library.k.without("x")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("y[:] = x[:] + w[0]", "w, which is None here"),
        ("y[:] = w", "w, which is None here"),
        ("y[:] = x[:] if x is 3 else x[:]", "DSL0214"),
    ],
)
def test_any_other_use_of_what_is_absent_says_so(line: str, message: str) -> None:
    text = f"kernel k(x: f32[8], w: f32[8] | None, y: out f32[8]):\n    {line}\n"
    with pytest.raises(DiagnosticError, match=message):
        dslc.compile(text, target="interp", cache=False).k.without("w").specialize()


def test_none_for_what_is_needed_is_refused() -> None:
    with pytest.raises(DiagnosticError, match=r"DSL0760.*argument x"):
        compiled().linear(None, BIAS, 2.0, X.copy())


def test_the_text_of_a_kernel_keeps_them() -> None:
    tile = compiled().linear.tile
    assert "bias: f32[N] | None" in tile
    assert "if scale is not None:" in tile
    assert dslc.compile(tile, target="interp", cache=False).linear.tile == tile


DECORATED = """
from __future__ import annotations
import dslc
from dslc.lang import *

@dslc.kernel
def shifted(x: f32[N], b: f32[N] | None, c: tensor[f32, N] | None, y: out[f32[N]]):
    for n in parallel(range(0, N, 8)):
        v = x[n : n + 8]
        if b is not None:
            v = v + b[n : n + 8]
        y[n : n + 8] = v if c is None else v * c[n : n + 8]
"""


def test_decorated_functions_have_them() -> None:
    names: dict[str, Any] = {}
    text = DECORATED
    exec(text, names)
    y = np.empty(40, np.float32)
    names["shifted"](BIAS, None, BIAS, y)
    np.testing.assert_array_equal(y, BIAS * BIAS)
    names["shifted"](BIAS, BIAS, None, y)
    np.testing.assert_array_equal(y, BIAS + BIAS)


def test_an_operator_of_torch_takes_none() -> None:
    torch = pytest.importorskip("torch")
    text = (
        "kernel plus(x: f32[N], b: f32[N] | None, y: out f32[N]):\n"
        "    for n in parallel(range(0, N, 8)):\n"
        "        v = x[n : n + 8]\n"
        "        y[n : n + 8] = v if b is None else v + b[n : n + 8]\n"
    )
    library = dslc.compile(text, target="interp", cache=False)
    op = dslc.torch_op(library.plus, "optional_plus", functional=True)
    x = torch.arange(20, dtype=torch.float32)
    assert (op(x, None) == x).all()
    assert (op(x, x) == 2 * x).all()
