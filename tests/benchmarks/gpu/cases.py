"""What is measured: the cases of each section, as data that travels between processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

# K x N of the projections of a 70-billion-parameter Llama: out, qkv, gate and up, down.
SHAPES = ((8192, 8192), (8192, 10240), (8192, 57344), (28672, 8192))
ROWS = (1, 16, 64, 256, 4096)
WEIGHTS = ("u4", "u2", "u1", "u8", "f6e3m2", "i4", "i6", "u3", "u5")
GROUP = 128

EVERY_WEIGHT = (
    *(f"u{bits}" for bits in range(1, 9)),
    *(f"i{bits}" for bits in range(1, 9)),
    *(f"f{b}e{e}m{b - 1 - e}" for b in range(3, 9) for e in range(1, b)),
)
GRID_ROWS = (1, 3, 8, 16, 17, 64, 256, 1000)
# N and K of the grid: whole tiles, and neither a multiple of a tile nor of 16 bytes.
GRID_COLUMNS = ((512, 512), (1000, 384), (205, 640))
# N, K and group of the kernel with zero points: 65 groups end within a tile of any size.
RAGGED = (205, 1040, 16)

ROW_KERNELS = ("copy", "rmsnorm", "layernorm", "softmax_rows", "swiglu", "rope")
LENGTHS = (4096, 8192, 16384)


@dataclass(frozen=True)
class Case:
    """One thing to measure: `name` is the weights' type or the kernel, `dims` its sizes."""

    section: str
    name: str
    dims: Mapping[str, int]
    dtype: str = "f16"

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.section, self.name, self.dtype, *sorted(self.dims.items()))

    @property
    def label(self) -> str:
        sizes = ", ".join(f"{k}={v}" for k, v in self.dims.items())
        return f"{self.name} {self.dtype} {sizes}"

    def to_data(self) -> dict[str, Any]:
        return {**asdict(self), "dims": dict(self.dims)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Case:
        return cls(data["section"], data["name"], dict(data["dims"]), data["dtype"])


def activations(weight: str) -> str:
    """The activations' type for weights of a type: f16 where it holds every one of their values."""
    wide = weight[0] == "f" and int(weight[3]) > 4 and weight != "f8e5m2"
    return "bf16" if wide else "f16"


def quantized(
    shapes: Iterable[tuple[int, int]], rows: Iterable[int], weights: Iterable[str]
) -> list[Case]:
    """All rows of a shape and type stand together, so that weights are made once."""
    return [
        Case("quantized", weight, {"M": m, "N": n, "K": k}, activations(weight))
        for (k, n), weight, m in product(list(shapes), list(weights), list(rows))
    ]


def dense(
    shapes: Iterable[tuple[int, int]], rows: Iterable[int], types: Iterable[str]
) -> list[Case]:
    cubes = [(size, size, size) for size in (4096, 8192)]
    flat = [(m, n, k) for (k, n), m in product(list(shapes), list(rows))]
    return [
        Case("dense", "gemm", {"M": m, "N": n, "K": k}, dtype)
        for dtype, (m, n, k) in product(list(types), [*cubes, *flat])
    ]


def rows(kernels: Iterable[str] = ROW_KERNELS, size: int = 8192) -> list[Case]:
    return [Case("rows", kernel, {"M": size, "N": size}, "bf16") for kernel in kernels]


def attention(lengths: Iterable[int] = LENGTHS) -> list[Case]:
    return [
        Case("attention", mask, {"S": length, "H": 16, "D": 128}, "bf16")
        for mask, length in product(("causal", "full"), list(lengths))
    ]


def grid(weights: Iterable[str], rows: Iterable[int] = GRID_ROWS) -> list[Case]:
    sizes = [{"N": n, "K": k} for n, k in GRID_COLUMNS]
    sizes.append(dict(zip(("N", "K", "G"), RAGGED, strict=True)))
    return [
        Case("grid", weight, {"M": m, **columns}, activations(weight))
        for weight, columns, m in product(list(weights), sizes, list(rows))
    ]


def launch() -> list[Case]:
    return [Case("launch", "8 tensors", {"N": 4096}, "f32")]


def compiling() -> list[Case]:
    kernels = ("gemm", "gemm_quantized", "attention", "w4a8_group", "lowrank_mlp")
    return [Case("compiling", kernel, {}) for kernel in kernels]
