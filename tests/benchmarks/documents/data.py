"""The measurements that the documents show: docs/performance/data, in the form of `run.py`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gpu.results import Results

DOCS = Path(__file__).resolve().parents[3] / "docs"
DATA = DOCS / "performance" / "data"
LEFT_OUT = ("times", "took")  # of a record: the single replays, and how long measuring took


def figures(name: str) -> Results:
    """The runs of `NAME.json`."""
    return Results.load(DATA / f"{name}.json")


def keep(name: str, sources: Iterable[Path]) -> None:
    """Raw figures of one or several runs as `NAME.json`: a line for each record, medians alone."""
    whole = Results.joined(Results.load(path) for path in sources)
    records = [{k: _short(v) for k, v in r.items() if k not in LEFT_OUT} for r in whole.records]
    lines = ",\n".join(json.dumps(record) for record in records)
    head = f'"machine": {json.dumps(whole.machine)},\n"versions": {json.dumps(whole.versions)}'
    text = f'{{{head},\n"records": [\n{lines}\n]}}\n'
    (DATA / f"{name}.json").write_text(text, encoding="utf-8")


def _short(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value
