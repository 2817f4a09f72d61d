"""AMD Ryzen AI: kernels generated as MLIR of the aie dialect, run by the simulator of the array."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from dslc.calls.arguments import Argument, prepare
from dslc.calls.signature import Parameter
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.ir.workload import workload
from dslc.machines.machine import Draft, Executable, Facts, Inspection, Machine
from dslc.machines.patience import UNLIMITED, Patience

if TYPE_CHECKING:
    from dslc.compilation.specialization import Specialization
    from dslc.compiler.passes.pass_manager import Pass
    from dslc.runtime.aie.buffers import NpuBuffer
    from dslc.runtime.aie_simulator import Run

SOURCE, EXPLICIT = "kernel.mlir", "explicit.mlir"


class AieMachine(Machine):
    """The array of one kind of NPU; neither it nor aiecc needs to be there."""

    facts = Facts(native="aie-mlir", extra="aie", choices_seldom_fit=True)

    def passes(self, schedule: Mapping[str, int]) -> tuple[Pass, ...]:
        """Those of an NPU."""
        from dslc.compiler.passes.pass_lists.npu import aie_passes

        return aie_passes(self.target)

    def draft(self, program: TileProgram) -> Draft:
        """The modules."""
        return Draft.of(self.lower(program))

    def lower(self, program: TileProgram) -> Artifact:
        """The module of a kernel. DSL0550 to DSL0554 and DSL0590 for what has no place on the array."""
        from dslc.codegen.aie.lowering import lower

        return lower(program, self.target)

    def texts(self, artifact: Artifact) -> Mapping[str, Callable[[], str]]:
        """The module with object FIFOs (`aie-mlir`, `final`), or with locks.

        Those are spelled as by mlir-aie 1.4 (`aie-explicit`), or before 1.3.5 (`aie-explicit-1.2`).
        """

        def module() -> str:
            return artifact.file(SOURCE).decode()

        def explicit() -> str:
            return artifact.file(EXPLICIT).decode()

        def earlier() -> str:
            from dslc.codegen.aie.printing.earlier_release import respelled

            return respelled(explicit())

        return {
            "aie-mlir": module,
            "aie-explicit": explicit,
            "aie-explicit-1.2": earlier,
            "final": module,
        }

    def prepare(
        self, parameters: Sequence[Parameter], arguments: Mapping[str, object]
    ) -> dict[str, Argument]:
        """Buffers of the NPU as they are, arrays of the host, which the launch copies."""
        return prepare(parameters, arguments, _buffer_of)

    def load(self, artifact: Artifact, program: TileProgram | None = None) -> AieExecutable:
        """The kernel on the simulator."""
        return AieExecutable(artifact)

    def inspection(
        self,
        made: Specialization,
        program: TileProgram,
        sizes: Mapping[str, int],
        patience: Patience = UNLIMITED,
    ) -> Inspection:
        """A run of the simulator without numbers, and how busy the array's tiles are."""
        from dslc.cli.tables.aie import array_lines, run_lines, run_of
        from dslc.runtime.aie_simulator.picture import timeline_svg

        patience.tell("running the simulator")
        try:
            run = run_of(made, patience.until)
        except TimeoutError:
            text = f"no run within {patience.seconds:g} s; {patience.more}, smaller --dim need less"
            return Inspection((("modelled", text),))
        return Inspection(
            tuple(run_lines(run)),
            "\n".join(array_lines(run)),
            lambda: timeline_svg(run, made.artifact.name),
        )

    def block_time(self, program: TileProgram, sizes: Mapping[str, int]) -> float:
        """Cycles of the array by a draft of its plan."""
        from dslc.codegen.aie.planning.plan_kernel import modelled_cycles, plan_kernel
        from dslc.compiler.passes.pass_manager import run_passes

        lowered = run_passes(program, self.passes({}))
        if not isinstance(lowered, Kernel):
            return 0.0
        planned = plan_kernel(lowered, self.target, draft=True)
        work = workload(lowered, sizes)
        return modelled_cycles(planned, int(work.dot_operations / 2 / max(1, work.turns)))


class AieExecutable(Executable):
    """A module on the simulator. `last` is the run of the last launch."""

    def __init__(self, artifact: Artifact) -> None:
        from dslc.runtime.aie.kernel import AieKernel

        self._kernel = AieKernel(artifact)

    @property
    def last(self) -> Run | None:
        """The run of the last launch."""
        return self._kernel.last

    def launch(self, args: Mapping[str, Argument], dims: Mapping[str, int]) -> None:
        """Run it once; outputs are written in place. Arrays of the host are copied there and back."""
        self._kernel.launch(args, dims)


def _buffer_of(parameter: Parameter, value: object) -> NpuBuffer | None:
    """A buffer as it is, None for an array; DSL0761 where it is of another dtype."""
    from dslc.runtime.aie.buffers import NpuBuffer

    if not isinstance(value, NpuBuffer):
        return None
    if value.dtype != parameter.dtype.name and not parameter.may_be_packed:
        text = f"argument {parameter.name} is a buffer of {value.dtype}, expected {parameter.dtype}"
        raise error("DSL0761", text)
    return value


MACHINE = AieMachine
