"""Tune choices to try: those of a file, those listed here, or none.

`--config default` leaves them open, as a call without choices does: what the tuner has stored, or the
compiler's default; `--config tune` runs the tuner first. `--config listed` tries the lists below and
the compiler's default and keeps the best, a path those of a JSON file of the same structure: kernel,
greatest number of rows, choices.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Choice = dict[str, Any]

# Tiles for few rows: 128 or 160 blocks for 8192 and 10240 columns, more for many columns.
DECODE: list[Choice] = [
    {"BN": 64, "BK": 512},
    {"BN": 64, "BK": 256},
    {"BN": 32, "BK": 256},
]
SUMS: list[Choice] = [
    {"BN": 32, "BK": 512},
    {"BN": 32, "BK": 512, "warps": 8},
    {"BN": 32, "BK": 1024},
    {"BN": 64, "BK": 256},
    {"BN": 64, "BK": 256, "stages": 2, "warps": 2},
    {"BN": 64, "BK": 512, "warps": 8},
    {"BN": 128, "BK": 256},
    {"BN": 80, "BK": 512},
    {"BN": 80, "BK": 512, "stages": 4, "warps": 4},
    {"BN": 80, "BK": 512, "warps": 8},
    {"BN": 80, "BK": 1024, "stages": 2, "warps": 8},
    # 57344 = 512 x 112 columns: four blocks for nearly every multiprocessor, or two of 224.
    {"BN": 112, "BK": 256, "stages": 2, "warps": 2},
    {"BN": 112, "BK": 256, "stages": 3, "warps": 2},
    {"BN": 112, "BK": 512, "stages": 2, "warps": 4},
    {"BN": 224, "BK": 256, "stages": 2, "warps": 4},
    # Wider tiles read activations less often; two blocks share the K of each.
    {"BN": 128, "BK": 512, "SPLIT": 2, "stages": 3, "warps": 8},
]
LISTED: dict[str, dict[str, list[Choice]]] = {
    "gemm_quantized_sums": {
        "8": [{"BM": 8, **rest} for rest in SUMS],
        "16": [{"BM": 16, **rest} for rest in SUMS],
    },
    "gemm_quantized": {
        "8": [{"BM": 8, **rest} for rest in DECODE],
        "16": [{"BM": 16, **rest} for rest in DECODE],
        "64": [
            {"BM": 64, "BN": 128, "BK": 128, "warps": 8},
            {"BM": 64, "BN": 128, "BK": 256},
            {"BM": 64, "BN": 128, "BK": 128, "warps": 8, "SPLIT": 2},
            {"BM": 64, "BN": 256, "BK": 128, "warps": 16},
            {"BM": 64, "BN": 256, "BK": 64, "warps": 16},
            {"BM": 64, "BN": 128, "BK": 64, "warps": 8},
        ],
        "": [
            {"BM": 256, "BN": 128, "BK": 64, "warps": 8},
            {"BM": 128, "BN": 128, "BK": 128, "warps": 8},
            {"BM": 256, "BN": 64, "BK": 64, "warps": 4},
        ],
    },
    "gemv_sliced": {
        "": [
            {"BN": 64, "BK": 256, "warps": 2, "stages": 2},
            {"BN": 64, "BK": 256, "warps": 4, "stages": 2},
            {"BN": 96, "BK": 256, "warps": 4, "stages": 2},
            {"BN": 112, "BK": 256, "warps": 2, "stages": 3},
            {"BN": 112, "BK": 512, "warps": 2, "stages": 2},
            {"BN": 112, "BK": 512, "warps": 4, "stages": 2},
            {"BN": 64, "BK": 512, "warps": 4, "stages": 4},
            {"BN": 32, "BK": 512, "warps": 4, "stages": 4},
            {"BN": 32, "BK": 1024, "warps": 8, "stages": 3},
        ],
    },
    "gemm": {
        "16": [
            {"BM": 16, "BN": 64, "BK": 128},
            {"BM": 16, "BN": 64, "BK": 64},
            {"BM": 16, "BN": 128, "BK": 64},
        ],
        "64": [
            {"BM": 64, "BN": 64, "BK": 64},
            {"BM": 64, "BN": 128, "BK": 64},
            {"BM": 64, "BN": 128, "BK": 32},
        ],
        "": [
            {"BM": 128, "BN": 256, "BK": 64},
            {"BM": 128, "BN": 128, "BK": 64},
        ],
    },
    "gemm_turned": {
        "": [
            {"BM": 128, "BN": 256, "BK": 128},
            {"BM": 128, "BN": 128, "BK": 128},
            {"BM": 64, "BN": 256, "BK": 128},
        ],
    },
    "attention": {
        "": [
            {"BS": 128, "BL": 128},
            {"BS": 128, "BL": 160},
            {"BS": 128, "BL": 80},
            {"BS": 128, "BL": 64},
        ]
    },
    "softmax": {"": [{"BM": 1, "BN": 4096}, {"BM": 4, "BN": 1024}, {"BM": 1, "BN": 1024}]},
    "softmax_rows": {"": [{"BM": 1}, {"BM": 4}]},
    "rmsnorm": {"": [{"BM": 1}, {"BM": 4}]},
    "layernorm": {"": [{"BM": 1}, {"BM": 4}]},
    "swiglu": {"": [{"BM": 4, "BF": 512}, {"BM": 1, "BF": 1024}, {"BM": 4, "BF": 1024}]},
    "rope": {"": [{"BS": 16}, {"BS": 64}, {"BS": 4}]},
}


def given() -> str:
    """What the command line says: it reaches the measuring processes by the environment."""
    return os.environ.get("DSLC_BENCH_CONFIG", "listed")


def choices(kernel: str, rows: int, source: str) -> list[Choice]:
    """The choices to try for a number of rows; one empty choice leaves them open."""
    if source in ("default", "tune"):
        return [{}]
    table: Mapping[str, Mapping[str, list[Choice]]] = LISTED
    if source != "listed":
        table = json.loads(Path(source).read_text(encoding="utf-8"))
    by_rows = table.get(kernel, {})
    bounds = sorted((int(b) for b in by_rows if b), key=int)
    bound = next((str(b) for b in bounds if rows <= b), "")
    found = list(by_rows.get(bound, []))
    return [*found, {}] if source == "listed" or not found else found
