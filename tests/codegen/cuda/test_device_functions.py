"""The device functions that kernels get, run on the host: casts of every float, arithmetic on pairs,
products of a warp."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from dslc.codegen.c_family.products.matrix import name_of
from dslc.codegen.c_family.registers import decode as decoded
from dslc.codegen.c_family.registers import encode as encoded
from dslc.codegen.cuda.prelude import functions, used
from dslc.compiler.dtypes import DType, all_dtypes, decode, encode, parse_dtype, storage_dtype
from dslc.compiler.targets import find_target
from dslc.runtime.cuda_emulator import compiler, emulate
from dslc.runtime.cuda_emulator.translating import assembly, instructions, mnemonics

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")
SHORT = [d for d in all_dtypes() if d.is_float and d.bits <= 16]
ATOMS = {
    name_of(atom, a, b): (atom, a, b)
    for atom in find_target("cuda:sm_90a").atoms
    if atom.b is not None and atom.threads == 32
    for a, b, _ in atom.types
}


def run(params: str, body: str, *args: np.ndarray, count: int, threads: int = 128) -> None:
    """Run a body for each i below `count`."""
    text = (
        f"#define DEVICE static __device__ __forceinline__\n\n{used(body)}\n\n"
        f'extern "C" __global__ void k({params}) {{\n'
        f"  for (int i = threadIdx.x; i < {count}; i += {threads}) {{\n{body}\n}}\n}}\n"
    )
    emulate(text, "k", args, 1, threads)


def test_every_instruction_of_the_device_functions_has_a_host_version() -> None:
    wanted = {
        name
        for code in functions().values()
        for _, _, template, _ in assembly(code)
        for name in mnemonics(template)
    }
    assert wanted  # the text has inline PTX at all
    assert wanted <= instructions()


def stored(codes: np.ndarray, dtype: DType) -> np.ndarray:
    """Codes as a storage array."""
    return codes.astype(np.uint16 if dtype.bits == 16 else np.uint8).view(storage_dtype(dtype))


def floats() -> np.ndarray:
    """Random bit patterns, and what every short format rounds."""
    random = np.random.default_rng(0).integers(0, 1 << 32, 20_000, np.uint64).astype(np.uint32)
    found = [random.view(np.float32), np.array([0.0, -0.0, np.inf, -np.inf, np.nan], np.float32)]
    for dtype in SHORT:
        codes = np.arange(0, 1 << dtype.bits, 7 if dtype.bits == 16 else 1)
        with np.errstate(all="ignore"):
            values = decode(stored(codes, dtype), dtype).astype(np.float64)
        values = np.sort(values[np.isfinite(values)])
        middle = (values[1:] + values[:-1]) / 2
        for x in (values, middle, values * (1 + 2.0**-20)):
            with np.errstate(all="ignore"):
                found.append(x.astype(np.float32))
    return np.concatenate(found)


@pytest.mark.parametrize("dtype", SHORT, ids=str)
def test_decoding_is_the_values_of_the_codes(dtype: DType) -> None:
    codes = np.arange(1 << dtype.bits, dtype=np.uint32)
    y = np.zeros(len(codes), np.float32)
    run("const unsigned* x, float* y", f"y[i] = {decoded('x[i]', dtype)};", codes, y, count=len(y))
    wanted = decode(stored(codes, dtype), dtype)
    np.testing.assert_array_equal(y, wanted.astype(np.float32))


@pytest.mark.parametrize("dtype", SHORT, ids=str)
def test_encoding_rounds_as_the_language_does(dtype: DType) -> None:
    x = floats()
    y = np.zeros(len(x), np.uint32)
    run("const float* x, unsigned* y", f"y[i] = {encoded('x[i]', dtype)};", x, y, count=len(x))
    wanted = encode(x, dtype)
    number = decode(wanted, dtype).astype(np.float32)
    got = stored(y, dtype)
    np.testing.assert_array_equal(decode(got, dtype).astype(np.float32), number)
    kept = ~np.isnan(number)  # which NaN it is, is free
    np.testing.assert_array_equal(
        got.view(np.uint8).reshape(len(x), -1)[kept],
        wanted.view(np.uint8).reshape(len(x), -1)[kept],
    )


@pytest.mark.parametrize("name", ["f16", "bf16"])
@pytest.mark.parametrize("op", ["add", "sub", "mul", "fma"])
def test_pairs_round_each_operation_once(name: str, op: str) -> None:
    dtype = parse_dtype(name)
    assert dtype is not None
    rng = np.random.default_rng(1)
    a, b, c = (rng.integers(0, 1 << 16, 4000).astype(np.uint16) for _ in range(3))
    for x in (a, b, c):  # every other number about 1, so that operands overlap
        x[::2] = encode(rng.normal(size=2000).astype(np.float32), dtype).view(np.uint16)
    y = np.zeros(2000, np.uint32)
    given = "a[i], b[i], c[i]" if op == "fma" else "a[i], b[i]"
    run(
        "const unsigned* a, const unsigned* b, const unsigned* c, unsigned* y",
        f"y[i] = {op}_{name}x2({given});",
        *(x.view(np.uint32) for x in (a, b, c)),
        y,
        count=len(y),
    )
    with np.errstate(all="ignore"):
        values = [decode(stored(x, dtype), dtype).astype(np.float64) for x in (a, b, c)]
    rounded = np.array([to_odd(op, *map(float, x)) for x in zip(*values, strict=True)])
    with np.errstate(all="ignore"):
        wanted = decode(encode(rounded, dtype), dtype)
    np.testing.assert_array_equal(decode(y.view(storage_dtype(dtype)), dtype), wanted)


def to_odd(op: str, a: float, b: float, c: float) -> float:
    """The exact result in 53 bits, the last of them 1 where it is not exact: no rounding is doubled."""
    if not np.isfinite([a, b, c]).all():
        with np.errstate(all="ignore"):
            p, q, r = map(np.float64, (a, b, c))
            return float({"add": p + q, "sub": p - q, "mul": p * q, "fma": p * q + r}[op])
    x, y, z = map(Fraction, (a, b, c))
    exact = {"add": x + y, "sub": x - y, "mul": x * y, "fma": x * y + z}[op]
    near = float(exact)
    if not exact:  # the sign of zero
        return {"add": a + b, "sub": a - b, "mul": a * b, "fma": a * b + c}[op]
    if Fraction(near) == exact or np.float64(near).view(np.int64) & 1:
        return near
    return float(np.nextafter(near, np.inf if exact > Fraction(near) else -np.inf))


@pytest.mark.parametrize("name", ATOMS)
def test_a_product_is_the_product_of_its_fragments(name: str) -> None:
    atom, *names = ATOMS[name]
    left, right = (parse_dtype(n) for n in names)
    assert left is not None
    assert right is not None
    assert atom.a is not None
    assert atom.b is not None
    rng = np.random.default_rng(2)
    packed, values = [], []
    for dtype, layout in ((left, atom.a), (right, atom.b)):
        table = layout.table()  # [lanes, locals, 2]
        matrix = _random(rng, dtype, layout.shape)
        codes = matrix[table[..., 0], table[..., 1]]
        packed.append(_registers(codes, dtype))
        values.append(decode(matrix, dtype).astype(np.float64))
    wide = atom.c.locals
    out = {"f32": np.float32, "i32": np.int32, "f64": np.float64}[atom.types[0][2]]
    start = rng.integers(-9, 9, (atom.m, atom.n)).astype(out)
    table = atom.c.table()
    d = np.ascontiguousarray(start[table[..., 0], table[..., 1]])
    names_in_c = {"float32": "float", "int32": "int", "float64": "double", "uint32": "unsigned"}
    types = [names_in_c[x.dtype.name] for x in (d, *packed)]
    call = f"{name}(d + {wide} * i, a + {packed[0].shape[1]} * i, b + {packed[1].shape[1]} * i);"
    run(f"{types[0]}* d, const {types[1]}* a, const {types[2]}* b", call, d, *packed,
        count=32, threads=32)  # fmt: skip
    wanted = values[0] @ values[1] + start
    np.testing.assert_allclose(d, wanted[table[..., 0], table[..., 1]], rtol=1e-6)


def _random(rng: np.random.Generator, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    if dtype.is_float:
        return encode(rng.normal(size=shape).astype(np.float32), dtype)
    low, high = dtype.integer_range
    return rng.integers(low, high + 1, shape).astype(storage_dtype(dtype))


def _registers(codes: np.ndarray, dtype: DType) -> np.ndarray:
    """The registers of each lane: [lanes, registers]."""
    if dtype.name in ("tf32", "f64"):
        return np.ascontiguousarray(codes)
    per = 32 // dtype.bits
    raw = codes.view(np.uint16 if dtype.bits == 16 else np.uint8).astype(np.uint32)
    raw = (raw & ((1 << dtype.bits) - 1)).reshape(32, -1, per)
    return np.ascontiguousarray(
        (raw << (np.arange(per) * dtype.bits).astype(np.uint32)).sum(-1, dtype=np.uint32)
    )
