"""A kernel in NKI that somebody has written, on the simulator of a NeuronCore."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np
from dslc.cli.inputs import parse_pairs, read_inputs
from dslc.cli.session import current
from dslc.cli.tables.nki import run_lines
from dslc.cli.tables.table import print_table
from dslc.runtime.nki_simulator import Run, simulate_file

_SHAPED = re.compile(r"(\w+)\[\s*(\d+(?:\s*,\s*\d+)*)\s*\]")


def run_kernel(
    file: Path,
    entry: str,
    inputs: tuple[str, ...],
    seed: int,
    target: str,
    grid: int,
    output: Path | None,
    timeline: Path | None,
) -> None:
    """Run it, and say what it returns."""
    run = simulate_file(file.resolve(), entry, _values(inputs, seed), target, grid)
    _print_outputs(run)
    for label, text in run_lines(run):
        current().say(f"{label + ':':<13} {text}")
    if output is not None:
        named: dict[str, Any] = {f"out{i}": array for i, array in enumerate(run.outputs)}
        np.savez(output, **named)
        current().say(f"wrote {output}")
    if timeline is not None:
        from dslc.runtime.nki_simulator.picture import timeline_svg

        timeline.write_text(timeline_svg(run, entry), encoding="utf-8")
        current().say(f"wrote {timeline}")


def _values(inputs: tuple[str, ...], seed: int) -> dict[str, Any]:
    """The arguments by name; DSL0911 for what is neither a file, a shape nor a literal."""
    rng = np.random.default_rng(seed)
    values: dict[str, Any] = {}
    for name, text in parse_pairs(inputs, "--input", "DSL0911").items():
        shaped = _SHAPED.fullmatch(text.strip())
        if shaped is not None:
            values[name] = _random(name, shaped[1], tuple(map(int, shaped[2].split(","))), rng)
            continue
        try:
            values[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            values |= read_inputs((f"{name}={text}",))
    return values


def _random(
    name: str, dtype: str, shape: tuple[int, ...], rng: np.random.Generator
) -> np.ndarray[Any, Any]:
    from dslc.calls.random_inputs import random_array
    from dslc.compiler.diagnostics import error
    from dslc.compiler.dtypes import parse_dtype, to_ml_dtypes

    kind = parse_dtype(dtype)
    if kind is None or kind.bits not in (8, 16, 32):
        raise error(
            "DSL0911",
            f"--input {name}={dtype}{list(shape)}: there is no {dtype} on a NeuronCore",
            hint="f32, f16, bf16, f8e4m3, f8e5m2, i32, u32, i16, u16, i8, u8",
        )
    array = random_array(kind, shape, rng)
    narrow = to_ml_dtypes(kind) if kind.is_float else None
    return array if narrow is None or array.dtype == narrow else array.view(narrow)


def _print_outputs(run: Run) -> None:
    rows = []
    for number, array in enumerate(run.outputs):
        values = array.astype(np.float64)
        finite = values[np.isfinite(values)]
        row = [f"out{number}", array.dtype.name, "x".join(map(str, array.shape))]
        row += [f"{f(finite):.6g}" if finite.size else "-" for f in (np.min, np.max, np.mean)]
        rows.append([*row, str(np.isnan(values).sum()), str(np.isinf(values).sum())])
    header = ("output", "dtype", "shape", "min", "max", "mean", "NaN", "inf")
    print_table(header, rows, right=range(3, 8))
