"""Which products get warps that only copy: those of weights of any width, unless none are wanted."""

from __future__ import annotations

from pathlib import Path

import pytest
from dslc.checker import check_module
from dslc.compiler.dtypes import parse_dtype
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target
from dslc.frontend import parse_tile

PATH = Path(__file__).parents[4] / "examples" / "gemm_quantized.tile"


def scheduled(weights: str, producers: int | None = None) -> Kernel:
    checked = check_module(
        parse_tile(PATH.read_text(), str(PATH)), define={"W": parse_dtype(weights)}
    )
    tile = {"BM": 64, "BN": 128, "BK": 128}
    made = checked.templates["gemm_quantized"].elaborate({"K": 1024, "N": 1024}, tile)
    passes = gpu_passes(find_target("cuda:sm_90a"), producers=producers)
    found = run_passes(made, passes)
    assert isinstance(found, Kernel)
    return found


@pytest.mark.parametrize("weights", ["u2", "u4", "f6e3m2"])
def test_weights_of_any_width_are_copied_by_warps_aside(weights: str) -> None:
    assert any(isinstance(s, ins.WarpSpecialize) for s in scheduled(weights).body)


def test_none_where_none_are_wanted() -> None:
    assert not any(isinstance(s, ins.WarpSpecialize) for s in scheduled("u4", 0).body)
