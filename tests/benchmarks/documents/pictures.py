"""The pictures of the pages about performance: docs/pictures, drawn from docs/performance.

What a picture shows is worked out here with the standard library alone (`PICTURES`), and its
fingerprint stands in the file, so that a test can tell a picture that is older than its figures.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

from documents.data import DATA, DOCS, figures
from documents.tables import BY_WIDTH, FEW, WIDEST, cublas, product
from gpu.limits import floor_us

Series = dict[str, Any]


def decode() -> Series:
    """The share of the memory's bandwidth that the widest product reaches, percent."""
    results = figures("decode")
    return {
        f"M = {rows}": {
            library: [
                round(100 * floor_us(case) / (results.number(case, library) or 0), 2)
                for case in (product(weight, WIDEST, rows) for weight in BY_WIDTH)
            ]
            for library in ("dslc", "humming")
        }
        for rows in FEW
    }


def speeds() -> Series:
    """The rival's time over ours of every product that was measured beside it, by rows and weights."""
    found: Series = {"humming": [], "cuBLAS f16": []}
    for name in ("decode", "prefill"):
        results = figures(name)
        for case in results.cases("quantized"):
            ours = results.number(case, "dslc") or 0
            times = {
                "humming": results.number(case, "humming"),
                "cuBLAS f16": cublas(results, case),
            }
            for rival, us in times.items():
                if us is not None:
                    found[rival].append([case.dims["M"], case.name, round(us / ours, 3)])
    return found


def predictions() -> Series:
    """Measured and predicted times by kernel, microseconds."""
    found: Series = {}
    for case in json.loads((DATA / "predictions.json").read_text(encoding="utf-8")):
        kernel = case["case"].partition(" ")[0]
        if kernel in ("gemm", "gemm_quantized", "gemm_quantized_sums", "attention"):
            found.setdefault(kernel, []).extend(time[1:] for time in case["times"])
    return found


def aarch64() -> Series:
    """Multiply-adds a cycle of ours, the bar and the best public kernel, on V2 and N2."""
    page = (DOCS / "performance" / "aarch64.md").read_text(encoding="utf-8")
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines()]
    found: Series = {"Neoverse V2": [], "Neoverse N2": []}
    for work, v2, bar2, _, n2, bar1, public in (cells for cells in lines if len(cells) == 7):
        if work.startswith(("prefill", "decode")):
            v2_public, n2_public = (float(number) for number in public.split("/"))
            found["Neoverse V2"].append([work, _first(v2), float(bar2), v2_public])
            found["Neoverse N2"].append([work, _first(n2), float(bar1), n2_public])
    return found


def accuracy() -> Series:
    """By how many percent the perplexity grows with the bits of a weight, for u2 to u6."""
    data = json.loads((DATA / "accuracy.json").read_text(encoding="utf-8"))
    base, found = data["model"]["perplexity"], {}
    for group in (32, 128):
        for way in ("nearest", "calibrated"):
            found[f"{way}, groups of {group}"] = [
                [round(row["bits"], 3), round(100 * (row["perplexity"] / base - 1), 3)]
                for row in data["rows"]
                if row.get("dtype") in ("u2", "u3", "u4", "u5", "u6")
                and (row["way"], row["group"]) == (way, group)
            ]
    return found


def _first(cell: str) -> float:
    number = re.match(r"[\d.]+", cell)
    assert number is not None, cell
    return float(number[0])


def fingerprint(series: Series) -> str:
    """Of what a picture shows."""
    return hashlib.sha256(json.dumps(series).encode()).hexdigest()[:16]


# Each with what it shows; `drawing.DRAWN` has how.
PICTURES: dict[str, Callable[[], Series]] = {
    "decode": decode,
    "speeds": speeds,
    "predictions": predictions,
    "aarch64": aarch64,
    "accuracy": accuracy,
}
