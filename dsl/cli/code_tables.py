"""What `dslc inspect` says of a GPU's machine code: registers, occupancy, instructions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dslc.specialization import Specialization


def code_lines(made: Specialization) -> Iterator[tuple[str, str]]:
    """Labels and texts; none for a machine without machine code."""
    code = made.binary("cubin")
    if code is None:
        return
    from dslc.cli.tables import size_text
    from dslc.codegen.cuda.occupancy import occupancy
    from dslc.codegen.cuda.resources import Resources

    artifact = made.artifact
    threads = int(artifact.launch["threads"])
    yield "block", f"{threads} threads, {size_text(artifact.shared_bytes)} of shared memory"
    if "resources" in artifact.launch:
        r = Resources.from_data(artifact.launch["resources"])
        spilled = f", {r.stack} bytes of stack (spills)" if r.spills else ", nothing spilled"
        yield "thread", f"{r.registers} registers{spilled}"
        found = occupancy(artifact.target.partition(":")[2], r, threads, artifact.shared_bytes)
        if found is not None:
            share = f"{found.fraction:.0%} of the warps, limited by {found.limit}"
            yield "occupancy", f"{found.blocks} blocks on a multiprocessor: {share}"
    yield from _instructions(code)


def _instructions(code: bytes) -> Iterator[tuple[str, str]]:
    from dslc.codegen.cuda.locate import find_tool
    from dslc.codegen.cuda.sass import disassemble

    if find_tool("nvdisasm") is None:
        yield "instructions", "pip install nvidia-cuda-nvdisasm shows them"
        return
    for function in disassemble(code):
        yield "instructions", f"{len(function)}: {_mix(function.mix())}"
        loop = function.main_loop()
        if loop is not None:
            yield "main loop", f"{len(loop)}: {_mix(loop.mix())}"


def _mix(counts: dict[str, int]) -> str:
    return ", ".join(f"{kind} {n}" for kind, n in counts.items())
