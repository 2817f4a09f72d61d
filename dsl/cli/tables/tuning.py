"""The tables of `dslc tune`: what was measured, what would be, and what is kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dslc.cli.session import current
from dslc.cli.tables.table import print_table

if TYPE_CHECKING:
    from dslc.kernels import Kernel
    from dslc.tuner.pruning import Pruned
    from dslc.tuner.records import Record
    from dslc.tuner.tuning import Result, Tuning


def print_result(result: Result) -> None:
    """The fastest configurations, the choice, and how long it took."""
    search = result.found
    if result.record is not None:
        sizes = " ".join(f"{d}={n}" for d, n in result.record.dims.items())
        best = sorted(search.measured, key=lambda c: (c.measured != "full", c.seconds or 0.0))[:8]
        rows = [
            (
                str(c.configuration),
                f"{(c.seconds or 0.0) * 1e6:.2f}",
                f"{c.predicted * 1e6:.2f}",
                c.measured + (", default" if c is result.pruned.default else ""),
            )
            for c in best
        ]
        current().say(f"{result.kernel}, {sizes}, on {result.record.device}")
        print_table(("configuration", "us", "predicted", ""), rows, right=(1, 2))
    current().say(str(result))
    count = len(search.measured) + len(search.dropped)
    ended = f", ended by {search.interrupted}" if search.interrupted else ""
    current().note(
        f"{count} of {result.pruned.total} configurations measured in {search.elapsed:.1f} s "
        f"({search.per_minute:.0f} a minute){ended}"
    )


def print_candidates(kernel: Kernel, tuning: Tuning, pruned: Pruned) -> None:
    """The configurations that would be measured, with their predictions."""
    rows = []
    for c in tuning.chosen(pruned):
        p = c.outlook.prediction
        rows.append(
            (
                str(c.configuration) + ("  (default)" if c is pruned.default else ""),
                f"{p.seconds * 1e6:.2f}",
                p.reason,
                str(p.registers),
                str(p.at_once),
                f"{p.waves:.2f}",
            )
        )
    sizes = " ".join(f"{d}={n}" for d, n in tuning.sizes.items())
    current().say(f"{kernel.name}, {sizes}, for {kernel.target}: {_counts(pruned)}")
    header = ("configuration", "predicted us", "limited by", "registers", "blocks", "waves")
    print_table(header, rows, right=(1, 3, 4, 5))
    for configuration, reason in pruned.refused:
        current().note(f"refused: {configuration}: {reason}", level=1)


def _counts(pruned: Pruned) -> str:
    return (
        f"{pruned.total} configurations, {len(pruned.refused)} refused, {pruned.same} the same as "
        f"another, {len(pruned.candidates)} left"
    )


def print_records(records: Iterable[Record]) -> None:
    """Results on disk, a line each."""
    from dslc.compiler.fingerprint import compiler_fingerprint

    rows = []
    for r in records:
        other = "" if r.environment.compiler == compiler_fingerprint() else "another dslc"
        state = ", ".join(t for t in (other, "" if r.complete else "cut short") if t)
        faster = f"{r.default_seconds / r.seconds:.2f}x" if r.default_seconds else "-"
        rows.append(
            (
                r.environment.kernel,
                r.environment.target,
                " ".join(f"{d}={n}" for d, n in r.dims.items()),
                " ".join(f"{n}={v}" for n, v in r.config.items()) or "-",
                f"{r.seconds * 1e6:.2f}",
                faster,
                r.device,
                r.date[:10],
                state,
            )
        )
    header = ("kernel", "target", "sizes", "choices", "us", "gain", "device", "date", "")
    print_table(header, rows, right=(4, 5))
