"""Scalars of floats of 8 bits and fewer: parameters, numbers, elements that are moved one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError

from support.machines import MACHINES, call
from support.oracle.dtypes import DTYPES, DType, cast, decode, encode, is_small

NAMES = [name for name, d in DTYPES.items() if is_small(d) or name == "e8m0"]
COUNT = 11
PROGRAMS = {
    "moved": """
kernel k(x: T[N], z: T[M], y: out T[N]):
    for i in range(0, N):
        y[i] = x[i]
""",
    "chosen": """
kernel k(x: T[N], f: bool, y: out T[N]):
    for n in parallel(range(0, N, 8)):
        y[n : n + 8] = where(f, x[n : n + 8], 4)
""",
    "counted": """
kernel k(x: T[N], y: out T[N]):
    for n in parallel(range(N)):
        y[n] = n * 2 + 1
""",
    "filled": """
kernel k(x: T[N], s: T, y: out T[N]):
    for n in parallel(range(0, N, 4)):
        y[n : n + 4] = full(T, [4], s)
""",
    "outside": """
kernel k(x: T[N], y: out T[N]):
    for n in parallel(range(0, N, 8)):
        y[n : n + 8] = load(x[n + N : n + N + 8], other=2)
""",
    "selected": """
kernel k(x: T[N], s: T, i: i32, y: out T[N]):
    for n in parallel(range(N)):
        a = x[n]
        y[n] = s if i > n else a
""",
    "cast": """
kernel k(x: T[N], s: T, y: out f32[N]):
    for n in parallel(range(0, N, 8)):
        y[n : n + 8] = cast(arange(8) + n, f32) * cast(s, f32)
""",
}


def _codes(values: Any, d: DType) -> Any:
    return encode(cast(np.asarray(values, np.float64), DTYPES["f64"], d), d).astype(np.uint8)


@pytest.mark.parametrize("form", PROGRAMS)
@pytest.mark.parametrize("target", ["interp", *MACHINES])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sampled(47)
def test_they_are_rounded_and_stored_as_elements_are(target: str, name: str, form: str) -> None:
    d = DTYPES[name]
    x = np.resize(np.random.default_rng(1).permutation(1 << d.bits), COUNT).astype(np.uint8)
    x[np.isnan(decode(x, d))] = 0  # which NaN comes back is open
    s = 0.3
    given: dict[str, Any] = {
        "x": x,
        "y": np.zeros(COUNT, np.float32 if form == "cast" else np.uint8),
    }
    given |= {"s": s} if "s: T" in PROGRAMS[form] else {}
    given |= {"f": False} if form == "chosen" else {"i": 4} if form == "selected" else {}
    given |= {"z": np.zeros(3, np.uint8)} if form == "moved" else {}
    number = decode(_codes(s, d), d)
    wanted = {
        "moved": lambda: x,
        "chosen": lambda: _codes([4.0] * COUNT, d),
        "counted": lambda: _codes(np.arange(COUNT) * 2 + 1, d),
        "filled": lambda: _codes([s] * COUNT, d),
        "outside": lambda: _codes([2.0] * COUNT, d),
        "selected": lambda: np.where(np.arange(COUNT) < 4, _codes(s, d), x),
        "cast": lambda: np.arange(COUNT, dtype=np.float32) * number.astype(np.float32),
    }[form]()
    if target.startswith("aie") and "s" in given:  # its scalars are integers, f32 and of 16 bits
        with pytest.raises(DiagnosticError, match="DSL0590"):
            call(target, PROGRAMS[form].replace("T", name), given)
        return
    call(target, PROGRAMS[form].replace("T", name), given)
    np.testing.assert_array_equal(given["y"], wanted)
