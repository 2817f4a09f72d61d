"""Random functions of Vector IR: every instruction between registers, every dtype, loops and branches.

A function reads `src`, writes each value that it has to `dst`, and promises nothing that does not hold.
What no rule defines, the sign of a NaN and of a 0 that min or max chose, does not get into the results.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from dslc.compiler.dtypes import BOOL, INDEX, DType, all_dtypes, decode, storage_dtype
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.vector.atoms import ATOMS
from dslc.compiler.vector.building import Builder, constant
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.function import Function
from dslc.compiler.vector.types import VectorType, memory_bytes
from dslc.compiler.vector.values import Operand

LANES = (None, 1, 2, 3, 4, 7, 8, 16, 17, 32, 64)
SOURCE_BYTES = 4096
DTYPES = (*all_dtypes(), INDEX)

_EXACT_UNARY = ("neg", "abs", "floor", "ceil", "round", "trunc")
_FLOAT_BINARY = ("add", "sub", "mul", "div", "min", "max")
_INTEGER_BINARY = (
    "add", "sub", "mul", "floordiv", "mod", "pow", "and", "or", "xor", "shl", "shr", "min", "max",
    "mulhi",
)  # fmt: skip
_COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")


@dataclass
class Made:
    """A function, and where its results lie in `dst`: byte offset and type."""

    function: Function
    results: list[tuple[int, VectorType]]

    @property
    def bytes(self) -> int:
        """The size of `dst`."""
        return sum(-(-memory_bytes(t) * t.count // 64) * 64 for _, t in self.results) + 64


@dataclass
class _Maker:
    rng: random.Random
    dtypes: Sequence[DType]
    lanes: int | None
    b: Builder
    src: Operand
    n: Operand
    pool: list[Operand] = field(default_factory=list)

    def load(self, dtype: DType, at: Operand | None = None) -> Operand:
        type_ = VectorType(dtype, self.lanes)
        room = SOURCE_BYTES - memory_bytes(type_) * type_.count
        at = constant(self.rng.randrange(room + 1), VectorType(INDEX)) if at is None else at
        match self.rng.randrange(4):
            case 0 if dtype.is_low_bit:
                return self.b.load_packed(self.src, at, type_)
            case 1 if self.lanes and type_.count * memory_bytes(type_) * 2 < room:
                stride = self.rng.choice([0, 1, memory_bytes(type_), 2 * memory_bytes(type_)])
                start = self.rng.randrange(room - type_.count * stride + 1)
                return self.b.load_strided(self.src, start, stride, type_)
            case 2 if self.lanes:
                mask, fill = self.mask(), self.value(dtype)
                return self.b.load(self.src, at, type_, mask=mask, fill=fill)
        return self.b.load(self.src, at, type_)

    def gather(self, dtype: DType) -> Operand:
        index = self.b.binary("and", self.value(self.rng.choice(INDICES)), 15)
        start, scale = self.rng.randrange(64), self.rng.choice([1, 2, 4, 8, 24])
        mask = self.mask() if self.rng.random() < 0.5 else None
        return self.b.gather(self.src, start, index, dtype, scale=scale, mask=mask)

    def mask(self) -> Operand:
        if self.rng.random() < 0.5 and self.lanes:
            count = self.b.binary("mod", self.n, self.lanes + 1)
            return self.b.first_lanes(count, self.lanes)
        x = self.value(self.rng.choice(self.dtypes))
        return (
            self.b.binary("lt", x, self.value(vector_type(x).dtype))
            if _ordered(x)
            else self.value(BOOL)
        )

    def value(self, dtype: DType) -> Operand:
        found = [x for x in self.pool if x.type == VectorType(dtype, self.lanes)]
        if found and self.rng.random() < 0.7:
            return self.rng.choice(found)
        if self.rng.random() < 0.2:
            number = self.rng.choice([0, 1, 2, 3, 7, 100])
            return constant(number, VectorType(dtype, self.lanes))
        self.pool.append(self.load(dtype))
        return self.pool[-1]

    def step(self) -> Operand:
        """One instruction over what is there."""
        rng, b = self.rng, self.b
        dtype = rng.choice(self.dtypes)
        x = self.value(dtype)
        kind = rng.randrange(13)
        if kind == 0:
            return b.convert(x, rng.choice(self.dtypes), saturate=rng.random() < 0.3)
        if dtype == BOOL:
            y = self.value(BOOL)
            return (
                b.unary("not", x) if kind < 4 else b.binary(rng.choice(["and", "or", "xor"]), x, y)
            )
        if kind == 1:
            return b.select(self.mask(), x, self.value(dtype))
        if kind == 2 and self.lanes:
            return self.lanes_step(x, dtype)
        if kind == 3:
            return b.binary(rng.choice(_COMPARE), x, self.value(dtype))
        if kind == 4:
            return b.fma(x, self.value(dtype), self.value(dtype))
        if kind == 5 and self.lanes:
            return self.gather(dtype)
        if kind == 6:
            return self.bits(x, dtype)
        if kind == 7:
            return self.load(dtype)
        if dtype.is_float:
            if kind < 10:
                return b.unary(rng.choice(_EXACT_UNARY), x)
            op = rng.choice(_FLOAT_BINARY)
            found = b.binary(op, x, self.value(dtype))
            return b.add(found, 0.0) if op in ("min", "max") else found
        if kind == 8:
            return b.unary(rng.choice(["neg", "invert", "abs"]), x)
        op = rng.choice(_INTEGER_BINARY if dtype.bits >= 8 else _INTEGER_BINARY[:-1])
        if op == "pow":
            x = b.binary("and", x, 3 if dtype.bits > 2 else 1)
        return b.binary(op, x, self.value(dtype))

    def bits(self, x: Operand, dtype: DType) -> Operand:
        """The bits of a float whose NaN is that of its dtype, or of integers."""
        if dtype.is_float:
            x = self.load(dtype)
        same = [d for d in self.dtypes if d.bits == dtype.bits and d != BOOL]
        return self.b.bitcast(x, VectorType(self.rng.choice(same), self.lanes))

    def lanes_step(self, x: Operand, dtype: DType) -> Operand:
        rng, b = self.rng, self.b
        assert self.lanes
        match rng.randrange(5):
            case 0:
                y = self.value(dtype)
                return b.shuffle(x, [rng.randrange(2 * self.lanes) for _ in range(self.lanes)], y)
            case 1 if not self.lanes & (self.lanes - 1):
                return b.permute(x, self.value(rng.choice(INDICES)))
            case 2:
                lane = b.binary("mod", self.n, self.lanes)
                return b.insert(x, b.extract(x, rng.randrange(self.lanes)), lane)
            case 3:
                op = rng.choice(["add", "mul"] if dtype.is_float else ["add", "max", "xor", "min"])
                return b.broadcast(b.reduce(op, x), self.lanes)
            case _:
                return b.broadcast(b.extract(x, b.binary("mod", self.n, self.lanes)), self.lanes)


INDICES = tuple(d for d in DTYPES if d.is_integer and d.bits >= 8)


def _ordered(x: Operand) -> bool:
    return vector_type(x).dtype != BOOL


def random_function(
    rng: random.Random,
    dtypes: Sequence[DType] = DTYPES,
    lanes: Sequence[int | None] = LANES,
    steps: int = 8,
) -> Made:
    """A function `f(src, dst, n)`, n from 0 up."""
    b = Builder("f")
    src, dst, n = b.pointer("src", align=64), b.pointer("dst", align=64), b.scalar("n", INDEX)
    chosen = rng.sample(list(dtypes), min(len(dtypes), 4))
    maker = _Maker(rng, chosen, rng.choice(list(lanes)), b, src, n)
    for _ in range(steps):
        match rng.randrange(8):
            case 0:
                maker.pool.append(_loop(maker))
            case 1:
                maker.pool.append(_branch(maker))
            case _:
                maker.pool.append(maker.step())
    results: list[tuple[int, VectorType]] = []
    offset = 0
    for x in maker.pool:
        type_ = vector_type(x)
        results.append((offset, type_))
        b.store(dst, offset, x, align=64)
        offset += -(-memory_bytes(type_) * type_.count // 64) * 64
    return Made(b.function(), results)


def _loop(maker: _Maker) -> Operand:
    start = maker.value(maker.rng.choice(maker.dtypes))
    pool = list(maker.pool)
    begin, end, step = 0, maker.b.binary("mod", maker.n, 7), maker.rng.choice([1, 2, 3])
    bounds = (begin, end) if maker.rng.random() < 0.5 else (end, begin)
    step = step if bounds[0] == 0 else -step
    unroll = maker.rng.choice([1, 2, 3])
    with maker.b.loop(*bounds, step, [start], unroll=unroll) as loop:
        maker.pool.append(loop.carried[0])
        for _ in range(2):
            maker.pool.append(maker.step())
        loop.yields = (maker.value(vector_type(start).dtype),)
    maker.pool = pool
    return loop.results[0]


def _branch(maker: _Maker) -> Operand:
    pool = list(maker.pool)
    dtype = maker.rng.choice(maker.dtypes)

    def part() -> list[Operand]:
        maker.pool = list(pool)
        maker.pool.append(maker.step())
        return [maker.value(dtype)]

    condition = maker.b.binary("gt", maker.n, maker.rng.randrange(4))
    (found,) = maker.b.if_(condition, part, part)
    maker.pool = pool
    return found


_EDGES = [
    np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-45, 3e38, 65520], np.float32),
    np.array([0.0, -0.0, 1e300, -1e300, np.inf, np.nan, 5e-324, 2.0**63, -(2.0**63), 0.5]),
    np.array([0, 1, -1, 127, -128, 255, 32767, -32768, 2**31 - 1, -(2**31), 7, -7], np.int32),
]  # fmt: skip


def random_source(rng: random.Random) -> Array:
    """Bytes for `src`: edge values of several dtypes, and random bits."""
    numbers = np.random.default_rng(rng.getrandbits(32))
    source = numbers.integers(0, 256, SOURCE_BYTES, np.uint8)
    small = numbers.integers(-9, 9, SOURCE_BYTES // 16)
    source[: SOURCE_BYTES // 4] = small.astype(np.float32).view(np.uint8)
    for at in range(SOURCE_BYTES // 4, SOURCE_BYTES // 2, 128):
        edges = rng.choice(_EDGES)
        row = numbers.choice(edges, 128 // edges.itemsize)
        source[at : at + 128] = row.view(np.uint8)
    return source


def read_results(dst: Array, made: Made) -> list[Array]:
    """What a run left, as storage arrays."""
    found = []
    for offset, type_ in made.results:
        raw = dst[offset : offset + memory_bytes(type_) * type_.count]
        found.append(raw.view(storage_dtype(type_.dtype)))
    return found


__all__ = ["ATOMS", "Made", "random_function", "random_source", "read_results"]


def same(x: Array, y: Array, dtype: DType) -> bool:
    """Whether two storage arrays hold the same numbers; one NaN is as good as another."""
    if not dtype.is_float:
        return bool((x == y).all())
    a, b = decode(x, dtype), decode(y, dtype)
    bits = np.dtype(f"u{a.itemsize}")
    return bool(((a.view(bits) == b.view(bits)) | (np.isnan(a) & np.isnan(b))).all())
