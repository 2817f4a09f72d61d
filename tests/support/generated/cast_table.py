"""Casts of every dtype to every other one, many in a kernel, beside the interpreter's.

for source in SOURCES:
    assert not differences(target, source, codes(source, everything=True))
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from dslc.compiler.dtypes import DType, parse_dtype, storage_dtype
from numpy.typing import NDArray

from support.machines import call

INTEGERS = (
    *(f"{s}{n}" for n in range(1, 9) for s in "iu"),
    "i16",
    "u16",
    "i32",
    "u32",
    "i64",
    "u64",
)
SMALL = (
    "f3e1m1", "f3e2m0", "f4e2m1", "f5e2m2", "f5e3m1", "f6e2m3", "f6e3m2", "f7e3m3", "f8e3m4",
    "f8e4m3", "f8e5m2", "f8e2m5", "e8m0",
)  # fmt: skip
FLOATS = ("f16", "bf16", "f32", "f64")
NAMES = ("bool", *INTEGERS, *SMALL, *FLOATS, "tf32")
TILE = 64


def named(name: str) -> DType:
    """The dtype of a name."""
    found = parse_dtype(name)
    assert found is not None
    return found


def codes(name: str, everything: bool) -> NDArray[np.generic]:
    """Every code of up to 8 bits, and of 16 with `everything`; else the edges and random ones."""
    dtype, storage = named(name), storage_dtype(named(name))
    rng = np.random.default_rng(dtype.bits)
    if dtype.is_integer:
        low, high = dtype.integer_range
        if dtype.bits <= 8 or (everything and dtype.bits == 16):
            return np.arange(low, high + 1).astype(storage)
        near = [s * (1 << b) + d for b in range(dtype.bits) for s in (-1, 1) for d in (-1, 0, 1)]
        # Ties of 8, 11 and 24 digits, and beside them.
        ties = [((1 << p) + d << b) + o
                for p in (8, 11, 24, 53) for b in (1, 7, 20) for d in (1, 2, 3) for o in (-1, 0, 1)
                for d in (d, d + (1 << p - 1))]  # fmt: skip
        ends = [low, low + 1, high - 1, high, 0]
        drawn = [int(x) for x in rng.integers(low, high, 200, dtype=storage)]
        kept = [x for x in (*near, *ties, *(-t for t in ties), *ends, *drawn) if low <= x <= high]
        return np.array(sorted(set(kept)), storage)
    if name == "bool":
        return np.array([False, True])
    if dtype.bits <= 8:
        return np.arange(1 << dtype.bits, dtype=np.uint8).view(storage)
    if dtype.bits == 16:
        every = np.arange(1 << 16, dtype=np.uint16)
        return (every if everything else every[::37]).view(storage)
    return _wide_floats(rng).astype(storage)


def _wide_floats(rng: np.random.Generator) -> NDArray[np.float64]:
    """Powers of two and their neighbours at each width of mantissa, ties, integers' ends, specials."""
    powers = np.exp2(np.arange(-152.0, 130))
    found = [powers]
    for digits in range(1, 12):
        tie = 1 + np.exp2(-digits) + rng.integers(0, 1 << digits) * np.exp2(1 - digits)
        for off in (0.0, 2.0**-30, -(2.0**-30), 2.0**-23, -(2.0**-23)):
            found.append(powers[::3] * (tie + off))
    ends = np.exp2([0, 1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 31, 32, 63, 64])
    for off in (-1, -0.5, 0, 0.5, 1):
        found.append(ends + off)
    drawn = rng.standard_normal(500) * np.exp2(rng.integers(-20, 40, 500))
    both = np.concatenate([*found, drawn])
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, 1e-300]
    return np.concatenate([both, -both, special])


def source_of(name: str, to: Iterable[tuple[str, bool]]) -> str:
    """A kernel that casts a tensor to each dtype, saturating or not."""
    cases = [(f"y_{d}{'_s' if s else ''}", d, ", saturate=True" if s else "") for d, s in to]
    params = ", ".join(f"{y}: out {d}[N]" for y, d, _ in cases)
    lines = "".join(f"        {y}[n : n + {TILE}] = cast(v, {d}{s})\n" for y, d, s in cases)
    return (
        f"kernel k(x: {name}[N], {params}):\n    for n in parallel(range(0, N, {TILE})):\n"
        f"        v = x[n : n + {TILE}]\n{lines}"
    )


def differences(
    target: str, name: str, x: NDArray[np.generic], to: Iterable[tuple[str, bool]]
) -> list[str]:
    """What a machine gives otherwise than the interpreter, a line for each dtype and saturation."""
    pairs = [(d, s) for d, s in to if d != name]
    text = source_of(name, pairs)
    results = []
    for machine in ("interp", target):
        outs = {
            f"y_{d}{'_s' if s else ''}": np.zeros(x.size, storage_dtype(named(d))) for d, s in pairs
        }
        call(machine, text, {"x": x, **outs})
        results.append(outs)
    found = []
    for key, wanted in results[0].items():
        given = results[1][key]
        same = (_bits(given) == _bits(wanted)) | ((given != given) & (wanted != wanted))
        if not same.all():
            k = np.flatnonzero(~same)
            some = [(x[i], given[i], wanted[i]) for i in k[:4]]
            found.append(f"{name} to {key[2:]}: {k.size} of {x.size} differ, as {some}")
    return found


def _bits(x: NDArray[np.generic]) -> NDArray[np.generic]:
    return x.view(f"u{x.dtype.itemsize}")
