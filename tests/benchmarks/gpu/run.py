"""The benchmark against rivals on one NVIDIA GPU: `make bench-gpu`.

    pip install torch triton humming-kernels==0.1.19
    python tests/benchmarks/gpu/run.py
    python tests/benchmarks/gpu/run.py --section quantized --weights u4,i6 --rows 1,16
    python tests/benchmarks/gpu/run.py --section dense --config choices.json --markdown dense.md
    python tests/benchmarks/gpu/run.py --from bench-gpu.json --markdown bench-gpu.md

A process for each section and library. Tables go to the standard output, raw figures to --json.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":  # tests import it too
    sys.path[0] = str(HERE.parent)

from gpu import cases, limits, machine  # noqa: E402
from gpu.cases import Case  # noqa: E402
from gpu.libraries import LIBRARIES  # noqa: E402
from gpu.results import BROKEN, MARK, Results  # noqa: E402
from gpu.table import document  # noqa: E402

COMPILING = 10  # times the patience of a case: all kernels are compiled before the first


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words = {"type": lambda text: text.split(",")}
    parser.add_argument("--section", **words, default=list(LIBRARIES), help=", ".join(LIBRARIES))
    parser.add_argument("--library", **words, help="only these: dslc, humming, cublas, ...")
    parser.add_argument("--shapes", **words, help="of products, K x N: 8192x8192,28672x8192")
    parser.add_argument("--rows", **words, help="M of products: 1,16")
    parser.add_argument("--weights", **words, help="types of quantised products: u4,f6e3m2")
    parser.add_argument("--types", **words, default=["f16", "bf16"], help="of dense products")
    parser.add_argument("--kernels", **words, help="of rows, and to compile: softmax_rows,rope")
    parser.add_argument("--lengths", **words, help="of attention: 4096,8192")
    parser.add_argument(
        "--config",
        default="listed",
        help="our tune choices: default (as a call without any), tune, listed, or a JSON file",
    )
    parser.add_argument("--bars", action="store_true", help="only what the project sets a bar for")
    parser.add_argument("--json", type=Path, default=Path("bench-gpu.json"), help="raw figures")
    parser.add_argument("--markdown", type=Path, help="the tables as a file, too")
    parser.add_argument("--from", dest="source", type=Path, nargs="+", help="raw figures to show")
    parser.add_argument("--patience", type=float, default=300, help="seconds a case may take")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop measuring after these")
    return parser.parse_args(given)


def chosen(options: argparse.Namespace) -> dict[str, list[Case]]:
    """The cases of each section that was asked for."""
    shapes = [tuple(map(int, s.split("x"))) for s in options.shapes or ()] or list(cases.SHAPES)
    rows = [int(m) for m in options.rows or ()]
    weights = options.weights
    makers = {
        "quantized": lambda: cases.quantized(shapes, rows or cases.ROWS, weights or cases.WEIGHTS),
        "dense": lambda: [
            case
            for case in cases.dense(shapes, rows or cases.ROWS, options.types)
            if not rows or case.dims["M"] in rows
        ],
        "rows": lambda: cases.rows(options.kernels or cases.ROW_KERNELS),
        "attention": lambda: cases.attention([int(s) for s in options.lengths or cases.LENGTHS]),
        "launch": cases.launch,
        "grid": lambda: cases.grid(weights or cases.EVERY_WEIGHT, rows or cases.GRID_ROWS),
        "compiling": cases.compiling,
    }
    found = {section: makers[section]() for section in options.section}
    if options.bars:
        found = {s: [c for c in every if limits.has_bar(c)] for s, every in found.items()}
    return found


class Worker:
    """A process that measures; `results` gives its records, and ends with it."""

    def __init__(self, section: str, library: str, todo: Sequence[Case]) -> None:
        command = [sys.executable, str(HERE / "worker.py"), section, library]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE.parents[2]
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([case.to_data() for case in todo]))
        self._process.stdin.close()
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def next(self, patience: float) -> dict[str, Any] | None:
        """The next record; None at the end. TimeoutError after so many seconds of silence."""
        deadline = time.monotonic() + patience
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise TimeoutError from None
            if line is None:
                return None
            if line.startswith(MARK):
                found: dict[str, Any] = json.loads(line.removeprefix(MARK))
                return found
            sys.stderr.write(line)

    def stop(self) -> int:
        self._process.kill()
        return self._process.wait()

    def status(self) -> int:
        return self._process.wait()


def show(library: str, record: dict[str, Any]) -> None:
    if "case" not in record or record.get("skipped"):
        return
    figures = [f"{record[n]:.4g} {n}" for n in ("us", "seconds", "error") if n in record]
    said = record.get("failure") or ", ".join(figures) or str(record.get("host"))
    config = " ".join(f"{k}={v}" for k, v in record.get("config", {}).items())
    label = Case.from_data(record["case"]).label
    print(f"{library}: {label}: {said} {config[:80]}", file=sys.stderr)


def measure(
    results: Results, section: str, library: str, todo: list[Case], patience: float, until: float
) -> None:
    """All cases by one library, with a new process after one that broke or hung.

    The first record of a process says that its library is there and that all is compiled; a process
    that ends before it is not started again.
    """
    while todo and time.monotonic() < until:
        worker = Worker(section, library, todo)
        started, done = False, 0
        problem = "the process ended"
        try:
            while time.monotonic() < until:
                wait = patience if started else COMPILING * patience
                record = worker.next(min(wait, max(1.0, until - time.monotonic())))
                if record is None:
                    break
                show(library, record)
                results.add(library, record)
                started = started or "versions" in record
                done += "case" in record
        except TimeoutError:
            worker.stop()
            problem = f"no result in {patience:g} s"
        if time.monotonic() >= until:
            worker.stop()
            return
        todo = todo[done:]
        if worker.status() != BROKEN and todo:
            failure = {"case": todo[0].to_data(), "failure": problem}
            show(library, failure)
            results.add(library, failure)
            todo = todo[1:] if started else []


def main() -> None:
    options = arguments()
    if options.source:
        results = Results.joined(Results.load(path) for path in options.source)
    else:
        results = Results(machine.facts())
        until = time.monotonic() + options.seconds
        os.environ["DSLC_BENCH_CONFIG"] = options.config
        for section, todo in chosen(options).items():
            for library in LIBRARIES[section]:
                if not options.library or set(options.library) & set(library.split()):
                    measure(results, section, library, todo, options.patience, until)
                    results.save(options.json)
        results.machine |= {f"{k} after": v for k, v in machine.query().items() if "clocks" in k}
        results.save(options.json)
    text = document(results)
    print(text)
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
