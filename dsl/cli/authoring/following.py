"""What `dslc debug` follows: a recorded turn of a kernel, or of both programs of a pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dslc.cli.compiling import CompileOptions, pick_kernel

if TYPE_CHECKING:
    from dslc.cli.authoring.lockstep import Lockstep
    from dslc.cli.feeding import Feed
    from dslc.compilation.specialization import Specialization
    from dslc.compiler.diagnostics import Diagnostic
    from dslc.compiler.interpreter.recording import Recording
    from dslc.compiler.ir import Kernel as IrKernel
    from dslc.compiler.ir.program import TileProgram
    from dslc.kernels import Kernel


@dataclass(frozen=True, slots=True)
class Run:
    """A kernel of a file with arguments, and the turn of it by its indices (the first, where none)."""

    file: Path
    kernel: str | None
    inputs: Mapping[str, Any]
    dims: Mapping[str, int]
    choices: Mapping[str, Any]
    seed: int
    turn: Mapping[str, int]

    def fed(self, options: CompileOptions) -> tuple[Kernel, Specialization, Feed]:
        """The kernel compiled, with its arguments."""
        from dslc.cli.feeding import feed

        kernel = pick_kernel(options.library(self.file), self.kernel, self.file)
        specialized, arguments = feed(
            kernel, given=self.inputs, dims=self.dims, config=self.choices, seed=self.seed
        )
        return kernel, specialized, arguments


def follow(run: Run, options: CompileOptions) -> Recording:
    """A turn of what the checker made; DSL0912 where there is none."""
    from dslc.calls.arguments import dim_size
    from dslc.compilation.templates import TemplateOrigin
    from dslc.compiler.interpreter import Options
    from dslc.compiler.interpreter import run as interpret
    from dslc.compiler.interpreter.recording import Recording
    from dslc.compiler.targets import INTERP

    kernel, specialized, fed = run.fed(replace(options, target=INTERP.name))
    origin, arguments = kernel.origin, fed.fresh()
    assert isinstance(origin, TemplateOrigin)
    parameters = origin.signature.parameters
    program = _one_kernel(
        origin.elaborated(
            {}, dict(specialized.config), lambda dim: dim_size(parameters, arguments, dim)
        ).program
    )
    recording = Recording(_indices(program, run.turn))
    interpret(program, arguments, Options(recording=recording))
    return _with_events(recording, kernel.name)


def follow_pass(run: Run, options: CompileOptions, name: str) -> Lockstep:
    """The programs before and after a pass, run over the same arguments.

    They are followed in the same turn; where the pass changes the grid, in all turns. A finding of the
    interpreter about the later program ends its recording and is kept in `findings`.
    """
    from dslc.cli.authoring.lockstep import Lockstep, Side
    from dslc.cli.verification import compare
    from dslc.compiler.diagnostics import DiagnosticError, error
    from dslc.compiler.interpreter import Options
    from dslc.compiler.interpreter import run as interpret
    from dslc.compiler.interpreter.recording import Recording
    from dslc.compiler.passes.pass_manager import Stage
    from dslc.runtime.packing import pack

    _, specialized, fed = run.fed(options)
    stages: list[Stage] = []
    specialized.lowered([stages.append])
    first, last = _stages(specialized, name)
    programs = [_one_kernel(stages[n].program) for n in (first, last)]
    every = _grid(programs[0]) != _grid(programs[1])
    if every and run.turn:
        text = f"{name} changes the grid: there is no turn that both programs have"
        raise error("DSL0910", text, hint="without --turn all turns are followed")
    sides, results = [], []
    findings: list[Diagnostic] = []
    for number, program in zip((first, last), programs, strict=True):
        arguments = fed.fresh()
        for param in program.packed:  # a pass has chosen how these are stored
            arguments[param.name] = pack(arguments[param.name], param.storage.to_data())
        indices = None if every else _indices(program, run.turn)
        recording = Recording(indices, every=every)
        try:
            interpret(program, arguments, Options(recording=recording))
        except DiagnosticError as failure:
            if number == first:
                raise
            findings += failure.diagnostics
        stage = specialized.ir_stages[number]
        title = f"{stage}" if number else "ir"
        sides.append(Side(title, program, _with_events(recording, program.name)))
        results.append({n: arguments[n] for n in fed.written})
    outputs = compare(results[0], results[1], fed.dtypes)
    return Lockstep(sides[0], sides[1], outputs, tuple(findings))


def _stages(specialized: Specialization, name: str) -> tuple[int, int]:
    """The numbers of the stages before and after a pass; DSL0914 where there is no such pass."""
    from dslc.compiler.diagnostics import did_you_mean, error

    known = specialized.ir_stages
    if name == "all":
        return 0, len(known) - 1
    if name not in known[1:]:
        hint = did_you_mean(name, known[1:]) or f"there are {', '.join(known[1:])}, and all"
        text = f"--pass {name}: {specialized.target} has no such pass"
        raise error("DSL0914", text, hint=hint)
    return known.index(name) - 1, known.index(name)


def _one_kernel(program: TileProgram) -> IrKernel:
    from dslc.compiler.diagnostics import error
    from dslc.compiler.ir import Program

    if isinstance(program, Program):
        text = f"{program.name} is a program"
        raise error("DSL0912", text, hint="a kernel of it can be followed: -k NAME")
    return program


def _grid(kernel: IrKernel) -> list[tuple[object, ...]]:
    return [(a.var, a.start, a.stop, a.step) for a in kernel.grid]


def _indices(kernel: IrKernel, wanted: Mapping[str, int]) -> tuple[int, ...] | None:
    """The indices of a turn; DSL0910 where they are not those of the kernel."""
    from dslc.compiler.diagnostics import error

    if not wanted:
        return None
    names = [axis.var.name for axis in kernel.grid]
    if set(names) != set(wanted):
        text = f"a turn of {kernel.name} is named by {', '.join(names) or 'nothing'}"
        raise error("DSL0910", text, hint="--turn m=0,n=64")
    return tuple(wanted[n] for n in names)


def _with_events(recording: Recording, name: str) -> Recording:
    from dslc.compiler.diagnostics import error

    if not recording.events:
        raise error("DSL0912", f"{name} has no such turn", hint="--turn m=0,n=64 names one")
    return recording
