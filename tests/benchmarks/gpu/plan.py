"""A plan for `sweep.py`: tiles spread over what a kernel offers, and what calls without choices take.

    python tests/benchmarks/gpu/plan.py plan.json --weights u4,u8 --rows 1,16,64,256,4096
    python tests/benchmarks/gpu/plan.py plan.json --dense f16 --rows 64,256,4096 --rowwise --attention
    python tests/benchmarks/gpu/plan.py plan.json --weights u4 --first     only what calls take

No GPU is asked.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # tests import it too
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from gpu.cases import LENGTHS, ROW_KERNELS, ROWS, SHAPES, activations
from gpu.ours.candidates import Choice
from gpu.ours.kernels import FILES, library
from gpu.sweep import TARGET, Case

HEAD = 128
FEW = 16  # rows up to which sums may be scaled instead of weights

Tile = tuple[int, ...]  # of BN, BK and, where they are given, SPLIT and warps
SUMS: list[Tile] = [
    (32, 512), (32, 1024), (64, 256), (64, 512), (64, 1024), (80, 512), (128, 128), (128, 256),
    (64, 512, 0, 8), (32, 512, 0, 8), (64, 1024, 0, 4), (128, 128, 0, 4),
]  # fmt: skip
WEIGHTS: list[Tile] = [(64, 512), (64, 256), (32, 256), (128, 128, 2)]
TILES: dict[int, list[tuple[int, Tile]]] = {
    64: [
        (64, t)
        for t in (
            (64, 128), (64, 256), (128, 64), (128, 128), (128, 256), (256, 64), (256, 128),
            (80, 128), (128, 128, 2), (64, 128, 2), (128, 128, 0, 8), (256, 128, 0, 16),
        )
    ],
    256: [
        *((256, t) for t in ((64, 64), (64, 128), (128, 64), (128, 128), (256, 64), (64, 64, 0, 4))),
        *((128, t) for t in ((128, 64), (128, 128), (128, 256), (256, 64), (64, 128))),
        (64, (128, 128)),
    ],
    4096: [
        *((256, t) for t in ((128, 64), (64, 64), (128, 128))),
        *((128, t) for t in ((256, 64), (256, 128), (128, 128), (256, 256))),
    ],
}  # fmt: skip
DENSE: dict[int, list[Tile]] = {
    16: [(16, 64, 128), (16, 64, 64), (16, 128, 64), (64, 64, 128)],
    64: [(64, 64, 64), (64, 64, 128), (64, 128, 64), (64, 128, 128)],
    256: [(128, 128, 64), (128, 256, 64), (64, 128, 64), (128, 128, 128), (64, 256, 64)],
    4096: [(128, 256, 64), (128, 128, 64), (64, 256, 64), (128, 128, 128)],
}


def quantized(weight: str, k: int, n: int, m: int) -> list[Case]:
    """A case for each kernel that multiplies such weights."""
    define = {"W": weight, "T": activations(weight)}
    sizes = {"M": m, "K": k, "N": n}
    case = {"file": "gemm_quantized", "define": define, "sizes": sizes}
    if m > FEW:
        tiles = [_tile(b, t) for b, t in TILES[next(r for r in TILES if m <= r)]]
        return [{**case, "kernel": "gemm_quantized", "choices": tiles}]
    rows = 8 if m <= 8 else 16
    sums = [_tile(rows, t) for t in SUMS]
    sums += [_tile(16, t) for t in SUMS[2:4] if m <= 8]
    for one in sums:
        one.pop("SPLIT")
    return [
        {**case, "kernel": "gemm_quantized_sums", "choices": sums},
        {**case, "kernel": "gemm_quantized", "choices": [_tile(rows, t) for t in WEIGHTS]},
    ]


def _tile(rows: int, tile: Tile) -> Choice:
    columns, depth, split, warps = (*tile, *(1, 0)[len(tile) - 2 :])
    found = {"BM": rows, "BN": columns, "BK": depth, "SPLIT": max(1, split)}
    return {**found, "warps": warps} if warps else found


def dense(dtype: str, k: int, n: int, m: int) -> Case:
    tiles = DENSE[next(r for r in DENSE if m <= r)]
    choices = [dict(zip(("BM", "BN", "BK"), t, strict=True)) for t in tiles]
    sizes = {"M": m, "K": k, "N": n}
    return {
        "file": "gemm", "kernel": "gemm", "define": {"T": dtype}, "sizes": sizes, "choices": choices
    }  # fmt: skip


def every(kernel: str, sizes: Mapping[str, int], define: Mapping[str, Any]) -> Case:
    """All products of a kernel's choices."""
    file = FILES.get(kernel, kernel)
    made = library(file, tuple(define.items()), TARGET)[kernel]
    choices = [dict(zip(made.tunes, v, strict=True)) for v in product(*made.tunes.values())]
    own = {d: sizes[d] for d in made.dims}
    return {"file": file, "kernel": kernel, "define": define, "sizes": own, "choices": choices}


def first(case: Case) -> Choice:
    """What a call that names no choices takes."""
    kernel = library(case["file"], tuple(case["define"].items()), TARGET)[case["kernel"]]
    found = kernel.origin.predicted.find({}, case["sizes"].get)
    return dict(found.config) if found else {}


def with_first(cases: Iterable[Case], *, alone: bool) -> list[Case]:
    """Each with the first choice before the others, or alone."""
    todo = list(cases)
    with ProcessPoolExecutor() as pool:
        chosen = list(pool.map(first, todo))
    return [
        {**case, "choices": [one, *(c for c in case["choices"] if c != one and not alone)]}
        for case, one in zip(todo, chosen, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words = {"type": lambda text: text.split(","), "default": []}
    parser.add_argument("plan", type=Path)
    parser.add_argument("--weights", **words, help="types of quantised products: u4,u8")
    parser.add_argument("--dense", **words, help="types of dense products: f16")
    parser.add_argument("--shapes", **words, help="of products, K x N: 8192x8192")
    parser.add_argument("--rows", **words, help="M of products: 1,16")
    parser.add_argument("--rowwise", action="store_true", help="rows and elements, all choices")
    parser.add_argument("--attention", action="store_true", help="all choices")
    parser.add_argument("--first", action="store_true", help="the first choices alone")
    options = parser.parse_args()
    shapes = [tuple(map(int, s.split("x"))) for s in options.shapes] or SHAPES
    rows = [int(m) for m in options.rows] or ROWS
    cases: list[Case] = []
    for weight, (k, n), m in product(options.weights, shapes, rows):
        cases += quantized(weight, k, n, m)
    cases += [dense(t, k, n, m) for t, (k, n), m in product(options.dense, shapes, rows)]
    if options.rowwise:
        sizes = {**dict.fromkeys(("M", "S", "N", "H", "F", "Q"), 8192), "D": HEAD}
        cases += [every(k, sizes, {"T": "bf16"}) for k in ROW_KERNELS[1:]]
    if options.attention:
        for length in LENGTHS:
            sizes = {"B": 1, "S": length, "L": length, "HQ": 16, "HK": 16, "D": HEAD}
            cases.append(every("attention", sizes, {"T": "bf16"}))
    found = with_first(cases, alone=options.first)
    lines = ",\n".join(json.dumps(case) for case in found)
    options.plan.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(f"{len(found)} cases, {sum(len(c['choices']) for c in found)} times")


if __name__ == "__main__":
    main()
