"""`dslc inspect`: what the compiler knows about a kernel, before and after its passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from dslc.cli.compiling import CompileOptions, compile_options, picked_kernels
from dslc.cli.options import (
    budget_option,
    dim_option,
    file_argument,
    kernel_option,
    set_option,
    timeline_option,
)
from dslc.cli.pages import Documented
from dslc.cli.session import current
from dslc.cli.tables.table import is_json, print_object
from dslc.machines.patience import Patience

if TYPE_CHECKING:
    from dslc.compilation.specialization import Specialization
    from dslc.compiler.ir import TileProgram
    from dslc.compiler.passes.pass_manager import Stage
    from dslc.kernels import Kernel
    from dslc.machines.machine import Inspection

DEFAULT_SIZE = 1024  # of a dim that nothing says

_EXAMPLES = """
dslc inspect softmax.tile --dim M=1024 --dim N=4096
dslc inspect gemm_quantized.tile -k gemm_quantized --dim M=16 --dim N=4096 --dim K=4096 --set BN=64
dslc inspect gemm.tile --emit simplify
dslc inspect softmax.tile -k softmax -t nki:trn2 --dim M=4096 --timeline softmax.svg
dslc inspect gemm.tile -k gemm -t aie:npu2 -D T=bf16 --timeline gemm.svg
"""


@click.command("inspect", cls=Documented, examples=_EXAMPLES)
@file_argument
@kernel_option
@set_option
@dim_option("The size of a dim for the counts (default 1024).")
@click.option("--emit", metavar="STAGE", help="Print a stage instead: tile, ir, a pass, or final.")
@timeline_option("Draw when each engine or tile works (Trainium, NPUs).")
@budget_option(20.0)
@compile_options
def command(
    file: Path,
    name: str | None,
    choices: tuple[str, ...],
    dims: tuple[str, ...],
    emit: str | None,
    timeline: Path | None,
    budget: float,
    options: CompileOptions,
) -> None:
    """Show a kernel's signature and choices, its IR's size after every pass, memory and work.

    Bytes are those that the loads and stores ask for in one launch, against those of each tensor taken
    once. For GPUs: registers, instructions, and the predicted time against the roofline. For Trainium:
    a modelled run, of which --timeline makes a picture. For Arm CPUs: multiply-adds a cycle of each
    product, by llvm-mca within --budget. Without --kernel every kernel is shown. With
    `--diagnostics json` each kernel is an object on a line of its own.
    """
    from dslc.cli.inputs import parse_definitions, parse_integers
    from dslc.compiler.passes.pass_manager import remember

    seen: dict[str, list[Stage]] = {}
    library = options.library(file, remember(seen))
    kernels = picked_kernels(library, name, file)
    config = parse_definitions(choices, "--set")
    sizes = parse_integers(dims, "--dim")
    for i, kernel in enumerate(kernels):
        own = {n: v for n, v in config.items() if len(kernels) == 1 or n in kernel.tunes}
        if emit:
            click.echo(_specialized(kernel, sizes, own)[0].source(emit).rstrip("\n"))
            continue
        look = _look(kernel, sizes, own, budget, seen)
        if is_json():
            print_object(_object(look))
        else:
            if i:
                click.echo()
            _show(look)
        _draw(look.specialization, look.inspection.timeline, timeline)


def _specialized(
    kernel: Kernel, sizes: Mapping[str, int], config: Mapping[str, Any]
) -> tuple[Specialization, dict[str, int]]:
    every = dict.fromkeys(kernel.dims, DEFAULT_SIZE) | dict(sizes)
    specialization = kernel.specialize_for(every, config)
    return specialization, every | dict(specialization.fixed)


@dataclass(frozen=True, slots=True)
class _Look:
    """A kernel for these sizes and choices, the program after each pass, and what its machine says."""

    kernel: Kernel
    specialization: Specialization
    stages: list[TileProgram]
    sizes: Mapping[str, int]
    chosen: str
    inspection: Inspection

    @property
    def program(self) -> TileProgram:
        """The program after all passes."""
        return self.stages[-1]


def _look(
    kernel: Kernel,
    sizes: Mapping[str, int],
    config: Mapping[str, Any],
    budget: float,
    seen: Mapping[str, list[Stage]],
) -> _Look:
    specialization, every = _specialized(kernel, sizes, config)
    stages = [stage.program for stage in seen[specialization.name]]
    patience = Patience.of(budget, current().note)
    inspection = kernel.origin.machine.inspection(specialization, stages[-1], every, patience)
    chosen = "" if not kernel.tunes else "as given" if config else _reason(kernel, every)
    return _Look(kernel, specialization, stages, every, chosen, inspection)


def _object(look: _Look) -> dict[str, object]:
    """What is shown, for programs: the prediction with its numbers, seconds, bytes."""
    from dslc.cli.tables.machine_code import prediction_of
    from dslc.compiler.ir.program import Kernel as IrKernel
    from dslc.compiler.ir.rewrite import kernels
    from dslc.compiler.ir.workload import Workload, workload

    kernel, one, program = look.kernel, look.specialization, look.program
    prediction = prediction_of(one, program, look.sizes)
    work = workload(program, look.sizes) if isinstance(program, IrKernel) else Workload()
    return {
        "kernel": kernel.name,
        "target": one.target,
        "parameters": [str(p) for p in kernel.parameters],
        "dims": {d: look.sizes[d] for d in kernel.dims},
        "fixed": dict(one.fixed),
        "tunes": {name: list(values) for name, values in kernel.tunes.items()},
        "choices": dict(one.config),
        "chosen": look.chosen,
        "machine": dict(look.inspection.lines),
        "prediction": None if prediction is None else asdict(prediction),
        "work": asdict(work) if isinstance(program, IrKernel) else None,
        "kernels": [k.name for k in kernels(program)],
        "stages": [dict(zip(_STAGE, row, strict=True)) for row in _stage_rows(look)],
    }


def _show(look: _Look) -> None:
    from dslc.cli.tables.accounting import plan_table, work_tables
    from dslc.cli.tables.machine_code import prediction_of

    kernel, one = look.kernel, look.specialization
    click.echo(f"{kernel.name}({', '.join(map(str, kernel.parameters))})")
    if kernel.doc:
        click.echo(f"  {kernel.doc.splitlines()[0]}")
    _line("dims", " ".join(f"{d}={look.sizes[d]}" for d in kernel.dims))
    _line("fixed", " ".join(f"{d}={n}" for d, n in one.fixed.items()))
    for tune, values in kernel.tunes.items():
        text = f"{' | '.join(map(str, values))}   now {one.config.get(tune)}"
        _line(f"tune {tune}", text)
    _line("choices", look.chosen)
    for label, text in look.inspection.lines:
        _line(label, text)
    if look.inspection.picture:
        _indented(look.inspection.picture)
    if (prediction := prediction_of(one, look.program, look.sizes)) is not None:
        _indented(str(prediction))
    _stages(look)
    for text in (*work_tables(look.program, look.sizes), plan_table(look.program)):
        if text:
            _indented(text)


def _draw(made: Specialization, timeline: Callable[[], str] | None, path: Path | None) -> None:
    """The picture of a simulated run, where one is asked for; a usage error where none was run."""
    if path is None:
        return
    if timeline is None:
        raise click.UsageError(f"--timeline draws simulated runs, not those on {made.target}")
    path.write_text(timeline(), encoding="utf-8")
    current().note(f"wrote {path}")


def _reason(kernel: Kernel, sizes: Mapping[str, int]) -> str:
    """Where the choices of a call of these sizes come from."""
    from dslc.compilation.templates import TemplateOrigin

    origin = kernel.origin
    assert isinstance(origin, TemplateOrigin), "what is inspected has a source"
    return origin.chosen({}, sizes.get).reason


def _line(label: str, text: str) -> None:
    if text:
        click.echo(f"  {label + ':':<14}{text}")


def _indented(text: str) -> None:
    click.echo()
    for line in text.rstrip("\n").splitlines():
        click.echo(f"  {line}".rstrip())


_STAGE = ("stage", "statements", "checked axes", "axes")


def _stages(look: _Look) -> None:
    """The size of the IR after every pass: statements, and axes of accesses that are checked."""
    from dslc.cli.tables.table import plain_table

    rows = [(n, str(count), f"{some} of {every}") for n, count, some, every in _stage_rows(look)]
    _indented(plain_table(_STAGE[:3], rows, (1,)))


def _stage_rows(look: _Look) -> Iterator[tuple[str, int, int, int]]:
    from dslc.compiler.ir.rewrite import kernels
    from dslc.compiler.ir.traverse import walk
    from dslc.compiler.ir.workload import checked_axes

    for stage, program in zip(look.specialization.ir_stages, look.stages, strict=True):
        parts = kernels(program)
        statements = sum(1 for k in parts for _ in walk(k.body))
        counts = [checked_axes(k) for k in parts]
        yield stage, statements, sum(c for c, _ in counts), sum(n for _, n in counts)
