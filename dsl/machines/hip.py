"""AMD Instinct GPUs: kernels generated as HIP C++, compiled by any clang that knows the chip.

Calls go to a GPU where there is one, else to the emulator of its instructions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from dslc.calls.argument_facts import Alignments
from dslc.calls.arguments import Argument, prepare
from dslc.calls.signature import Parameter
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import DiagnosticError, Loc
from dslc.compiler.ir import TileProgram
from dslc.machines.cuda import alignments_on_gpu, draft_of_gpu, prepare_for_gpu, stream_of_call
from dslc.machines.emulation import is_emulated
from dslc.machines.machine import Draft, Executable, Facts, Inspection, Machine
from dslc.machines.patience import UNLIMITED, Patience

if TYPE_CHECKING:
    from dslc.codegen.hip.toolchain import Options
    from dslc.compilation.specialization import Specialization
    from dslc.compiler.passes.pass_manager import Pass
    from dslc.runtime.hip import HipGpuKernel, HipKernel
    from dslc.tuner.inputs import Inputs
    from dslc.tuner.modelled import ModelBench

SOURCE = "kernel.hip"
VARIABLE = "DSLC_HIP"


class HipMachine(Machine):
    """GPUs of one chip; to compile, neither a GPU nor ROCm is needed."""

    facts = Facts(native="hsaco", extra="hip", packs_written_rows=True, tuning="modelled")

    def passes(self, schedule: Mapping[str, int]) -> tuple[Pass, ...]:
        """Those of a GPU, as the launch options say."""
        from dslc.compiler.passes.pass_lists.gpu import gpu_passes

        return gpu_passes(self.target, **schedule)

    def draft(self, program: TileProgram) -> Draft:
        """HIP C++ of each kernel; DSL0501 where it needs more LDS than there is."""
        from dslc.codegen.hip import generate

        return draft_of_gpu(program, self.target, generate.check, generate.emit)

    def toolchain(self) -> str:
        """The compiler and its options."""
        from dslc.codegen.hip.toolchain import toolchain_identity

        return toolchain_identity(self._options())

    def _options(self) -> Options:
        from dslc.codegen.hip.toolchain import Options

        return Options(line_info=self._code.line_info)

    def lower(self, program: TileProgram) -> Artifact:
        """A code object and its source. DSL0951 without a compiler, DSL0590 for what cannot be."""
        from dslc.codegen.hip.lowering import lower

        return lower(program, self.target, self._options())

    def texts(self, artifact: Artifact) -> Mapping[str, Callable[[], str]]:
        """HIP C++ (`hip`, and `final`), the compiler's ISA text (`isa`), FlyDSL source (`flydsl`)."""
        from dslc.codegen.c_family.one_file import one_file

        def hip() -> str:
            return one_file(_texts(artifact, SOURCE))

        def isa() -> str:
            return "\n".join(_texts(artifact, f"{self._model}.s"))

        def flydsl() -> str:
            from dslc.codegen.flydsl.generate import flydsl_of

            return flydsl_of(artifact, SOURCE)

        return {"hip": hip, "isa": isa, "flydsl": flydsl, "final": hip}

    def binaries(self, artifact: Artifact) -> Mapping[str, bytes]:
        """The code object of a kernel (`hsaco`); DSL0803 where there is none for this chip."""
        if artifact.kind == "program":
            return {}
        return {"hsaco": artifact.each(f"{self._model}.hsaco")[0]}

    def prepare(
        self, parameters: Sequence[Parameter], arguments: Mapping[str, object]
    ) -> dict[str, Argument]:
        """Arrays of the host without a copy; on a GPU, its arrays as they are."""
        if not runs_on_gpu():
            return prepare(parameters, arguments)
        from dslc.runtime.hip.kernel import hip_array

        stream = stream_of_call() or 0
        return prepare_for_gpu(parameters, arguments, lambda v, name: hip_array(v, name, stream))

    def alignments(
        self, parameters: Sequence[Parameter], ready: Mapping[str, Argument]
    ) -> Alignments:
        """The tensors of a GPU that begin between multiples of 16 bytes; the emulator has its own."""
        return alignments_on_gpu(parameters, ready)

    def load(self, artifact: Artifact, program: TileProgram | None = None) -> Executable:
        """The kernel on a GPU, or in the emulator; DSL0802 where its launch cannot be read."""
        if runs_on_gpu():
            return HipGpuExecutable(artifact)
        return HipExecutable(artifact, None if program is None else program.loc)

    def torch_device(self) -> str:
        """AMD's GPUs are CUDA to it, too; the emulator runs on tensors of the host."""
        return "CUDA" if runs_on_gpu() else "CPU"

    def inspection(
        self,
        made: Specialization,
        program: TileProgram,
        sizes: Mapping[str, int],
        patience: Patience = UNLIMITED,
    ) -> Inspection:
        """Registers, LDS, occupancy and instructions of the ISA text."""
        from dslc.cli.tables.hip import hip_lines

        return Inspection(tuple(hip_lines(made)))

    def bench(self, inputs: Inputs) -> ModelBench:
        """The chip by its rates: nothing here drives one."""
        from dslc.tuner.modelled import ModelBench

        return ModelBench(self.target)


def runs_on_gpu() -> bool:
    """Whether calls go to a GPU: where there is one, or as `DSLC_HIP=gpu` or `emulator` says."""
    from dslc.runtime.hip import is_present

    if is_emulated(VARIABLE):
        return False
    return os.environ.get(VARIABLE, "") == "gpu" or is_present()


class HipGpuExecutable(Executable):
    """A kernel on the stream of `dslc.options`, or the current one."""

    def __init__(self, artifact: Artifact) -> None:
        from dslc.runtime.hip import HipGpuKernel

        self.kernel: HipGpuKernel = HipGpuKernel(artifact)

    def launch(self, args: Mapping[str, Argument], dims: Mapping[str, int]) -> None:
        """Enqueue it; with arrays of the host, wait for it. DSL0840 without a GPU."""
        self.kernel.launch(args, stream_of_call(), dims)


class HipExecutable(Executable):
    """A kernel by the compiler's ISA text, executed by the emulator of its chip."""

    @property
    def stands_in(self) -> str:
        """By the emulator."""
        return "emulated"

    def __init__(self, artifact: Artifact, loc: Loc | None = None) -> None:
        self._artifact, self._loc = artifact, loc

    @cached_property
    def kernel(self) -> HipKernel:
        """The kernel as it is loaded, at the first launch."""
        from dslc.runtime.hip import HipKernel

        return HipKernel(self._artifact)

    def launch(self, args: Mapping[str, Argument], dims: Mapping[str, int]) -> None:
        """Run it once; DSL0861, at the kernel, for what the machine forbids."""
        try:
            self.kernel.launch(args, dims)
        except DiagnosticError as problem:
            raise problem.at(self._loc) from None


def _texts(artifact: Artifact, name: str) -> list[str]:
    return [content.decode() for content in artifact.each(name)]


MACHINE = HipMachine
