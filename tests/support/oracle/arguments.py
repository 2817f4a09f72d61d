"""Arrays for a program's tensors, as a call takes them, and what they hold after it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from support.oracle.dtypes import DTYPES, Array, DType, cast, decode, encode, objects
from support.oracle.tree import Program, Shape, Tensor

_NUMPY = {"f16": "f2", "f32": "f4", "tf32": "f4", "f64": "f8", "bool": "?"}


def storage(d: DType) -> np.dtype[Any]:
    """How NumPy holds an element at a call."""
    if d.name == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    if d.is_integer:
        return np.dtype(f"{'i' if d.kind == 'int' else 'u'}{max(d.bits // 8, 1)}")
    return np.dtype(_NUMPY.get(d.name, "u1"))


def drawn(t: Tensor, shape: Shape, rng: np.random.Generator) -> Array:
    """Random values of a tensor."""
    d = DTYPES[t.dtype]
    if t.draw == "codes":
        codes = np.arange(math.prod(shape), dtype=np.uint64) % np.uint64(1 << d.bits)
        return decode(codes.reshape(shape), d)
    if t.draw == "ids":
        return objects(list(range(math.prod(shape) - 1, -1, -1)), shape)
    if t.draw == "tiny":  # numbers whose products and sums of some 64 are exact in every dtype
        small = rng.integers(-2, 3, shape)
        if d.is_integer:
            return objects([min(max(int(v), d.least), d.greatest) for v in small.ravel()], shape)
        return cast(small.astype(np.float64), DTYPES["f64"], d)
    if d.is_integer:
        count = math.prod(shape)
        words = np.frombuffer(rng.bytes(8 * count), "<u8").tolist()
        some = [word % (1 << d.bits) + d.least for word in words]
        near = rng.integers(-4, 5, count).tolist()
        picks = rng.integers(0, 6, count).tolist()
        ends = (d.least, d.greatest)
        values = [
            min(max(v, d.least), d.greatest) if p < 3 else ends[p % 2] if p == 3 else w
            for v, w, p in zip(near, some, picks, strict=True)
        ]
        return objects(values, shape)
    if d.kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if d.kind == "scale":
        return np.exp2(rng.integers(-3, 4, shape).astype(np.float64))
    if d.bits <= 8:
        return decode(rng.integers(0, 1 << d.bits, shape).astype(np.uint64), d)
    values = rng.integers(-64, 65, shape) / 4.0
    if t.draw == "special":
        odd = rng.choice([math.nan, math.inf, -math.inf, -0.0, 300.0, -16.0], shape)
        values = np.where(rng.random(shape) < 0.15, odd, values)
    return values


def stored(values: Array, d: DType) -> Any:
    """Values as an array of a call, one element a byte or more."""
    codes = encode(values, d)
    if d.is_integer and d.bits < 8:
        return values.astype(storage(d))
    if d.kind == "bool":
        return values.astype(bool)
    target = storage(d)
    wide = np.uint32 if d.name == "tf32" else np.dtype(f"u{target.itemsize}")
    return codes.astype(wide).view(target)


def values_of(array: Any, d: DType) -> Array:
    """The values that such an array holds."""
    if d.is_integer and d.bits < 8:
        return objects([int(v) for v in array.ravel()], array.shape)
    if d.kind == "bool":
        return array.astype(bool)
    return decode(np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}"), d)


def packed(codes: Array, bits: int) -> Any:
    """`packed row`: the bits of each code in order, little-endian, across bytes."""
    flat = codes.reshape(-1, 1).astype(np.uint64) >> np.arange(bits, dtype=np.uint64) & np.uint64(1)
    return np.packbits(flat.astype(np.uint8).ravel(), bitorder="little")


def unpacked(data: Any, bits: int, shape: Shape) -> Array:
    """The codes of such bytes."""
    count = math.prod(shape)
    rows = np.unpackbits(data, bitorder="little")[: count * bits].reshape(count, bits)
    return (rows.astype(np.uint64) << np.arange(bits, dtype=np.uint64)).sum(1).reshape(shape)


def placed(t: Tensor, values: Array) -> Any:
    """The array that the call is given for a tensor."""
    d = DTYPES[t.dtype]
    if t.packed:
        return packed(encode(values, d), d.bits)
    array = stored(values, d)
    if not t.strided:
        return np.ascontiguousarray(array)
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 3), array.dtype)
    view = wide[..., : 2 * array.shape[-1] : 2]
    view[...] = array
    return view


def held(t: Tensor, array: Any, shape: Shape) -> Array:
    """The values in such an array."""
    d = DTYPES[t.dtype]
    return decode(unpacked(array, d.bits, shape), d) if t.packed else values_of(array, d)


def initial(program: Program) -> dict[str, Array]:
    """The values of every tensor before the call."""
    rng = np.random.default_rng(program.seed)
    return {t.name: drawn(t, program.shape(t), rng) for t in program.tensors}
