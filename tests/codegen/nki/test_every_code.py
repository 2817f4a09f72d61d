"""Every code of every type of at most 8 bits, cast to every other type: the interpreter's bits."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.dtypes import INDEX, DType, all_dtypes, decode, parse_dtype, storage_dtype

from support.nki.trainium import both

NARROW = tuple(d for d in all_dtypes() if d.bits <= 8)
TO = tuple(d for d in all_dtypes() if d.bits <= 32 and d != INDEX)
SAMPLE = ("f8e5m2", "f6e3m2", "i3", "bool")


def given_as(dtype: DType) -> str:
    """The type of the parameter: numbers of few bits would be packed there."""
    return "f32" if dtype.is_float and dtype.bits < 8 else bytes_of(dtype)


def bytes_of(dtype: DType) -> str:
    """The type in which a tile goes."""
    if dtype.is_integer and dtype.bits < 8:
        return "i8" if dtype.is_signed else "u8"
    return dtype.name


def codes(dtype: DType) -> np.ndarray:
    """All of them, those of few bits again and again."""
    every = np.arange(256, dtype=np.int64)
    if dtype.is_integer:
        low, high = dtype.integer_range
        return (every % (high - low + 1) + low).astype(np.int8 if dtype.is_signed else np.uint8)
    if dtype.name == "bool":
        return (every % 2).astype(np.bool_)
    found = (every % (1 << dtype.bits)).astype(np.uint8).view(storage_dtype(dtype))
    return decode(found, dtype).astype(np.float32) if dtype.bits < 8 else found


def casts(here: DType) -> tuple[str, dict[str, np.ndarray]]:
    """One kernel of all casts, plain and saturating, and its results' arrays."""
    shape, at = "[4, 64]", "[0 : +4!, 0 : +64!]"
    given = given_as(here)
    params = [f"@x: in {given}{shape}"]
    lines = [
        f"%x_0 = load @x{at} : {given}{shape}",
        f"%x = cast %x_0 : {here}{shape}",
    ]
    outs = {}
    for to in TO:
        there = bytes_of(to)
        for how in ("", ", saturate"):
            name = f"{to}_{'kept' if how else 'plain'}"
            if to.name == "bool" and how:
                continue
            params.append(f"@{name}: out {there}{shape}")
            lines += [
                f"%{name}_0 = cast %x{how} : {to}{shape}",
                f"%{name} = cast %{name}_0 : {there}{shape}",
                f"store @{name}{at}, %{name}",
            ]
            found = parse_dtype(there)
            assert found is not None
            kind = np.bool_ if there == "bool" else storage_dtype(found)
            outs[name] = np.zeros((4, 64), kind)
    body = "".join(f"  {line}\n" for line in lines)
    return f"kernel k[]({', '.join(params)}) {{\n{body}}}\n", outs


def values(found: np.ndarray, dtype: DType) -> np.ndarray:
    """The numbers, and apart from them the signs of those that are any."""
    numbers = np.asarray(found if dtype.name == "bool" else decode(found, dtype), np.float64)
    return np.stack([numbers, np.signbit(numbers) & ~np.isnan(numbers)])


def check(here: DType, target: str) -> None:
    text, outs = casts(here)
    wanted, got = both(text, {"x": codes(here).reshape(4, 64), **outs}, target)
    for name in outs:
        to = parse_dtype(name.partition("_")[0])
        assert to is not None
        a, b = (values(w[name], to) for w in (wanted, got))
        np.testing.assert_array_equal(b, a, err_msg=f"{here} to {name} on {target}")


@pytest.mark.parametrize("name", SAMPLE)
def test_casts_of_all_codes_of_some_types(name: str) -> None:
    here = parse_dtype(name)
    assert here is not None
    check(here, "nki:trn2")


@pytest.mark.deep
@pytest.mark.parametrize("target", ["nki:trn1", "nki:trn2", "nki:trn3"])
@pytest.mark.parametrize("here", NARROW, ids=str)
def test_casts_of_all_codes(here: DType, target: str) -> None:
    check(here, target)
