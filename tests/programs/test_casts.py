"""Casts at the ends of ranges: what the language says, on every machine."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.dtypes import F32, cast, encode, parse_dtype, storage_dtype

from support.machines import MACHINES, call
from support.oracle.dtypes import DTYPES
from support.oracle.dtypes import cast as oracle_cast

# Past the range of each integer, at its ends, and what is no number.
FLOATS = np.array(
    [0, -0.0, 1.5, -1.5, 127.9, 128, -129, 255.9, 256, -1, 1e10, -1e10, np.inf, -np.inf, np.nan,
     32767.9, -32769, 65535.9, 70000, 2.0**31 - 128, 2.0**31, -(2.0**31), 2.0**32, 1e-40],
    np.float32,
)  # fmt: skip
INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32")
NUMPY = dict(zip(INTEGERS, "bBhHiI", strict=True))


def truncated(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Truncates and clamps; NaN gives 0."""
    ends = np.iinfo(dtype)
    whole = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=1e30, neginf=-1e30))
    return np.clip(whole, ends.min, ends.max).astype(dtype)


@pytest.mark.parametrize("target", MACHINES)
def test_floats_to_integers(target: str) -> None:
    for pair in (INTEGERS[:2], INTEGERS[2:4], INTEGERS[4:]):
        params = ", ".join(f"y_{d}: out {d}[N]" for d in pair)
        lines = "".join(f"        y_{d}[n : n + 8] = cast(v, {d})\n" for d in pair)
        text = (
            f"kernel k(x: f32[N], {params}):\n    for n in parallel(range(0, N, 8)):\n"
            f"        v = x[n : n + 8]\n{lines}"
        )
        outputs = {f"y_{d}": np.zeros(len(FLOATS), NUMPY[d]) for d in pair}
        call(target, text, {"x": FLOATS, **outputs})
        for array in outputs.values():
            np.testing.assert_array_equal(array, truncated(FLOATS, array.dtype))


@pytest.mark.parametrize("target", MACHINES)
def test_flags_and_counters(target: str) -> None:
    """A flag is 0 or 1, which wraps to -1 in one bit; a counter is a float where one is wanted."""
    text = (
        "kernel k(x: f32[N], y: out i8[N], z: out f32[N]):\n"
        "    for n in parallel(range(0, N, 16)):\n"
        "        v = x[n : n + 16]\n"
        "        y[n : n + 16] = cast(cast(v < 0.0, i1), i8)\n"
        "        z[n : n + 16] = v * cast(n // 16 + 1, f32)\n"
    )
    x = np.linspace(-2, 1, 32, dtype=np.float32)
    y, z = np.zeros(32, np.int8), np.zeros(32, np.float32)
    call(target, text, {"x": x, "y": y, "z": z})
    np.testing.assert_array_equal(y, np.where(x < 0, -1, 0))
    np.testing.assert_array_equal(z, x * np.repeat([1, 2], 16).astype(np.float32))


SMALL = ("f8e4m3", "f8e5m2", "f8e3m4", "f6e2m3", "f4e2m1", "f3e1m1", "e8m0", "f16")


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("how", ["", ", saturate=True"])
def test_floats_to_small_floats(target: str, how: str) -> None:
    """Bit by bit: ties, subnormal numbers, what is too large, infinity and NaN."""
    rng = np.random.default_rng(3)
    x = (rng.integers(-70, 70, 256) * np.exp2(rng.integers(-14, 12, 256))).astype(np.float32)
    x[-10:] = [np.inf, -np.inf, np.nan, 464, 465, 1e-45, 2.0**-127, 1e38, -1e38, -0.0]
    npu = target.startswith("aie")  # which writes few tensors in a turn, and has no f16
    for names in [(d,) for d in SMALL if d != "f16"] if npu else [SMALL]:
        params = ", ".join(f"y_{d}: out {d}[N]" for d in names)
        lines = "".join(f"        y_{d}[n : n + 64] = cast(v, {d}{how})\n" for d in names)
        text = (
            f"kernel k(x: f32[N], {params}):\n    for n in parallel(range(0, N, 64)):\n"
            f"        v = x[n : n + 64]\n{lines}"
        )
        dtypes = {f"y_{d}": parse_dtype(d) or F32 for d in names}
        outputs = {n: np.zeros(256, storage_dtype(d)) for n, d in dtypes.items()}
        call(target, text, {"x": x, **outputs})
        for name, dtype in dtypes.items():
            wanted = encode(cast(x, F32, dtype, bool(how)), dtype)
            same = (outputs[name].view(wanted.dtype) == wanted) | (wanted != wanted)
            assert same.all(), (name, x[~same], outputs[name][~same], wanted[~same])


TO_FLOATS = """
kernel narrowed(x: {source}[N], y: out f32[3, N]):
    for n in parallel(range(0, N, 8)):
        part = x[n : n + 8]
        y[0, n : n + 8] = cast(cast(part, bf16), f32)
        y[1, n : n + 8] = cast(cast(part, f16), f32)
        y[2, n : n + 8] = cast(cast(part, f8e7m0), f32)
"""


@pytest.mark.parametrize("source", ["i32", "u32"])
@pytest.mark.parametrize("target", ["interp", *MACHINES])
def test_integers_to_floats_round_once(target: str, source: str) -> None:
    """f32 on the way has not all digits: next to a tie of the smaller float that is a tie there."""
    ties = [
        2**24 + 2**16,
        2**30 + 2**22,
        2**27 + 2**26 + 2**19,
        2**30 + 2**29,
        2**28 + 2**27,
        65520,
    ]
    values = [tie + k for tie in ties for k in (-129, -1, 0, 1, 129)] + [2049, 4099]
    signed = [-v for v in values] if source == "i32" else []
    x = np.array(values + signed, np.int32 if source == "i32" else np.uint32)
    y = np.zeros((3, len(x)), np.float32)
    call(target, TO_FLOATS.format(source=source), {"x": x, "y": y})
    for row, name in enumerate(("bf16", "f16", "f8e7m0")):
        d = DTYPES[name]
        wanted = oracle_cast(x.astype(object), DTYPES[source], d)
        np.testing.assert_array_equal(y[row], wanted, err_msg=name)


TO_TF32 = """
kernel rounded(x: f32[N], y: out tf32[N], z: out tf32[N]):
    for n in parallel(range(0, N, 8)):
        y[n : n + 8] = cast(x[n : n + 8], tf32)
        z[n : n + 8] = cast(x[n : n + 8], tf32, saturate=True)
"""


@pytest.mark.parametrize("target", ["interp", *(t for t in MACHINES if t != "aie:npu2")])
def test_tf32_has_ten_bits(target: str) -> None:
    x = np.array(
        [1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-11 + 2**-20, 3.14159, -3.4e38, np.inf], np.float32
    )
    y, z = np.zeros((2, len(x)), np.float32)
    call(target, TO_TF32, {"x": x, "y": y, "z": z})
    np.testing.assert_array_equal(
        y, oracle_cast(x.astype(np.float64), DTYPES["f32"], DTYPES["tf32"])
    )
    np.testing.assert_array_equal(
        z, oracle_cast(x.astype(np.float64), DTYPES["f32"], DTYPES["tf32"], saturate=True)
    )
