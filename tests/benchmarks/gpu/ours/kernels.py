"""Kernels of examples/ through the public API, compiled in parallel before they are measured."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import dslc
from dslc.compilation.specialization import Specialization
from gpu.ours.candidates import Choice, choices, given

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
TUNING_SECONDS = 20.0
FILES = {
    "softmax_rows": "softmax",
    "gemm_quantized_sums": "gemm_quantized",
    "gemv_sliced": "gemv_quantized",
    "gemm_turned": str(Path(__file__).parent / "gemm_turned"),
}  # of kernels whose file has another name

# file, kernel, definitions, sizes, choice: what one compilation needs, as plain data.
Job = tuple[str, str, tuple[tuple[str, Any], ...], tuple[tuple[str, int], ...], Choice]


@functools.cache
def target() -> str:
    from dslc.machines.cuda import present_target

    return present_target()


@functools.cache
def library(file: str, define: tuple[tuple[str, Any], ...], machine: str) -> dslc.Library:
    return dslc.compile(EXAMPLES / f"{file}.tile", target=machine, define=dict(define))


def job(
    file: str, kernel: str, define: Mapping[str, Any], sizes: Mapping[str, int], choice: Choice
) -> Job:
    return (file, kernel, tuple(define.items()), tuple(sizes.items()), choice)


def build(what: Job, machine: str) -> Specialization:
    """A kernel for a choice, as a call of these sizes would have it."""
    file, kernel, define, sizes, choice = what
    return library(file, define, machine)[kernel].specialize_for(dict(sizes), choice)


def _build_quietly(what: Job, machine: str) -> None:
    """Into the cache of compiled kernels; an error is met again, and told, where it is used."""
    try:
        build(what, machine)
    except Exception:
        return


def build_all(jobs: Iterable[Job]) -> None:
    """Compile on all cores. The kernels come from the cache afterwards."""
    todo = list(jobs)
    if len(todo) < 2:
        return
    workers = min(len(todo), os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        chunk = max(1, len(todo) // (4 * workers))
        for _ in pool.map(_build_quietly, todo, [target()] * len(todo), chunksize=chunk):
            pass


def jobs_for(
    file: str, kernel: str, define: Mapping[str, Any], sizes: Mapping[str, int], rows: int
) -> list[Job]:
    return [job(file, kernel, define, sizes, choice) for choice in choices(kernel, rows, given())]


def tune(what: Job, machine: str) -> None:
    """Have the compiler's tuner find and store the choices of these sizes.

    Each number of rows may store its weights in a way of its own, as each is measured by itself.
    """
    file, name, define, sizes, _ = what
    kernel = library(file, define, machine)[name]
    dims = {dim: size for dim, size in sizes if dim in kernel.dims}
    kernel.tune(**dims, budget=TUNING_SECONDS, repack=True)


def first(jobs: list[Job]) -> Specialization:
    """The first choice that fits the machine; the error of the last if none does."""
    for what in jobs[:-1]:
        with contextlib.suppress(dslc.DiagnosticError):
            return build(what, target())
    return build(jobs[-1], target())


def best(
    jobs: list[Job], launcher: Callable[[Specialization], Callable[[int], object]], copies: int
) -> Specialization:
    """The quickest of some choices by a few replays; a choice that does not compile is passed over.

    `launcher` gives what launches a specialisation on copy i. The last error goes on if none compiles.
    """
    if given() == "tune":
        tune(jobs[0], target())
    if len(jobs) == 1:
        return build(jobs[0], target())
    from gpu.measure import replays  # torch; what compiles ahead goes without

    found: list[tuple[float, Specialization]] = []
    failure: Exception | None = None
    for what in jobs:
        try:
            made = build(what, target())
            found.append((median(replays(launcher(made), copies, warm=1, count=5)), made))
        except Exception as e:
            if type(e).__name__ == "AcceleratorError":
                raise
            failure = e
    if not found:
        assert failure is not None
        raise failure
    return min(found, key=lambda pair: pair[0])[1]
