"""What `dslc inspect` says of code for AMD GPUs: registers, LDS, occupancy, the main loop's mix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dslc.cli.tables.machine_code import mix_text

if TYPE_CHECKING:
    from dslc.compilation.specialization import Specialization


def hip_lines(made: Specialization) -> Iterator[tuple[str, str]]:
    """Labels and texts; none for a program of several kernels."""
    if made.artifact.kind == "program":
        return
    from dslc.cli.tables.table import size_text
    from dslc.codegen.hip.isa import read_isa
    from dslc.codegen.hip.occupancy import occupancy
    from dslc.codegen.hip.resources import Resources
    from dslc.compiler.targets import find_target

    artifact = made.artifact
    threads = int(artifact.launch["threads"])
    r = Resources.from_data(artifact.launch["resources"])
    yield "workgroup", f"{threads} threads, {size_text(r.shared)} of LDS"
    spilled = f", {r.stack} bytes of stack (spills)" if r.spills else ", nothing spilled"
    of = f"{r.registers} registers, {r.accumulation} of them for accumulation"
    yield "lane", f"{of}{spilled}; {r.scalars} scalars a wave"
    held = occupancy(find_target(made.target), r, threads)
    yield "occupancy", f"{held.waves:g} waves on a SIMD, limited by {held.limit}"
    code = read_isa(made.source("isa"))[artifact.entry]
    yield "instructions", f"{len(code)}: {mix_text(code.mix())}"
    loop = code.main_loop()
    if loop is not None:
        share = f", {loop.share('matrix'):.0%} matrix" if loop.count("v_mfma") else ""
        yield "main loop", f"{len(loop)}: {mix_text(loop.mix())}{share}"
    yield "times", "modelled by published rates, compared with published times in docs/hip.md"
