"""Every example compiles for every NVIDIA target, and no register of it is spilled to memory."""

from __future__ import annotations

from pathlib import Path

import dslc
import pytest
from dslc.codegen.cuda.tools.locate import find_library
from dslc.codegen.cuda.tools.resources import Resources
from dslc.compiler.targets import TARGETS
from layer_sizes import SIZES

from calls import EXAMPLES, TABLE

pytestmark = pytest.mark.skipif(
    find_library("nvrtc") is None, reason="needs NVRTC: pip install nvidia-cuda-nvrtc"
)
NVIDIA = [name for name, target in TARGETS.items() if target.family == "cuda"]


def resources(file: Path, kernel: str, target: str, dims: dict[str, int]) -> dict[str, Resources]:
    """What each kernel takes by the assembler's report, for the first of all choices."""
    made = dslc.compile(file, target)[kernel]
    choices = {name: values[0] for name, values in made.tunes.items()}
    artifact = made.specialize_for(dims, choices).artifact
    one = artifact.kind == "kernel"
    kernels = [artifact.to_manifest()] if one else artifact.launch["kernels"]
    return {k["name"]: Resources.from_data(k["launch"]["resources"]) for k in kernels}


@pytest.mark.parametrize("target", NVIDIA)
@pytest.mark.parametrize("kernel", TABLE)
@pytest.mark.sampled(7)
def test_an_example_compiles_without_spills(kernel: str, target: str) -> None:
    file, _, _, calls = TABLE[kernel]
    dims = SIZES[kernel][1][0] if kernel in SIZES else calls[0]
    found = resources(EXAMPLES / f"{file}.tile", kernel, target, dims)
    assert found
    assert {name: used for name, used in found.items() if used.spills} == {}
