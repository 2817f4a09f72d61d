from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from dslc.checker import check_module
from dslc.compiler.ir import TileProgram
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target
from dslc.frontend import parse_tile

EXAMPLES = Path(__file__).parents[3] / "examples"
Schedule = Callable[..., TileProgram]


@pytest.fixture(scope="session")
def schedule() -> Schedule:
    """An example kernel after the passes of sm_90a: schedule(file, kernel, dims, choices, warps=4)."""
    target = find_target("cuda:sm_90a")

    def scheduled(
        file: str,
        kernel: str,
        dims: Mapping[str, int],
        choices: Mapping[str, int] | None = None,
        define: Mapping[str, object] | None = None,
        **options: int | None,
    ) -> TileProgram:
        path = EXAMPLES / f"{file}.tile"
        module = parse_tile(path.read_text(), str(path))
        templates = check_module(module, define=dict(define or {})).templates
        program = templates[kernel].elaborate(dims, dict(choices or {}))
        return run_passes(program, gpu_passes(target, **options))

    return scheduled
