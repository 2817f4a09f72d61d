"""What `dslc inspect` says of a GPU's machine code and time: registers, instructions, prediction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dslc.codegen.cuda.tools.sass import Code
    from dslc.compilation.specialization import Specialization
    from dslc.compiler.cost import Prediction
    from dslc.compiler.ir import TileProgram


def code_lines(made: Specialization, program: TileProgram) -> Iterator[tuple[str, str]]:
    """Labels and texts; none for a program of several kernels. `program` is after the passes."""
    code = made.binary("cubin")
    if code is None:
        return
    from dslc.cli.tables.table import size_text
    from dslc.codegen.cuda.occupancy import occupancy
    from dslc.codegen.cuda.tools.resources import Resources
    from dslc.compiler.targets import find_target

    artifact = made.artifact
    threads = int(artifact.launch["threads"])
    yield "block", f"{threads} threads, {size_text(artifact.shared_bytes)} of shared memory"
    if "resources" in artifact.launch:
        r = Resources.from_data(artifact.launch["resources"])
        spilled = f", {r.stack} bytes of stack (spills)" if r.spills else ", nothing spilled"
        serialized = ", products that wait for each other" if r.serialized else ""
        yield "thread", f"{r.registers} registers{spilled}{serialized}"
        held = occupancy(find_target(artifact.target), r, threads, artifact.shared_bytes)
        if held is not None:
            share = f"{held.fraction:.0%} of the warps, limited by {held.limit}"
            yield "occupancy", f"{held.blocks} blocks on a multiprocessor: {share}"
    yield from _instructions(code, made, program)


def prediction_of(
    made: Specialization, program: TileProgram, sizes: Mapping[str, int]
) -> Prediction | None:
    """The time of a launch with these sizes by the cost model; None for a machine without rates."""
    from dslc.compiler.cost import predict
    from dslc.compiler.targets import find_target
    from dslc.tuner.tasks import registers_of

    target = find_target(made.target)
    if not target.is_rated:
        return None
    artifact = made.artifact
    shared = {artifact.name: artifact.shared_bytes} if artifact.kind == "kernel" else None
    return predict(program, target, sizes, registers=registers_of(artifact), shared=shared)


def _instructions(
    code: bytes, made: Specialization, program: TileProgram
) -> Iterator[tuple[str, str]]:
    from dslc.codegen.cuda.tools.locate import find_tool
    from dslc.codegen.cuda.tools.sass import disassemble

    if find_tool("nvdisasm") is None:
        yield "instructions", "pip install nvidia-cuda-nvdisasm shows them"
        return
    for function in disassemble(code):
        yield "instructions", f"{len(function)}: {mix_text(function.mix())}"
        loop = function.main_loop()
        if loop is not None:
            yield "main loop", f"{len(loop)}: {mix_text(loop.mix())}"
            yield from _per_weight(loop, made, program)


def _per_weight(
    loop: Code, made: Specialization, program: TileProgram
) -> Iterator[tuple[str, str]]:
    """Lane-instructions a weight of a main loop that multiplies weights of at most 8 bits."""
    from dslc.compiler.cost.weights import main_iteration
    from dslc.compiler.ir import Kernel
    from dslc.compiler.targets import find_target

    if not isinstance(program, Kernel):
        return
    iteration = main_iteration(program, find_target(made.target))
    if iteration is None or not iteration.weights:
        return
    # The assembler may have unrolled the loop: its matrix instructions tell how often.
    matrix = loop.mix().get("matrix", 0)
    iterations = max(1.0, matrix / iteration.matrix) if iteration.matrix else 1.0
    each = loop.per(int(iteration.weights * iterations), int(made.artifact.launch["threads"]))
    yield "a weight", f"{each:.2f} instructions of a lane, {iteration.weights} weights an iteration"


def mix_text(counts: dict[str, int]) -> str:
    """Instructions by kind: `matrix 32, load 8`."""
    return ", ".join(f"{kind} {n}" for kind, n in counts.items())
