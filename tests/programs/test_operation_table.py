"""Elementwise operations of each dtype on CUDA, AMD and Arm machines: as the interpreter's.

Integers, comparisons and what rounds once are equal, at the ends of ranges too; functions are near.
Slices are ragged and begin before the tensor.
"""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.dtypes import storage_dtype
from numpy.typing import NDArray

from support.generated.cast_table import named
from support.machines import call

MACHINES = ("cuda:sm_90a", "hip:gfx950", "aarch64:base")
INTEGERS = ("i1", "u1", "i3", "u4", "u7", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
FLOATS = ("f16", "bf16", "f32", "f64")
EXACT = ("a + b", "a - b", "a * b", "-a", "abs(a)", "minimum(a, b)", "maximum(a, b)",
         "where(a == b, a, b)", "where(a != b, a, b)", "where(a < b, a, b)", "where(a <= b, a, b)",
         "where(a > b, a, b)", "where(a >= b, a, b)", "clamp(a, b, c)")  # fmt: skip
OF_INTEGERS = ("a // c", "a % c", "a & b", "a | b", "a ^ b", "~a", "a << s", "a >> s", "a ** s")
OF_FLOATS = ("a / b", "floor(a)", "ceil(a)", "round(a)", "sqrt(abs(a))", "fma(a, b, c)")
NEAR = ("exp(m)", "exp2(m)", "log(abs(a))", "log2(abs(a))", "sin(m)", "cos(m)", "tanh(m)", "erf(m)",
        "sigmoid(m)", "rsqrt(abs(a) + 1)", "m // c", "m % c", "abs(m) ** s")  # fmt: skip


def drawn(name: str, seed: int, count: int) -> NDArray[np.generic]:
    """Ends of the range, small numbers and others."""
    dtype, storage = named(name), storage_dtype(named(name))
    rng = np.random.default_rng(seed)
    if dtype.is_integer:
        low, high = dtype.integer_range
        ends = [x for x in (low, low + 1, -1, 0, 1, high - 1, high) if low <= x <= high]
        some = rng.integers(low, high, count, dtype=storage, endpoint=True)
        return np.where(rng.random(count) < 0.4, rng.choice(np.array(ends, storage), count), some)
    ends = np.array([0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 3.0, 65504, 1e-7])
    some = rng.standard_normal(count) * 2.0 ** rng.integers(-8, 12, count)
    return np.where(rng.random(count) < 0.4, rng.choice(ends, count), some).astype(storage)


def arguments(name: str) -> dict[str, NDArray[np.generic]]:
    """Operands: any, a divisor (of the least number not -1), a distance, a small number."""
    dtype = named(name)
    shape, count = (7, 45), 7 * 45
    a, b, c = (drawn(name, seed, count) for seed in (1, 2, 3))
    one = np.array(dtype.integer_range[1] if dtype.is_integer else 1, c.dtype) or a[:1] * 0 - 1
    c = np.where((c == 0) | ((c == -1) & (a == a.min())), one, c).astype(c.dtype)
    s = np.random.default_rng(4).integers(0, min(dtype.bits, 4 if dtype.is_float else 64), count)
    m = np.random.default_rng(5).uniform(-8, 8, count) if dtype.is_float else s
    given = {"a": a, "b": b, "c": c, "s": s.astype(c.dtype), "m": m.astype(c.dtype)}
    return {n: x.reshape(shape) for n, x in given.items()}


def source(name: str, operations: list[str]) -> str:
    params = ", ".join(f"in_{n}: {name}[M, N]" for n in "abcsm")
    outs = ", ".join(f"y{k}: out {name}[M, N]" for k in range(len(operations)))
    loads = "".join(f"        {n} = in_{n}[i : i + 4, j : j + 16]\n" for n in "abcsm")
    stores = "".join(
        f"        y{k}[i : i + 4, j : j + 16] = {text}\n" for k, text in enumerate(operations)
    )
    head = f"kernel k({params}, {outs}):\n"
    return f"{head}    for i, j in parallel(range(0, M, 4), range(-3, N, 16)):\n{loads}{stores}"


def differences(target: str, name: str) -> list[str]:
    """The operations that a machine computes otherwise."""
    dtype = named(name)
    exact = [*EXACT, *(OF_FLOATS if dtype.is_float else OF_INTEGERS)]
    if dtype.bits == 1 and dtype.is_signed:
        exact.remove("a // c"), exact.remove("a % c")  # -1 by -1 is not in its range
    near = list(NEAR) if name in FLOATS[:3] else []
    given = arguments(name)
    results = []
    for machine in ("interp", target):
        outs = {f"y{k}": np.zeros_like(given["a"]) for k in range(len(exact + near))}
        call(machine, source(name, exact + near), {f"in_{n}": x for n, x in given.items()} | outs)
        results.append(list(outs.values()))
    found = []
    limit = {"f16": 2e-3, "bf16": 2e-2, "f32": 2e-6}.get(name, 0.0)
    for text, wanted, made in zip(exact + near, *results, strict=True):
        same = (wanted == made) | ((wanted != wanted) & (made != made))
        if text in near:
            with np.errstate(invalid="ignore"):
                error = np.abs(made.astype(np.float64) - wanted.astype(np.float64))
                same |= error <= limit * np.maximum(1, np.abs(wanted.astype(np.float64)))
        if not same.all():
            at = tuple(np.argwhere(~same)[0])
            operands = {n: x[at] for n, x in given.items()}
            count = int((~same).sum())
            found.append(
                f"{name} {text}: {count} differ, {made[at]} not {wanted[at]} of {operands}"
            )
    return found


@pytest.mark.parametrize("name", ["i3", "u8", "i64", "f16", "f32"])
@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.sampled(3)
def test_some_operations(target: str, name: str) -> None:
    assert not differences(target, name)


@pytest.mark.deep
@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
@pytest.mark.parametrize("target", [*MACHINES, "aarch64:bf16", "cpu"])
def test_every_operation(target: str, name: str) -> None:
    assert not differences(target, name)
