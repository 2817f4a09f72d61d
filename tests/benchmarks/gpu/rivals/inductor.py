"""torch.compile: kernels of rows and elements; and the copy that is the ceiling of them all."""

from __future__ import annotations

from typing import Any

import torch
from gpu.cases import Case
from gpu.measure import Prepared, copies_beyond_cache, relative_error, timed
from gpu.row_kernels import FUNCTIONS, operands, reference


def versions() -> dict[str, str]:
    return {"torch": torch.__version__}


def rows(case: Case) -> dict[str, Any]:
    made = operands(case)
    copies = copies_beyond_cache(made.size)
    every = [made.inputs, *([t.clone() for t in made.inputs] for _ in range(copies - 1))]
    function = FUNCTIONS[case.name]
    if case.name != "copy":
        torch._dynamo.reset()
        function = torch.compile(function, fullgraph=True, dynamic=False)

    def launch(i: int) -> None:
        function(*every[i])

    def error() -> float:
        return relative_error(function(*made.inputs), reference(case, made.inputs))

    return {**timed(Prepared(launch, copies, error)), "bytes": made.size}
