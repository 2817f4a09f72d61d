"""Shifts to the right, quotients and remainders by powers of two, of all kinds of signed numbers."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.dtypes import DType, parse_dtype, storage_dtype

from support.nki.trainium import both, source

SIGNED = ("i3", "i8", "i16", "i32")
SHAPE, AT = "[16, 64]", "[0 : +16!, 0 : +64!]"


def dtype_of(name: str) -> DType:
    found = parse_dtype(name)
    assert found is not None
    return found


def held_as(name: str) -> str:
    """Parameters of few bits are packed: these come and go as bytes."""
    return "i8" if dtype_of(name).bits < 8 else name


def numbers(name: str) -> np.ndarray:
    """Of 8 bits all, of others the ends of the range, those around powers of two, and some more."""
    low, high = dtype_of(name).integer_range
    near = [s * 2**n + d for n in range(32) for s in (-1, 1) for d in (-1, 0, 1)]
    rng = np.random.default_rng(5)
    some = [*near, low, low + 1, high, *rng.integers(low, high, 600, endpoint=True)]
    found = [n for n in (range(low, high + 1) if high < 256 else some) if low <= n <= high]
    return np.resize(np.array(found, np.int64), (16, 64)).astype(storage_dtype(dtype_of(name)))


def kernel(name: str, lines: list[str], outs: list[str]) -> str:
    held = held_as(name)
    params = [f"@{p}: in {held}{SHAPE}" for p in "xy"] + [f"@{o}: out {held}{SHAPE}" for o in outs]
    body = []
    for p in "xy":
        body += [f"%{p}_0 = load @{p}{AT} : {held}{SHAPE}", f"%{p} = cast %{p}_0 : {name}{SHAPE}"]
    body += lines
    for o in outs:
        body += [f"%{o}_0 = cast %{o} : {held}{SHAPE}", f"store @{o}{AT}, %{o}_0"]
    return f"kernel k[]({', '.join(params)}) {{\n" + "".join(f"  {x}\n" for x in body) + "}\n"


def check(name: str, lines: list[str], outs: list[str], y: np.ndarray, target: str) -> None:
    kind = storage_dtype(dtype_of(held_as(name)))
    args = {"x": numbers(name), "y": y.astype(kind), **{o: np.zeros((16, 64), kind) for o in outs}}
    wanted, got = both(kernel(name, lines, outs), args, target)
    for o in outs:
        np.testing.assert_array_equal(got[o], wanted[o], err_msg=f"{o} of {name}")


@pytest.mark.parametrize(
    ("name", "target"), zip(SIGNED, ("nki:trn1", "nki:trn3", "nki:trn2", "nki:trn1"), strict=True)
)
def test_by_constants(name: str, target: str) -> None:
    lines, outs = [], []
    bits = dtype_of(name).bits
    for n in range(bits - 1):
        for op, by in (("shr", n), ("floordiv", 1 << n), ("mod", 1 << n)):
            made = f"{op}{n}"
            lines += [
                f"%n_{made} = full {name}({by}) : {name}{SHAPE}",
                f"%{made} = {op} %x, %n_{made} : {name}{SHAPE}",
            ]
            outs.append(made)
    lines += [
        f"%n_last = full {name}({bits - 1 if bits > 3 else 2}) : {name}{SHAPE}",
        f"%last = shr %x, %n_last : {name}{SHAPE}",
    ]
    check(name, lines, [*outs, "last"], numbers(name), target)


@pytest.mark.parametrize("name", SIGNED)
def test_by_numbers_of_their_own(name: str) -> None:
    shift = np.random.default_rng(6).integers(-1, min(dtype_of(name).bits, 3) + 1, (16, 64))
    if name != "i3":
        shift = np.random.default_rng(6).integers(-1, dtype_of(name).bits + 2, (16, 64))
    lines = [f"%z = shr %x, %y : {name}{SHAPE}", f"%u = and %x, %y : {name}{SHAPE}"]
    check(name, lines, ["z", "u"], shift, "nki:trn2")


def test_a_constant_is_shifted_as_well() -> None:
    lines = [
        f"%n = full i32(-1000) : i32{SHAPE}",
        f"%m = full i32(3) : i32{SHAPE}",
        f"%z = shr %n, %y : i32{SHAPE}",
        f"%u = shr %n, %m : i32{SHAPE}",
    ]
    check("i32", lines, ["z", "u"], np.arange(1024).reshape(16, 64) % 32, "nki:trn2")


@pytest.mark.parametrize(("bits", "calls"), [(0, 0), (3, 3), (8, 2), (30, 2)])
def test_a_shift_of_32_bits_takes_few_instructions(bits: int, calls: int) -> None:
    lines = [f"%n = full i32({bits}) : i32{SHAPE}", f"%z = shr %x, %n : i32{SHAPE}"]
    text, _ = source(kernel("i32", lines, ["z"]))
    assert text.count("nisa.tensor_") == calls
