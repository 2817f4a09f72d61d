"""One process of the benchmark: measures the cases of its standard input with one library.

    python tests/benchmarks/gpu/worker.py quantized humming < cases.json

Each result is a line of JSON after a mark. A GPU that has failed fails for the rest of a process, so
this one ends with status 3 and the next one goes on with the cases that are left.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import traceback
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # tests import it too
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from gpu.cases import Case
from gpu.libraries import LIBRARIES
from gpu.results import BROKEN, MARK


def tell(record: dict[str, Any]) -> None:
    print(MARK + json.dumps(record), flush=True)


def failed(case: Case, problem: Exception) -> dict[str, Any]:
    traceback.print_exc(limit=-4)
    said = str(problem).strip()
    if not said:  # an assertion says by its line what it is about
        last = traceback.extract_tb(problem.__traceback__)[-1]
        said = f"{Path(last.filename).name}:{last.lineno} {last.line}"
    text = f"{type(problem).__name__}: {said.splitlines()[0]}"
    return {"case": case.to_data(), "failure": text[:400]}


def gpu_works() -> bool:
    import torch

    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    except Exception:
        return False
    return True


def main() -> None:
    section, library = sys.argv[1:]
    module_name, _, function = LIBRARIES[section][library].partition(":")
    cases = [Case.from_data(data) for data in json.load(sys.stdin)]
    module = importlib.import_module(module_name)
    if hasattr(module, "compile_all"):
        module.compile_all(cases)
    tell({"versions": module.versions() if hasattr(module, "versions") else {}})
    for case in cases:
        start = time.perf_counter()
        try:
            found = getattr(module, function)(case)
            record = {"case": case.to_data(), **(found or {"skipped": True})}
        except Exception as problem:
            record = failed(case, problem)
        record["took"] = round(time.perf_counter() - start, 2)
        tell(record)
        if "failure" in record and section != "compiling" and not gpu_works():
            sys.exit(BROKEN)


if __name__ == "__main__":
    main()
