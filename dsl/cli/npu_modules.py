"""A module of the aie dialect that somebody has written, on the simulator of an NPU."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from dslc.cli.inputs import Array, parse_pairs, read_inputs
from dslc.cli.session import current
from dslc.cli.tables.aie import array_lines, run_lines
from dslc.cli.tables.table import print_table
from dslc.compiler.diagnostics import error
from dslc.compiler.diagnostics.suggest import did_you_mean
from dslc.runtime.aie_simulator import AieFault, blank_arguments, simulate


@dataclass(frozen=True)
class ModuleOptions:
    """Which sequence of a module is dispatched, and with what."""

    device: str | None = None
    sequence: str | None = None
    functions: Path | None = None
    assumed: tuple[str, ...] = ()
    bfp16: bool = False
    seed: int = 0


def run_module(
    file: Path,
    inputs: tuple[str, ...],
    options: ModuleOptions,
    output: Path | None,
    timeline: Path | None,
) -> None:
    """Run it, and say what the arguments hold then; the faults are of the file's lines."""
    text = file.read_text(encoding="utf-8")
    try:
        arrays = blank_arguments(text, options.device, options.sequence)
        _fill(arrays, inputs, options.seed)
        before = {name: array.copy() for name, array in arrays.items()}
        run = simulate(
            text,
            list(arrays.values()),
            bfp16=options.bfp16,
            device=options.device,
            sequence=options.sequence,
            functions=_functions(options.functions),
            waits="waits" in options.assumed,
            zeroed="zeroed" in options.assumed,
            overlay="overlay" in options.assumed,
            lenient="lenient" in options.assumed,
        )
    except AieFault as fault:
        raise AieFault(fault.rule, fault.message, str(file), fault.line) from None
    _print_arguments(before, arrays)
    for label, line in run_lines(run):
        current().say(f"{label + ':':<13} {line}")
    for line in run.left:
        current().say(f"left:         {line}")
    for line in array_lines(run):
        current().say(line)
    if output is not None:
        saved: Mapping[str, Any] = arrays
        np.savez(output, **saved)
        current().say(f"wrote {output}")
    if timeline is not None:
        from dslc.runtime.aie_simulator.picture import timeline_svg

        timeline.write_text(timeline_svg(run, file.stem), encoding="utf-8")
        current().say(f"wrote {timeline}")


def _fill(arrays: dict[str, Array], inputs: tuple[str, ...], seed: int) -> None:
    """Arguments from files, numbers for every element, or random ones; the others are zeros."""
    rng = np.random.default_rng(seed)
    for name, text in parse_pairs(inputs, "--input", "DSL0911").items():
        if name not in arrays:
            known = ", ".join(arrays) or "none"
            hint = did_you_mean(name, list(arrays)) or f"its arguments are {known}"
            raise error("DSL0911", f"--input {name}: the sequence has no such argument", hint=hint)
        own = arrays[name]
        if text == "random":
            own[...] = _random(own, rng)
            continue
        given: Any = read_inputs((f"{name}={text}",))[name]
        array = np.asarray(given)
        if array.shape and array.size < own.size:
            sizes = f"{array.size} elements for {own.size}"
            raise error("DSL0911", f"--input {name}: {text} has {sizes}")
        if array.dtype.kind == "V" and array.dtype.itemsize == own.dtype.itemsize:
            array = array.view(own.dtype)  # a file's bf16
        if array.size == own.size and array.shape:
            array = array.reshape(own.shape)
        shape = array.shape or own.shape
        arrays[name] = np.ascontiguousarray(np.broadcast_to(array, shape), own.dtype)


def _random(array: Array, rng: np.random.Generator) -> Array:
    if array.dtype.kind in "iu":
        info = np.iinfo(array.dtype)
        integers = rng.integers(max(info.min, -100), min(info.max, 100), array.shape)
        return np.asarray(integers, array.dtype)
    return np.asarray(rng.standard_normal(array.shape)).astype(array.dtype)


def _functions(file: Path | None) -> dict[str, Callable[..., Any]]:
    """What a Python file defines."""
    if file is None:
        return {}
    return {name: value for name, value in runpy.run_path(str(file)).items() if callable(value)}


def _print_arguments(before: Mapping[str, Array], after: Mapping[str, Array]) -> None:
    rows = []
    for name, array in after.items():
        values = array.astype(np.float64)
        finite = values[np.isfinite(values)]
        changed = int(np.count_nonzero(before[name] != array))
        row = [name, array.dtype.name, "x".join(map(str, array.shape)) or "-", str(changed)]
        rows.append([*row, *(f"{f(finite):.6g}" if finite.size else "-" for f in (np.min, np.max))])
    print_table(("argument", "dtype", "shape", "changed", "min", "max"), rows, right=range(3, 6))
