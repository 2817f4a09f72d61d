"""Compare kernels on this CPU with rivals, case by case, in one run.

    python tests/benchmarks/cpu/run.py --rivals /path/to/an/environment/bin/python --json OUT.json
    python tests/benchmarks/cpu/run.py --tune 20          look for choices first: so many seconds a case

The rivals (pip install torch==2.13.0 onnxruntime onnx) live in an environment of their own. Two workers
take turns: while one measures, the other sleeps. Operands stay in the caches, or rotate over copies
that no cache holds. A time is the best mean of seven samples.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cases import Case, cases

HERE = Path(__file__).parent


class Worker:
    """A process that measures one side on so many threads."""

    def __init__(self, python: str, side: str, threads: int) -> None:
        names = ("DSLC_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
        self._process = subprocess.Popen(
            [python, str(HERE / "worker.py"), side, str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **dict.fromkeys(names, str(threads))},
        )  # fmt: skip

    def ask(self, **request: Any) -> dict[str, Any]:
        """What it answers to one request."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        return json.loads(answer) if answer else {"error": "the worker ended"}

    def close(self) -> None:
        """Have it end."""
        self._process.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rivals", default="", help="the Python of the rivals' environment")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    parser.add_argument(
        "--tune", type=float, default=0, help="seconds to look for choices of a case"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    bandwidths: dict[int, float] = {}
    for threads in options.threads:
        if options.rivals:
            worker = Worker(options.rivals, "rivals", threads)
            bandwidths[threads] = worker.ask(bandwidth=True)["bandwidth"]
            worker.close()
            print(f"{threads} read {bandwidths[threads] / 1e9:.1f} GB/s", flush=True)
        for row in measured(options, threads):
            print(line(row), flush=True)
            rows.append(row)
    if options.json:
        about = {"date": time.strftime("%Y-%m-%d"), "machine": machine(), "rows": rows}
        about["read"] = bandwidths
        options.json.write_text(json.dumps(about, indent=1) + "\n")


def measured(options: argparse.Namespace, threads: int) -> Iterator[dict[str, Any]]:
    """A row for each case."""
    ours = Worker(sys.executable, "ours", threads)
    rivals = Worker(options.rivals, "rivals", threads) if options.rivals else None
    for case in cases():
        if options.only not in case.name:
            continue
        row: dict[str, Any] = {"case": asdict(case), "name": case.name, "threads": threads}
        if options.tune:
            row["tuned"] = ours.ask(case=asdict(case), tune=options.tune)
        row["ours"] = ours.ask(case=asdict(case))
        row["rivals"] = rivals.ask(case=asdict(case)) if rivals else {}
        yield row
    for worker in (ours, rivals):
        if worker is not None:
            worker.close()


def line(row: dict[str, Any]) -> str:
    """A row to be read."""
    case = Case(**{**row["case"], "sizes": tuple(row["case"]["sizes"])})
    own = row["ours"].get("seconds")
    text = f"{row['threads']} {case.name:42}"
    if own is None:
        return f"{text} {row['ours'].get('error', '')[:100]}"
    text += f"{own * 1e6:10.1f} us"
    if case.operations:
        text += f" {case.operations / own / 1e9:7.1f} Gop/s"
    for name, other in row["rivals"].items():
        text += (
            f"  {name} {other * 1e6:.1f} ({other / own:.2f})"
            if name != "error"
            else f" {other[:80]}"
        )
    return text


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    import dslc
    from dslc.machines.registry import resolve_target

    return {
        "target": resolve_target("cpu"),
        "system": platform.platform(),
        "cpus": os.cpu_count(),
        "dslc": dslc.__version__,
    }


if __name__ == "__main__":
    main()
