"""Markdown tables of the results: ours, the rival's, their ratio, the share of the floor, the bar."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpu import limits
from gpu.cases import Case
from gpu.results import Results

Rows = list[list[str]]


def markdown(heads: Sequence[str], rows: Rows) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def figure(value: float | None, form: str = ".1f") -> str:
    return "-" if value is None else format(value, form)


def ratio(ours: float | None, rival: float | None) -> float | None:
    """Our speed as a multiple of the rival's."""
    return None if ours is None or rival is None else rival / ours


def share(part: float | None) -> str:
    return figure(part, ".0%")


def judged(verdict: limits.Verdict, error: float | None) -> str:
    """The verdict on a time; a time of wrong results counts for nothing."""
    if error is not None and not error <= limits.ERROR_LIMIT:
        return f"wrong: error {error:.1e}"
    return str(verdict)


def shape(case: Case) -> str:
    return f"{case.dims['K']} x {case.dims['N']}"


def quantized(results: Results) -> str:
    rows: Rows = []
    for case in results.cases("quantized"):
        ours, rival = (results.number(case, name) for name in ("dslc", "humming"))
        f16 = results.number(Case("quantized", "u4", case.dims), "cublas f16")
        errors = [results.number(case, name, "error") for name in ("dslc", "humming")]
        verdict = limits.Verdict(None)
        if ours is not None:
            verdict = limits.quantized_verdict(case, ours, rival, f16)
        floor = limits.floor_us(case)
        rows.append([
            case.name, shape(case), str(case.dims["M"]), figure(ours), figure(rival),
            figure(limits.tilus_us(case)), figure(f16), figure(ratio(ours, rival), ".2f"),
            share(None if ours is None else floor / ours),
            *(figure(e, ".1e") for e in errors), judged(verdict, errors[0]),
        ])  # fmt: skip
    heads = (
        "weights", "K x N", "M", "dslc us", "humming us", "tilus us (published)", "cuBLAS f16 us",
        "speed / humming", "of floor", "error", "humming's", "bar",
    )  # fmt: skip
    return markdown(heads, rows)


def dense(results: Results) -> str:
    rows: Rows = []
    for case in results.cases("dense"):
        ours, rival = (results.number(case, name) for name in ("dslc", "cublas"))
        rate, error = limits.product_operations(case) / 1e6, results.number(case, "dslc", "error")
        verdict = limits.Verdict(None)
        if ours is not None:
            verdict = limits.dense_verdict(case, ours, rival)
        rows.append([
            case.dtype, shape(case), str(case.dims["M"]), figure(ours), figure(rival),
            figure(None if ours is None else rate / ours, ".0f"),
            figure(None if rival is None else rate / rival, ".0f"),
            figure(ratio(ours, rival), ".2f"), figure(error, ".1e"), judged(verdict, error),
        ])  # fmt: skip
    heads = (
        "type", "K x N", "M", "dslc us", "cuBLAS us", "dslc TFLOP/s", "cuBLAS TFLOP/s",
        "speed / cuBLAS", "error", "bar",
    )  # fmt: skip
    return markdown(heads, rows)


def bandwidth(results: Results, case: Case, library: str) -> float | None:
    """TB/s of what a kernel of rows reads and writes."""
    us, size = (results.number(case, library, name) for name in ("us", "bytes"))
    return None if us is None or size is None else size / us / 1e6


def row_kernels(results: Results) -> str:
    rows: Rows = []
    cases = results.cases("rows")
    copies = [bandwidth(results, c, "torch.compile") for c in cases if c.name == "copy"]
    ceiling = copies[0] if copies else None
    for case in cases:
        ours, rival = (results.number(case, name) for name in ("dslc", "torch.compile"))
        rate, error = bandwidth(results, case, "dslc"), results.number(case, "dslc", "error")
        verdict = limits.Verdict(None)
        if ours is not None and rate is not None:
            faster = None if rival is None else ours <= rival * limits.NOISE
            verdict = limits.rows_verdict(rate, ceiling, faster)
        of_copy = None if rate is None or ceiling is None else rate / ceiling
        rows.append([
            case.name, case.dtype, figure(ours), figure(rival), figure(rate, ".2f"),
            figure(bandwidth(results, case, "torch.compile"), ".2f"), share(of_copy),
            figure(ratio(ours, rival), ".2f"), figure(error, ".1e"), judged(verdict, error),
        ])  # fmt: skip
    heads = (
        "kernel", "type", "dslc us", "torch.compile us", "dslc TB/s", "torch.compile TB/s",
        "of a copy", "speed / torch.compile", "error", "bar",
    )  # fmt: skip
    return markdown(heads, rows)


def attention(results: Results) -> str:
    rows: Rows = []
    for case in results.cases("attention"):
        times = [results.number(case, name) for name in ("dslc", "cudnn", "flash")]
        work = limits.attention_operations(case) / 1e6
        rates = [figure(None if us is None else work / us, ".0f") for us in times]
        error = results.number(case, "dslc", "error")
        verdict = limits.attention_verdict(case, times[0], times[1])
        rows.append([
            case.name, str(case.dims["S"]), *map(figure, times), *rates,
            figure(ratio(times[0], times[1]), ".2f"), figure(ratio(times[0], times[2]), ".2f"),
            figure(error, ".1e"), judged(verdict, error),
        ])  # fmt: skip
    heads = (
        "mask", "length", "dslc us", "cuDNN us", "flash us", "dslc TFLOP/s", "cuDNN", "flash",
        "speed / cuDNN", "speed / flash", "error", "bar",
    )  # fmt: skip
    return markdown(heads, rows)


def launch(results: Results) -> str:
    rows: Rows = []
    for case in results.cases("launch"):
        found = results.of(case, "dslc and triton") or {}
        host = found.get("host", {})
        for name, us in host.items():
            bar = limits.launch_verdict(us, host["triton"]) if name == "dslc" else "-"
            rows.append([name, figure(us, ".2f"), figure(us / host["triton"], ".2f"), str(bar)])
    return markdown(("call", "host us", "of Triton's", "bar"), rows)


def grid(results: Results) -> str:
    """A line a weight type: the greatest error of all shapes, and how many were held."""
    rows: Rows = []
    cases = results.cases("grid")
    for weight in dict.fromkeys(case.name for case in cases):
        mine = [case for case in cases if case.name == weight]
        errors = [results.number(case, "dslc", "error") for case in mine]
        rivals = [results.number(case, "humming", "error") for case in mine]
        pairs = list(zip(errors, rivals, strict=True))
        held = sum(
            e is not None and limits.error_verdict(weight, e, r).met is True for e, r in pairs
        )
        known = [r for r in rivals if r is not None]
        rows.append([
            weight, f"{held} of {len(mine)}",
            figure(max((e for e in errors if e is not None), default=None), ".1e"),
            figure(max(known, default=None), ".1e"), str(len(known)),
            "met" if held == len(mine) else "missed",
        ])  # fmt: skip
    heads = ("weights", "shapes held", "greatest error", "humming's", "humming's shapes", "bar")
    return markdown(heads, rows)


def compiling(results: Results) -> str:
    rows: Rows = []
    for case in results.cases("compiling"):
        seconds = results.number(case, "dslc", "seconds")
        bar = "-" if seconds is None else str(limits.compile_verdict(seconds))
        rows.append([case.name, figure(seconds and seconds * 1e3, ".0f"), bar])
    return markdown(("kernel", "text to cubin ms", "bar"), rows)


TABLES: dict[str, tuple[str, Callable[[Results], str]]] = {
    "quantized": ("Quantised products", quantized),
    "dense": ("Dense products", dense),
    "rows": ("Rows and elements, 8192 x 8192", row_kernels),
    "attention": ("Attention, 16 heads of 128, bf16, forward", attention),
    "launch": ("A launch with eight tensors on the host", launch),
    "grid": ("Correctness against float32", grid),
    "compiling": ("Compiling, two cores", compiling),
}


def document(results: Results) -> str:
    """All sections that were measured, with date and machine before and failures after."""
    facts = [f"{name} {value}" for name, value in {**results.machine, **results.versions}.items()]
    parts = ["; ".join(facts) + "."]
    for section, (title, make) in TABLES.items():
        if results.cases(section):
            parts += [f"### {title}", make(results)]
    failures = [f"- {lib}: {case.label}: {text}" for case, lib, text in results.failures()]
    if failures:
        parts += ["### What failed", "\n".join(failures)]
    return "\n\n".join(parts) + "\n"
