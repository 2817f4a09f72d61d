"""What `dslc inspect` says of a kernel for Trainium: one run of the simulator without numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dslc.compilation.specialization import Specialization
    from dslc.compiler.ir import Kernel
    from dslc.runtime.nki_simulator import Run


_GREATEST = 1 << 30


def run_of(made: Specialization, sizes: Mapping[str, int]) -> Run:
    """The kernel's source on the simulator for these dims; nothing but indices is computed.

    Scalars and integers in tensors are what `sizes` says for a parameter, else the greatest number
    that the kernel's assertions allow all of them, and 1 where these say nothing.
    """
    from dslc.runtime.nki_simulator import simulate

    artifact = made.artifact
    params = {p.name: p for p in artifact.signature.params}
    number = greatest_number(made, sizes)
    values: list[Any] = []
    for argument in artifact.launch["arguments"]:
        name = argument["name"]
        if argument["kind"] == "tensor":
            values.append(_filled(params[name], sizes, sizes.get(name, number)))
        else:
            values.append(sizes.get(name, 1))
    text = made.source("nki")
    return simulate(text, artifact.entry, values, artifact.target, file=artifact.name, values=False)


def greatest_number(made: Specialization, sizes: Mapping[str, int]) -> int:
    """The greatest number that may stand in every tensor by the kernel's assertions; 1 without any."""
    from dslc.compiler.ir import Kernel
    from dslc.compiler.ir.text.parser import parse_program

    program = parse_program(made.source(made.ir_stages[-1]), "<final>")
    if not isinstance(program, Kernel) or not _allows(program, sizes, 0):
        return 1
    low, high = 0, _GREATEST
    if _allows(program, sizes, high):
        return 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _allows(program, sizes, middle) else (low, middle)
    return low


def _allows(kernel: Kernel, sizes: Mapping[str, int], number: int) -> bool:
    """Whether assertions hold where every element is a number; those of counters count as holding."""
    from dslc.compiler.ir import expr as ex
    from dslc.compiler.ir import instructions as ins
    from dslc.compiler.ir.arithmetic.affine import evaluate
    from dslc.compiler.ir.traverse import walk

    known = {dim: ex.Const(sizes[dim.name], dim.dtype) for dim in kernel.dims if dim.name in sizes}
    for stmt in walk(kernel.body):
        if isinstance(stmt, ins.Let):
            value = evaluate(stmt.value, known, number)
            if value is not None:
                known[stmt.var] = ex.Const(value, stmt.var.dtype)
        elif isinstance(stmt, ins.Assert) and evaluate(stmt.condition, known, number) is False:
            return False
    return True


def _filled(param: Any, sizes: Mapping[str, int], number: int) -> Any:
    """An array of the parameter's shape, as it is stored, that takes no memory."""
    import numpy as np
    from dslc.compiler.dtypes import parse_dtype, storage_dtype
    from dslc.runtime.expression import evaluate
    from dslc.runtime.packing import packed_shape

    shape = tuple(evaluate(text, sizes) for text in param.dims)
    if param.packed is not None:
        return np.broadcast_to(np.zeros(1, np.uint8), packed_shape(param.packed, shape))
    kind = storage_dtype(parse_dtype(param.dtype))
    most = np.iinfo(kind).max if kind.kind in "iu" else 0
    return np.broadcast_to(np.full(1, min(number, most)).astype(kind), shape)


_SHOWN = 3  # reasons of waiting
_SMALL = 0.05  # of the longest: what is not worth a word


def _waits(run: Run) -> Iterator[tuple[str, str]]:
    """What the busiest engine waits for, where it does."""
    from dslc.runtime.nki_simulator.idle import idle

    timeline = run.timeline
    compute = {name: busy for name, busy in timeline.busy.items() if name != "DMA"}
    engine = max(compute, key=lambda name: compute[name])
    waiting = idle(timeline, run.waits, engine)
    reasons = [
        f"{gap.nanoseconds / 1e3:.3g} us for {'the memory of ' if gap.room else ''}{gap.wait}, "
        f"line {gap.line}"
        for gap in waiting[:_SHOWN]
        if gap.nanoseconds > _SMALL * waiting[0].nanoseconds
    ]
    if reasons:
        total = sum(gap.nanoseconds for gap in waiting)
        yield f"{engine} waits", f"{total / 1e3:.3g} us: {'; '.join(reasons)}"


def run_lines(run: Run) -> Iterator[tuple[str, str]]:
    """Labels and texts."""
    from dslc.cli.tables.table import size_text

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


def seconds_by_line(run: Run) -> dict[int, dict[str, float]]:
    """What each engine works for a line of the source, in seconds."""
    seconds: dict[int, dict[str, float]] = {}
    timeline = run.timeline
    for step, begin, end in zip(timeline.steps, timeline.begins, timeline.ends, strict=True):
        engine = "DMA" if step.queue not in timeline.busy else step.queue
        units = seconds.setdefault(step.line, {})
        units[engine] = units.get(engine, 0.0) + (end - begin) / 1e9
    return seconds
