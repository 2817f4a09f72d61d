"""What `dslc inspect` says of a kernel for Trainium: one run of the simulator without numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dslc.runtime.nki_simulator import Run
    from dslc.specialization import Specialization


def run_of(made: Specialization, sizes: Mapping[str, int]) -> Run:
    """The kernel's source on the simulator for these dims. Scalars are 1; nothing is computed."""
    from dslc.runtime.nki_simulator import simulate

    artifact = made.artifact
    params = {p.name: p for p in artifact.signature.params}
    values: list[Any] = []
    for argument in artifact.launch["arguments"]:
        name = argument["name"]
        if argument["kind"] == "tensor":
            values.append(_blank(params[name], sizes))
        else:
            values.append(sizes.get(name, 1))
    text = made.source("nki")
    return simulate(text, artifact.entry, values, artifact.target, file=artifact.name, values=False)


def _blank(param: Any, sizes: Mapping[str, int]) -> Any:
    """An array of the parameter's shape, as it is stored, that takes no memory."""
    import numpy as np
    from dslc.compiler.dtypes import parse_dtype, storage_dtype
    from dslc.runtime.expression import evaluate
    from dslc.runtime.packing import packed_shape

    shape = tuple(evaluate(text, sizes) for text in param.dims)
    if param.packed is not None:
        return np.broadcast_to(np.zeros(1, np.uint8), packed_shape(param.packed, shape))
    return np.broadcast_to(np.zeros(1, storage_dtype(parse_dtype(param.dtype))), shape)


_SHOWN = 3  # reasons of waiting
_SMALL = 0.05  # of the longest: what is not worth a word


def _waits(run: Run) -> Iterator[tuple[str, str]]:
    """What the busiest engine waits for, where it does."""
    from dslc.runtime.nki_simulator.idle import idle

    timeline = run.timeline
    compute = {name: busy for name, busy in timeline.busy.items() if name != "DMA"}
    engine = max(compute, key=lambda name: compute[name])
    found = idle(timeline, run.waits, engine)
    reasons = [
        f"{gap.nanoseconds / 1e3:.3g} us for {'the memory of ' if gap.room else ''}{gap.wait}, "
        f"line {gap.line}"
        for gap in found[:_SHOWN]
        if gap.nanoseconds > _SMALL * found[0].nanoseconds
    ]
    if reasons:
        total = sum(gap.nanoseconds for gap in found)
        yield f"{engine} waits", f"{total / 1e3:.3g} us: {'; '.join(reasons)}"


def run_lines(run: Run) -> Iterator[tuple[str, str]]:
    """Labels and texts."""
    from dslc.cli.tables import size_text

    timeline = run.timeline
    yield (
        "modelled",
        f"{timeline.total / 1e3:.4g} us on {run.core.name}, {run.of_peak:.1%} of its peak",
    )
    shares = ", ".join(f"{engine} {timeline.active(engine):.0%}" for engine in timeline.busy)
    yield "engines", f"busy {shares}"
    yield from _waits(run)
    read, written = size_text(run.trace.hbm_read), size_text(run.trace.hbm_written)
    yield "HBM", f"{read} read, {written} written"
    sbuf, psum = size_text(run.sbuf_peak), size_text(run.psum_peak)
    yield "on chip", f"at most {sbuf} of SBUF and {psum} of PSUM a partition"
    counts = ", ".join(f"{name} {count}" for name, count in run.trace.counts.most_common(5))
    yield "instructions", f"{len(run.trace.steps)}: {counts}"
    for finding in run.findings:
        yield "note", finding
