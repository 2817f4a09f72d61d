"""The same products with and without clusters, by turns in one process.

    python tests/benchmarks/gpu/clusters.py
    python tests/benchmarks/gpu/clusters.py --sums --only u4 --rounds 5

Prints the median microseconds of each variant, its quickest and slowest replay, and the error
against float32. Variants of a case are measured one after another, several times over, so that the
state of the chip is that of all.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":  # tests import it too
    sys.path[0] = str(HERE.parent)

import dslc  # noqa: E402
from dslc.compilation.specialization import Specialization  # noqa: E402

EXAMPLES = HERE.parents[2] / "examples"
GROUP = 128
COUNT = 7  # replays of a variant in a round
_FEW_ROWS = 16


@dataclass(frozen=True)
class Case:
    """A product: its types, sizes, and the choices to compare."""

    kind: str
    m: int
    n: int
    k: int
    choices: tuple[dict[str, int], ...]

    def build(self, choice: dict[str, int]) -> Specialization:
        """The kernel for a choice, from the cache where it was compiled."""
        if self.kind == "f16":
            file, kernel, define = EXAMPLES / "gemm.tile", "gemm", {"T": self.kind}
        elif self.kind == "f8e4m3":
            file, kernel, define = HERE / "ours" / "gemm_turned.tile", "gemm_turned", {}
        else:
            sums = choice["BM"] <= _FEW_ROWS
            file = HERE / "ours" / "sums_split.tile" if sums else EXAMPLES / "gemm_quantized.tile"
            kernel, define = "sums_split" if sums else "gemm_quantized", {"W": self.kind}
        library = dslc.compile(file, target="cuda:sm_90a", define=define)
        return library[kernel].specialize_for({"M": self.m, "N": self.n, "K": self.k}, choice)


def both(choice: dict[str, int], *sizes: int) -> tuple[dict[str, int], ...]:
    """A choice as it is, and with clusters."""
    return (choice, *({**choice, "cluster": n} for n in sizes or (2,)))


def tile(rows: int, columns: int, depth: int, **more: int) -> dict[str, int]:
    return {"BM": rows, "BN": columns, "BK": depth, **more}


LARGE = tile(256, 128, 64, warps=8, SPLIT=1)
CASES = [
    Case("f16", 8192, 8192, 8192, both(tile(128, 256, 64), 2, 4)),
    Case("f16", 4096, 4096, 4096, both(tile(128, 256, 64), 2)),
    Case("f16", 4096, 4096, 4096, both(tile(128, 128, 64), 2)),
    Case("f8e4m3", 8192, 8192, 8192, both(tile(128, 256, 128), 2)),
    Case("f8e4m3", 4096, 4096, 4096, both(tile(128, 256, 128), 2)),
    Case("u4", 4096, 8192, 8192, both(LARGE, 2)),
    Case("u4", 4096, 10240, 8192, both(LARGE, 2)),
    Case("u8", 4096, 8192, 8192, both(LARGE, 2)),
    Case("u4", 256, 8192, 8192, both(tile(128, 128, 128, warps=8, SPLIT=1), 2)),
    Case("u8", 256, 8192, 8192, both(tile(128, 128, 128, warps=8, SPLIT=1), 2)),
    Case("u4", 64, 8192, 8192, both(tile(64, 128, 128, warps=8, SPLIT=1), 2)),
]


def split(choice: dict[str, int], *parts: int) -> tuple[dict[str, int], ...]:
    """A choice with its sums in parts, which meet in global memory and in a cluster."""
    every = ({**choice, "SPLIT": n, "cluster": c} for n in parts for c in (1, n))
    return ({**choice, "SPLIT": 1}, *every)


SUMS = [
    Case("u4", 1, 8192, 8192, split(tile(8, 64, 512, warps=8, stages=4), 2)),
    Case("u4", 1, 8192, 8192, split(tile(8, 128, 256, warps=8, stages=4), 2, 4)),
    Case("u4", 16, 8192, 8192, split(tile(16, 128, 256, warps=8, stages=4), 2)),
    Case("u4", 16, 10240, 8192, split(tile(16, 128, 256, warps=8, stages=4), 2)),
    Case("u4", 32, 8192, 8192, split(tile(64, 128, 128, warps=8), 2)),
    *(
        Case(kind, 64, 8192, k, split(tile(64, 128, 128, warps=8), 2))
        for kind in ("u4", "u8", "u2", "f6e3m2")
        for k in (8192, 28672)
    ),
    Case("u4", 64, 10240, 8192, split(tile(64, 256, 64, warps=16), 2)),
    Case("u4", 128, 8192, 8192, split(tile(128, 128, 128, warps=8), 2)),
    Case("u8", 128, 8192, 8192, split(tile(128, 128, 128, warps=8), 2)),
]


def _built(job: tuple[Case, dict[str, int]]) -> str:
    case, choice = job
    try:
        case.build(choice)
    except Exception as e:
        return f"{case.kind} {choice}: {e}"
    return ""


def launchers(
    case: Case,
) -> tuple[list[Callable[[int], object]], int, Callable[[], object], Callable[[], float]]:
    """What launches each variant on copy i, the copies, what forgets the result, and its error."""
    import torch
    from gpu import problems
    from gpu.measure import copies_beyond_cache, relative_error
    from gpu.ours.storage import packed

    kernels = [case.build(choice) for choice in case.choices]
    made = torch.Generator("cuda").manual_seed(case.n)
    a = torch.randn(case.m, case.k, generator=made, device="cuda", dtype=torch.float16)
    c = torch.full((case.m, case.n), torch.nan, device="cuda", dtype=torch.float16)
    if case.kind in ("f16", "f8e4m3"):
        across = case.kind != "f16"
        kind = torch.float8_e4m3fn if across else torch.float16
        a = a.to(kind)
        shape = (case.n, case.k) if across else (case.k, case.n)
        b = (torch.randn(shape, device="cuda") * 0.1).to(kind)
        copies = copies_beyond_cache(b.nbytes)
        every = [b, *(b.clone() for _ in range(copies - 1))]
        wanted = a.float() @ (b.float().T if across else b.float())
        found = [lambda i, k=k: k(a, every[i], c) for k in kernels]
    else:
        weights = problems.weights(case.kind, case.k, case.n, "f16")
        scales = weights.scales
        wanted = problems.product(a, weights, problems.values_of(case.kind))
        first = packed(kernels[0], "w", weights.codes, case.kind)
        copies = copies_beyond_cache(first.nbytes + scales.nbytes)
        pairs = [(first.clone(), scales.clone()) for _ in range(copies)]
        found = [lambda i, k=k: k(a, *pairs[i], c) for k in kernels]
    return found, copies, lambda: c.fill_(torch.nan), lambda: relative_error(c, wanted)


def measured(case: Case, rounds: int) -> None:
    from gpu.measure import replays

    found, copies, clear, error = launchers(case)
    errors = []
    for launch in found:
        clear()
        launch(0)
        errors.append(error())
    times: list[list[float]] = [[] for _ in found]
    for _ in range(rounds):
        for launch, seen in zip(found, times, strict=True):
            seen.extend(replays(launch, copies, warm=1, count=COUNT))
    work = 2e-6 * case.m * case.n * case.k
    base = median(times[0])
    for choice, seen, off in zip(case.choices, times, errors, strict=True):
        us = median(seen)
        words = " ".join(f"{n}={v}" for n, v in choice.items())
        print(
            f"| {case.kind} | {case.m} x {case.n} x {case.k} | {words} | {us:.2f} | {min(seen):.2f} to "
            f"{max(seen):.2f} | {work / us:.0f} | {base / us:.3f} | {off:.1e} |",
            flush=True,
        )


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="types: f16,u4")
    parser.add_argument("--sums", action="store_true", help="parts of K instead of shared tiles")
    parser.add_argument("--rounds", type=int, default=3)
    options: Any = parser.parse_args(given)
    kinds = options.only.split(",") if options.only else []
    chosen = [c for c in (SUMS if options.sums else CASES) if not kinds or c.kind in kinds]
    jobs = [(case, choice) for case in chosen for choice in case.choices]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for failed in filter(None, pool.map(_built, jobs)):
            print(failed, flush=True)
    print("| type | M x N x K | choice | us | replays | TFLOP/s | speed | error |")
    print("|---|---|---|---|---|---|---|---|")
    for case in chosen:
        try:
            measured(case, options.rounds)
        except Exception as e:
            print(f"{case.kind} {case.m}: {type(e).__name__}: {e}", flush=True)


if __name__ == "__main__":
    main()
