"""4-bit weights times activations of f8e4m3, M = 4096, beside cuBLAS's product of f8e4m3.

    python tests/benchmarks/gpu/w4a8.py

Prints microseconds, TFLOP/s and the error against float32 for a scale a column and a scale a group.
The bar: 1000 TFLOP/s.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":  # tests import it too
    sys.path[0] = str(HERE.parent)

import dslc  # noqa: E402
import torch  # noqa: E402
from gpu.cases import GROUP, SHAPES  # noqa: E402
from gpu.measure import copies_beyond_cache, relative_error, replays  # noqa: E402
from gpu.ours.storage import packed  # noqa: E402

ROWS = 4096
CHOICES = {
    "channel": {"BM": 256, "BN": 128, "BK": 128, "warps": 8},
    "group": {"BM": 256, "BN": 128, "BK": 128, "warps": 8},
}


def operands(k: int, n: int) -> tuple[torch.Tensor, ...]:
    """Activations and their scales, codes, and the scales of groups."""
    made = torch.Generator("cuda").manual_seed(k + n)
    q = torch.randn(ROWS, k, generator=made, device="cuda").to(torch.float8_e4m3fn)
    t, s = (torch.rand(shape, device="cuda") * 0.01 + 0.001 for shape in ((ROWS,), (k // GROUP, n)))
    codes = torch.randint(16, (k, n), generator=made, device="cuda", dtype=torch.uint8)
    return q, t, codes, s


def measured(kind: str, k: int, n: int) -> tuple[float, float]:
    """Microseconds and the error."""
    tile = HERE / "ours" / "w4a8_float.tile"
    kernel = dslc.compile(tile, target="cuda")[kind].specialize(K=k, N=n, **CHOICES[kind])
    q, t, codes, s = operands(k, n)
    scales = s if kind == "group" else s[0].contiguous()
    first = packed(kernel, "w", codes, "i4")
    stored = [first, *(first.clone() for _ in range(copies_beyond_cache(first.nbytes) - 1))]
    c = torch.full((ROWS, n), torch.nan, dtype=torch.float16, device="cuda")

    def launch(i: int) -> None:
        kernel(q, t, stored[i], scales, c)

    launch(0)
    signed = codes.to(torch.int8)
    values = torch.where(signed >= 8, signed - 16, signed).float()
    spread = s.repeat_interleave(GROUP, 0) if kind == "group" else s[:1]
    error = relative_error(c, (q.float() @ (values * spread)) * t[:, None])
    return median(replays(launch, len(stored))), error


def cublas(k: int, n: int) -> float:
    """Microseconds of the product of f8e4m3 with fast accumulation."""
    a = torch.randn(ROWS, k, device="cuda").to(torch.float8_e4m3fn)
    copies = copies_beyond_cache(k * n)
    b = [torch.randn(n, k, device="cuda").to(a.dtype) for _ in range(copies)]
    given: dict[str, Any] = {"out_dtype": torch.float16, "use_fast_accum": True}
    given |= dict.fromkeys(("scale_a", "scale_b"), torch.tensor(1.0, device="cuda"))
    return median(replays(lambda i: torch._scaled_mm(a, b[i].T, **given), copies))


def main() -> None:
    print("| scales | K x N | dslc us | dslc TFLOP/s | cuBLAS f8 us | cuBLAS TFLOP/s | error |")
    print("|---|---|---|---|---|---|---|")
    for k, n in SHAPES:
        rival = cublas(k, n)
        work = 2e-6 * ROWS * n * k
        for kind in CHOICES:
            us, error = measured(kind, k, n)
            figures = f"{us:.1f} | {work / us:.0f} | {rival:.1f} | {work / rival:.0f}"
            print(f"| {kind} | {k} x {n} | {figures} | {error:.1e} |", flush=True)


if __name__ == "__main__":
    main()
