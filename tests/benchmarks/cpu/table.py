"""docs/performance/cpu.md's tables, from the raw figures in docs/performance/data/cpu*.json.

python tests/benchmarks/cpu/table.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from cases import Case

DOCS = Path(__file__).parents[3] / "docs" / "performance"
_MARK = re.compile(r"(<!-- table (\w+) -->\n)(?:\|.*\n)*")


def rows_of(figures: dict[str, Any]) -> list[str]:
    """A line a case: for each number of threads the time, the rate, and each rival's time over ours."""
    lines = [
        "| case | threads | time | rate | rivals, their time over ours |",
        "|---|---|---|---|---|",
    ]
    for row in figures["rows"]:
        case = Case(**{**row["case"], "sizes": tuple(row["case"]["sizes"])})
        own = row["ours"].get("seconds")
        if own is None:
            lines.append(f"| {case.name} | {row['threads']} | failed | | |")
            continue
        rate = f"{case.operations / own / 1e9:.0f} Gop/s" if case.operations else ""
        if case.kind.startswith("w4") and case.place == "memory":
            rate = f"{case.weight_bytes / own / 1e9:.1f} GB/s of weights"
        rivals = ", ".join(
            f"{name} {seconds / own:.2f}"
            for name, seconds in row["rivals"].items()
            if name != "error"
        )
        lines.append(f"| {case.name} | {row['threads']} | {time_text(own)} | {rate} | {rivals} |")
    return lines


def calls_of(figures: dict[str, float]) -> list[str]:
    """A line for each thing between a program and a kernel."""
    lines = ["| what | time |", "|---|---|"]
    return [*lines, *(f"| {name} | {time_text(s)} |" for name, s in figures.items())]


def time_text(seconds: float) -> str:
    """A time as a person reads it."""
    return f"{seconds * 1e6:.2f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def main() -> None:
    kernels = json.loads((DOCS / "data" / "cpu.json").read_text())
    calls = json.loads((DOCS / "data" / "cpu_calls.json").read_text())
    tables = {"kernels": rows_of(kernels), "calls": calls_of(calls)}
    page = DOCS / "cpu.md"

    def filled(mark: re.Match[str]) -> str:
        return mark[1] + "\n".join(tables[mark[2]]) + "\n"

    page.write_text(_MARK.sub(filled, page.read_text()))


if __name__ == "__main__":
    main()
