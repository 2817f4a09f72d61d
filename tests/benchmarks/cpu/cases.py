"""What is measured on CPUs: names, sizes, and what a call moves and computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Place = Literal["memory", "cache"]


@dataclass(frozen=True)
class Case:
    """One line: operands rotate over copies larger than the caches, or stay in them."""

    kind: str
    sizes: tuple[int, ...]
    dtype: str = "f32"
    place: Place = "cache"
    group: int = 0

    @property
    def name(self) -> str:
        """As tables and figures call it."""
        group = f" g{self.group}" if self.group else ""
        return f"{self.kind} {self.dtype}{group} {'x'.join(map(str, self.sizes))} {self.place}"

    @property
    def operations(self) -> float:
        """Floating point or integer operations of a call; 0 where bytes are what counts."""
        if self.kind in ("product", "w4a8", "w4"):
            m, k, n = self.sizes
            return 2.0 * m * k * n
        if self.kind == "attention":
            heads, length, width = self.sizes
            return 2.0 * heads * length * length * width  # the half of two products that is causal
        return 0.0

    @property
    def weight_bytes(self) -> float:
        """The bytes of 4-bit weights with their scales of f32 (one a group)."""
        _, k, n = self.sizes
        return k * n / 2 + 4 * (k // self.group) * n


def cases() -> list[Case]:
    """All of them."""
    found = [Case("product", (n, n, n), t) for n in (512, 1024, 2048) for t in ("f32",)]
    found += [Case("product", (1024, 1024, 1024), t) for t in ("bf16", "i8")]
    for group in (128, 32):
        found.append(Case("w4a8", (1, 4096, 4096), "u4", "memory", group))
        found += [Case("w4a8", (m, 4096, 4096), "u4", "cache", group) for m in (1, 4, 16, 64, 256)]
    found += [Case("w4", (m, 4096, 4096), "u4", "cache", 128) for m in (1, 4, 16)]
    found += [Case("attention", (8, length, 64)) for length in (1024, 4096)]
    for kind in ("softmax", "rmsnorm", "layernorm", "swiglu"):
        found.append(Case(kind, (4096, 4096), "f32", "memory"))
    return found
