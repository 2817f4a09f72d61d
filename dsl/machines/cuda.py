"""NVIDIA GPUs: kernels generated as CUDA C, compiled by NVRTC, launched by the driver."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dslc.calls.argument_facts import Alignments
from dslc.calls.arguments import Argument, is_packed, prepare
from dslc.calls.settings import current_settings
from dslc.calls.signature import Parameter
from dslc.compiler.artifact import Artifact, Param
from dslc.compiler.diagnostics import DiagnosticError, Loc, error
from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.ir.rewrite import kernels
from dslc.compiler.targets import TARGETS, Target
from dslc.compiler.targets.cuda import SM_80
from dslc.compiler.targets.target import chip_of
from dslc.machines.emulation import is_emulated
from dslc.machines.machine import (
    CInterface,
    Draft,
    Executable,
    Facts,
    Inspection,
    Machine,
    ShortCall,
)
from dslc.machines.patience import UNLIMITED, Patience
from dslc.runtime.cuda import CudaDevice, CudaKernel, stream_handle
from dslc.runtime.cuda.arrays import (
    DeviceArray,
    alignment_of,
    check_element,
    device_array,
    refuse_host_tensors,
)
from dslc.runtime.cuda.description import ALIGNMENT
from dslc.runtime.cuda.device import fits

if TYPE_CHECKING:
    from dslc.codegen.cuda.tools.toolchain import Options
    from dslc.codegen.line_marks import Place
    from dslc.compilation.specialization import Specialization
    from dslc.compiler.passes.pass_manager import Pass
    from dslc.runtime.cuda.emulated import EmulatedCudaKernel
    from dslc.runtime.memory import Memory
    from dslc.tuner.gpu import CudaBench
    from dslc.tuner.inputs import Inputs

SOURCE = "kernel.cu"
VARIABLE = "DSLC_CUDA"


def _build_word() -> str:
    """CUDA 13.0 as `kernels` has it: cu130."""
    from dslc.codegen.cuda.tools.nvrtc import load_nvrtc

    return "cu{}{}".format(*load_nvrtc().version)


class CudaMachine(Machine):
    """GPUs of one architecture; to compile, neither a GPU nor a driver is needed."""

    facts = Facts(
        native="cubin",
        extra="cuda",
        is_simulated=False,
        has_emulator=True,
        packs_written_rows=True,
        unaligned_forms=True,
        precedence=2,
        tuning="measured",
        c_interface=CInterface(
            ("x86_64-linux", "aarch64-linux"), "cuda", _build_word, image="cubin"
        ),
    )

    @classmethod
    def present_target(cls) -> str:
        """The target of the GPU that is there; DSL0840 without one, DSL0901 where it is not known."""
        return present_target()

    @classmethod
    def runs_here(cls, target: str) -> bool:
        """Whether the GPU that is there runs code for the target."""
        return fits(chip_of(target), CudaDevice.get(0).capability)

    def passes(self, schedule: Mapping[str, int]) -> tuple[Pass, ...]:
        """Those of a GPU, as the launch options say."""
        from dslc.compiler.passes.pass_lists.gpu import gpu_passes

        return gpu_passes(self.target, **schedule)

    def draft(self, program: TileProgram) -> Draft:
        """CUDA C of each kernel; DSL0501 where it needs more shared memory than there is."""
        from dslc.codegen.cuda import generate

        return draft_of_gpu(program, self.target, generate.check, generate.emit)

    def toolchain(self) -> str:
        """The CUDA compiler and its options."""
        from dslc.codegen.cuda.tools.toolchain import toolchain_identity

        return toolchain_identity(self._options())

    def _options(self) -> Options:
        from dslc.codegen.cuda.tools.toolchain import Options

        code = self._code
        return Options(
            line_info=code.line_info,
            fmad=code.fmad,
            source_lines=code.source_lines,
            trap_waits=code.trap_waits,
        )

    def lower(self, program: TileProgram) -> Artifact:
        """Machine code and its source. DSL0951 without a CUDA compiler, DSL0590 for what cannot be."""
        from dslc.codegen.cuda.lowering import lower

        return lower(program, self.target, self._options())

    def texts(self, artifact: Artifact) -> Mapping[str, Callable[[], str]]:
        """CUDA C (`cu`, and `final`), PTX (`ptx`) and the disassembled machine code (`sass`)."""
        from dslc.codegen.c_family.one_file import one_file

        def cu() -> str:
            return one_file([text.decode() for text in artifact.each(SOURCE)])

        def ptx() -> str:
            from dslc.codegen.cuda.tools.toolchain import compile_ptx

            sources = [text.decode() for text in artifact.each(SOURCE)]
            options = self._options()
            return "\n".join(compile_ptx(s, self._model, options) for s in sources)

        def sass() -> str:
            from dslc.codegen.cuda.tools.sass import disassemble

            codes = artifact.each(f"{self._model}.cubin")
            functions = [f for code in codes for f in disassemble(code)]
            return "".join(f"{f.name}:\n{f.text()}" for f in functions)

        return {"cu": cu, "ptx": ptx, "sass": sass, "final": cu}

    def binaries(self, artifact: Artifact) -> Mapping[str, bytes]:
        """The machine code of a kernel (`cubin`); DSL0803 where there is none for this architecture."""
        if artifact.kind == "program":
            return {}
        return {"cubin": artifact.each(f"{self._model}.cubin")[0]}

    def prepare(
        self, parameters: Sequence[Parameter], arguments: Mapping[str, object]
    ) -> dict[str, Argument]:
        """Arrays of GPUs as they are; those of the host are copied there and back by the launch."""
        if is_emulated(VARIABLE):
            return prepare(parameters, arguments)
        stream = stream_of_call() or 0
        return prepare_for_gpu(parameters, arguments, lambda v, name: device_array(v, name, stream))

    def alignments(
        self, parameters: Sequence[Parameter], ready: Mapping[str, Argument]
    ) -> Alignments:
        """The tensors of the GPU that begin between multiples of 16 bytes, as slices of others may."""
        return alignments_on_gpu(parameters, ready)

    def load(self, artifact: Artifact, program: TileProgram | None = None) -> Executable:
        """DSL0802 where the artifact's launch cannot be read. The GPU is asked at the first launch."""
        if is_emulated(VARIABLE):
            return EmulatedExecutable(artifact, None if program is None else program.loc)
        return CudaExecutable(artifact)

    def torch_device(self) -> str:
        """GPUs; the emulator runs on tensors of the host."""
        return "CPU" if is_emulated(VARIABLE) else "CUDA"

    def memory(self) -> Memory:
        """The GPU's; the emulator reads the host's."""
        from dslc.runtime.memory import memory_of
        from dslc.runtime.memory.host import HostMemory

        return HostMemory() if is_emulated(VARIABLE) else memory_of(self.target.name)

    def inspection(
        self,
        made: Specialization,
        program: TileProgram,
        sizes: Mapping[str, int],
        patience: Patience = UNLIMITED,
    ) -> Inspection:
        """Registers, occupancy and instructions of the machine code."""
        from dslc.cli.tables.machine_code import code_lines

        return Inspection(tuple(code_lines(made, program)))

    def placed_code(self, made: Specialization) -> Mapping[str, list[tuple[str, Place | None]]]:
        """CUDA C, and machine code where nvdisasm is here."""
        from dslc.codegen.cuda.tools.sass_lines import sass_lines
        from dslc.codegen.line_marks import unmarked

        texts = [unmarked(text.decode()) for text in made.artifact.each(SOURCE)]
        codes = made.artifact.each(f"{self._model}.cubin")
        machine: list[tuple[str, Place | None]] = []
        for lines, code in zip(texts, codes, strict=True):
            for text, number in sass_lines(code):
                place = lines[number - 1][1] if number and number <= len(lines) else None
                machine.append((text, place))
        sources = [line for lines in texts for line in lines]
        return {"CUDA C": sources, **({"machine code": machine} if machine else {})}

    def bench(self, inputs: Inputs) -> CudaBench:
        """The first GPU."""
        from dslc.tuner.gpu import CudaBench

        return CudaBench(inputs)

    def present_device(self) -> tuple[str, str] | None:
        """The first GPU if it runs the target's code, and the newest CUDA that its driver knows."""
        try:
            device = CudaDevice.get(0)
        except DiagnosticError:
            return None
        if not fits(self._model, device.capability):
            return None
        return device.name, device.driver_version


def draft_of_gpu(
    program: TileProgram,
    target: Target,
    check: Callable[[Kernel], None],
    emit: Callable[[Kernel, Target], tuple[str, int]],
) -> Draft:
    """Every kernel's text and its bytes of shared memory, by the generator of a GPU."""
    texts, shared = [], {}
    for kernel in dict.fromkeys(kernels(program)):
        check(kernel)
        text, shared[kernel.name] = emit(kernel, target)
        texts.append(text)
    return Draft(tuple(texts), shared)


def prepare_for_gpu(
    parameters: Sequence[Parameter],
    arguments: Mapping[str, object],
    find_array: Callable[[object, str], DeviceArray | None],
) -> dict[str, Argument]:
    """A call's arguments checked: those that `find_array` finds on a GPU, and arrays of the host."""

    def find(parameter: Parameter, value: object) -> DeviceArray | None:
        arrays = find_array(value, parameter.name)
        if arrays is None or parameter.dtype.is_low_bit or is_packed(parameter, arrays):
            return arrays
        check_element(arrays, _described(parameter))  # before a kernel is compiled
        return arrays

    ready = prepare(parameters, arguments, find)
    arrays = {name: a for name, a in ready.items() if isinstance(a, DeviceArray)}
    refuse_host_tensors(arguments, arrays)
    return ready


def alignments_on_gpu(parameters: Sequence[Parameter], ready: Mapping[str, Argument]) -> Alignments:
    """The tensors of a GPU that begin between multiples of 16 bytes, and what they begin at."""
    alignments = []
    for p in parameters:
        array = ready[p.name]
        if isinstance(array, DeviceArray) and array.address % ALIGNMENT:
            alignments.append((p.name, alignment_of(array, p.name)))
    return tuple(alignments)


class CudaExecutable(Executable):
    """A kernel on the stream of `dslc.options`, or the current one."""

    def __init__(self, artifact: Artifact) -> None:
        self.kernel = CudaKernel(artifact)

    def launch(self, args: Mapping[str, Argument], dims: Mapping[str, int]) -> None:
        """Enqueue it; with arrays of the host, wait for it."""
        self.kernel.launch(args, stream_of_call(), dims)

    def short_call(self, arguments: Sequence[object], dims: Mapping[str, int]) -> ShortCall | None:
        """The short way of tensors of torch or CuPy."""
        return self.kernel.short_call(arguments, dims)


class EmulatedExecutable(Executable):
    """A kernel by its CUDA C, which the emulator runs on the host."""

    @property
    def stands_in(self) -> str:
        """By the emulator."""
        return "emulated"

    def __init__(self, artifact: Artifact, loc: Loc | None = None) -> None:
        self._artifact, self._loc = artifact, loc

    @functools.cached_property
    def kernel(self) -> EmulatedCudaKernel:
        """The kernel as it is loaded, at the first launch."""
        from dslc.runtime.cuda.emulated import EmulatedCudaKernel

        return EmulatedCudaKernel(self._artifact)

    def launch(self, args: Mapping[str, Argument], dims: Mapping[str, int]) -> None:
        """Run it once; DSL0861, at the kernel, for what a GPU forbids."""
        try:
            self.kernel.launch(args, dims)
        except DiagnosticError as problem:
            raise problem.at(self._loc) from None


def present_target() -> str:
    """The target of the GPU that is there; DSL0840 without one, DSL0901 where its kind is not known.

    It says how many multiprocessors the GPU has, where these are not the kind's usual ones.
    """
    device = CudaDevice.get(0)
    known = [t for t in TARGETS.values() if t.family == SM_80.family]
    fitting = [t for t in known if fits(t.chip, device.capability)]
    if not fitting:
        text = f"there is no target for {device.name}, compute capability {device.architecture}"
        raise error("DSL0901", text, hint=f"the targets are {', '.join(t.name for t in known)}")
    newest = max(fitting, key=lambda t: int("".join(filter(str.isdigit, t.chip))))
    units = device.units
    return newest.name if units in (0, newest.units) else f"{newest.name}.{units}"


def _described(parameter: Parameter) -> Param:
    mode: Any = parameter.mode
    return Param(parameter.name, parameter.dtype.name, mode, parameter.dims)


def stream_of_call() -> int | None:
    """The stream of `dslc.options`, None for the current one."""
    stream = current_settings().stream
    return None if stream is None else stream_handle(stream)


MACHINE = CudaMachine
