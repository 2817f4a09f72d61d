"""Machine code of bounds: no instruction makes two and compares them, as ptxas 13.0 to 13.3 would."""

from __future__ import annotations

import dslc
import pytest
from dslc.codegen.cuda.tools.sass import disassemble

TARGET = "cuda:sm_90a"
BODIES = {
    "saturated": "    y[n : n + 2] = where(cast(part, u8, saturate=True) >= 255, part * 2, part)",
    "bounded": "    whole = maximum(minimum(cast(part, i32), 127), 0)\n"
    "        y[n : n + 2] = where(whole != 127, part * 2, part)",
    "branch": "    if max(full(u7, [1], 127)) != cast(max(part), u7):\n"
    "            part = part + 1\n"
    "        y[n : n + 2] = part",
}


@pytest.mark.parametrize("body", BODIES)
def test_bounds_are_compared_after_they_are_made(nvdisasm: None, body: str) -> None:
    """VIMNMX with a predicate as its second result is what those compilers take for a comparison."""
    source = f"""
kernel bounds(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 2)):
        part = x[n : n + 2]
    {BODIES[body]}
"""
    made = dslc.compile(source, target=TARGET, cache=False)["bounds"].specialize()
    (code,) = disassemble(made.artifact.files["sm_90a.cubin"])
    assert len(code) > 0
    for found in code.instructions:
        assert not (found.name == "VIMNMX" and found.operands.split(",")[1].strip().startswith("P"))
