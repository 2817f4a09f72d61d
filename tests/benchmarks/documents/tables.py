"""The tables of the pages about performance that are made from docs/performance/data.

A page holds each between `<!-- table NAME -->` and `<!-- end -->`. A speed is the rival's time over
ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from documents.data import DATA, figures
from gpu.cases import ROWS, SHAPES, WEIGHTS, Case
from gpu.limits import bits_of, floor_us, product_operations
from gpu.predictions import Timed, regret, spread
from gpu.results import Results
from gpu.table import Rows, markdown, shape

FEW, MANY = ROWS[:2], ROWS[2:]
WIDEST = (8192, 57344)
DENSE = ("f16", "bf16", "f8e4m3")
BY_WIDTH = sorted(WEIGHTS, key=lambda w: (bits_of(w), w))
MARKED = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def product(weight: str, columns: tuple[int, int], rows: int) -> Case:
    k, n = columns
    return Case("quantized", weight, {"M": rows, "N": n, "K": k})


def best(case: Case, names: Sequence[str], library: str = "dslc") -> float | None:
    """The least time of a library in several runs, microseconds."""
    found = [figures(name).number(case, library) for name in names]
    return min((us for us in found if us is not None), default=None)


def cublas(results: Results, case: Case) -> float | None:
    """The time of cuBLAS for the same product with weights of f16, microseconds."""
    return results.number(Case("quantized", "u4", case.dims), "cublas f16")


def speeds(results: Results, rows: int) -> tuple[list[Case], list[float], list[float]]:
    """The products of so many rows in a run, and their speeds over humming's and cuBLAS's."""
    cases = [case for case in results.cases("quantized") if case.dims["M"] == rows]
    ours = [results.number(case, "dslc") or 0.0 for case in cases]
    rivals = [
        [results.number(case, "humming") for case in cases],
        [cublas(results, case) for case in cases],
    ]
    over = [
        [them / us for us, them in zip(ours, times, strict=True) if them is not None]
        for times in rivals
    ]
    return cases, over[0], over[1]


def headline() -> str:
    """A line for each number of rows: how many products, and the range of their speeds."""
    lines: Rows = []
    for rows in ROWS:
        cases, humming, f16 = speeds(figures("decode" if rows in FEW else "prefill"), rows)
        weights, shapes = ({f(c) for c in cases} for f in (lambda c: c.name, shape))
        where = f"{len(shapes)} shapes" if len(shapes) > 1 else shapes.pop()
        lines.append(
            [str(rows), f"{len(weights)} types of weights, {where}", *_range(humming), *_range(f16)]
        )
    heads = ("M", "products", "speed / humming", "faster", "speed / cuBLAS f16", "faster")
    return markdown(heads, lines)


def _range(speeds: Sequence[float]) -> tuple[str, str]:
    if not speeds:
        return "-", "-"
    faster = sum(speed >= 1 for speed in speeds)
    return f"{min(speeds):.2f} to {max(speeds):.2f}", f"{faster} of {len(speeds)}"


def decode() -> str:
    """The widest product, beside humming in the same run."""
    results, lines = figures("decode"), []
    for weight in BY_WIDTH:
        cells = [weight]
        for rows in FEW:
            case = product(weight, WIDEST, rows)
            ours, them = (results.number(case, name) or 0.0 for name in ("dslc", "humming"))
            floor = floor_us(case) / ours
            cells += [f"{ours:.1f}", f"{them:.1f}", f"{them / ours:.2f}", f"{floor:.0%}"]
        lines.append(cells)
    heads = [
        f"{'M = ' + str(rows) + ': ' if first else ''}{head}"
        for rows in FEW
        for first, head in zip(
            (1, 0, 0, 0), ("dslc us", "humming us", "speed", "of floor"), strict=True
        )
    ]
    return markdown(("weights", *heads), lines)


def shapes() -> str:
    """The other three products, beside humming in the same run."""
    columns = [(s, rows) for s in SHAPES if s != WIDEST for rows in FEW]
    results, lines = figures("decode"), []
    for weight in BY_WIDTH:
        cases = [product(weight, s, rows) for s, rows in columns]
        ours, them = (
            [results.number(case, library) or 0.0 for case in cases]
            for library in ("dslc", "humming")
        )
        pairs = zip(ours, them, strict=True)
        lines.append([weight, *(f"{a:.1f} / {b:.1f} = {b / a:.2f}" for a, b in pairs)])
    heads = [f"{k} x {n}, M = {rows}" for (k, n), rows in columns]
    return markdown(("weights", *heads), lines)


def prefill() -> str:
    """Many rows: our time, and in brackets the speeds over humming's and cuBLAS's of the same run."""
    results, lines = figures("prefill"), []
    for columns in SHAPES:
        for weight in ("u2", "u4", "f6e3m2", "u8"):
            cells = [f"{columns[0]} x {columns[1]}", weight]
            for case in (product(weight, columns, rows) for rows in MANY):
                ours = results.number(case, "dslc") or 0.0
                them = [results.number(case, "humming"), cublas(results, case)]
                cells.append(f"{ours:.1f} ({', '.join(f'{us / ours:.2f}' for us in them if us)})")
            lines.append(cells)
    return markdown(("K x N", "weights", *(f"M = {rows}" for rows in MANY)), lines)


def defaults() -> str:
    """Calls that name no choices: their time, and in brackets over that of the best named choice."""
    results, lines = figures("defaults"), []
    for columns in SHAPES:
        for weight in ("u4", "u8"):
            cells = [f"{columns[0]} x {columns[1]}", weight]
            for case in (product(weight, columns, rows) for rows in ROWS):
                ours, named = results.number(case, "dslc"), best(case, ("decode", "prefill"))
                assert ours is not None
                assert named is not None
                cells.append(f"{ours:.1f} ({ours / named:.2f})")
            lines.append(cells)
    return markdown(("K x N", "weights", *(f"M = {rows}" for rows in ROWS)), lines)


def dense() -> str:
    """Products of f16, bf16 and f8e4m3 beside cuBLAS in the same process: our time and the speed."""
    results, sizes = figures("dense"), {}
    for case in results.cases("dense"):
        sizes.setdefault(tuple(case.dims[d] for d in "MKN"), {})[case.dtype] = case
    lines = []
    for (m, k, n), cases in sorted(sizes.items()):
        cells = [_beside(results, cases.get(dtype)) for dtype in DENSE]
        lines.append([str(m), f"{k} x {n}", *(cell for three in cells for cell in three)])
    heads = [f"{dtype}: {head}" for dtype in DENSE for head in ("us", "TFLOP/s", "speed")]
    return markdown(("M", "K x N", *heads), lines)


def _beside(results: Results, case: Case | None) -> tuple[str, str, str]:
    """Our time, our rate and cuBLAS's time over ours."""
    ours, them = (
        None if case is None else results.number(case, name) for name in ("dslc", "cublas")
    )
    if case is None or ours is None or them is None:
        return "-", "-", "-"
    return f"{ours:.1f}", f"{product_operations(case) / ours / 1e6:.0f}", f"{them / ours:.2f}"


def predictions() -> str:
    """By kernel and rows: how far predictions are off, and the worst first choice of those timed."""
    found: dict[tuple[str, str], list[list[Timed]]] = {}
    for case in json.loads((DATA / "predictions.json").read_text(encoding="utf-8")):
        kernel, rows = case["case"].partition(" ")[0], re.search(r"\bM=(\d+)", case["case"])
        timed = [Timed({}, us, predicted, {}) for _, us, predicted in case["times"]]
        found.setdefault((kernel, rows[1] if rows else ""), []).append(timed)
    lines = []
    for (kernel, rows), cases in sorted(found.items(), key=lambda f: (f[0][0], int(f[0][1] or 0))):
        every = [one for timed in cases for one in timed]
        mean, scatter = spread(every)
        lost = [regret(timed) for timed in cases]
        missed = sum(one > 1.1 for one in lost)
        lines.append([
            kernel, rows, str(len(every)), f"{mean:.2f}", f"{scatter:.2f}",
            f"{len(cases) - missed} of {len(cases)}", f"{max(lost):.2f}",
        ])  # fmt: skip
    heads = (
        "kernel", "M", "times", "predicted / measured", "scatter", "first within 10 %", "worst first",
    )  # fmt: skip
    return markdown(heads, lines)


def _accuracy() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((DATA / "accuracy.json").read_text())["rows"]
    return rows


def accuracy() -> str:
    """Perplexities by the type of weights, the rows of a group and the way of rounding."""
    rows = [row for row in _accuracy() if "dtype" in row]
    found = {(r["dtype"], r["group"], r["way"]): f"{r['perplexity']:.3f}" for r in rows}
    columns = {
        "groups of 32": [(32, "nearest")],
        "calibrated": [(32, "calibrated")],
        "of 128": [(128, "nearest")],
        "calibrated ": [(128, "calibrated")],
        "a column": [(0, "nearest")],
        "MX, NVFP4": [(32, "MX"), (16, "NVFP4")],
    }
    lines = []
    for dtype in dict.fromkeys(row["dtype"] for row in rows):
        cells = ([(dtype, *key) for key in keys] for keys in columns.values())
        lines.append([dtype, *(", ".join(found[k] for k in own if k in found) for own in cells)])
    return markdown(("weights", *(name.strip() for name in columns)), lines)


def ranks() -> str:
    """Perplexities by the share of parameters that factors save."""
    rows = [row for row in _accuracy() if "ratio" in row]
    found = {(row["ratio"], row["way"]): f"{row['perplexity']:.3f}" for row in rows}
    ways = ("factors", "factors, calibrated")
    shares = dict.fromkeys(ratio for ratio, _ in found)
    lines = [[f"{share:.0%}", *(found[share, way] for way in ways)] for share in shares]
    return markdown(("parameters saved", *ways), lines)


TABLES: dict[str, Callable[[], str]] = {
    "headline": headline,
    "decode": decode,
    "shapes": shapes,
    "prefill": prefill,
    "defaults": defaults,
    "dense": dense,
    "predictions": predictions,
    "accuracy": accuracy,
    "ranks": ranks,
}


def filled(page: str) -> str:
    """A page with its marked tables made anew."""
    return MARKED.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", page)
