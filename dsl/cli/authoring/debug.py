"""`dslc debug`: one turn of a kernel, statement by statement, forwards and backwards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from dslc.cli.compiling import CompileOptions, compile_options, pick_kernel
from dslc.cli.options import dim_option, input_option, kernel_option, seed_option, set_option
from dslc.cli.pages import Documented
from dslc.cli.session import ExitCode

if TYPE_CHECKING:
    from dslc.compiler.interpreter.recording import Recording
    from dslc.kernels import Kernel

_EXAMPLES = """
dslc debug softmax.tile --dim M=4 --dim N=30
dslc debug gemm.tile --dim M=32 --dim N=32 --dim K=64 --turn m=16,n=0
echo 'break 12; continue; print acc' | dslc debug gemm.tile --dim M=16 --dim N=16 --dim K=32
"""


@click.command("debug", cls=Documented, examples=_EXAMPLES)
@click.argument("file", metavar="FILE", required=False, type=click.Path(path_type=Path))
@kernel_option
@input_option("A parameter's value, as in `dslc run`.")
@seed_option("The seed of other tensors.")
@dim_option("A dim that no tensor says.")
@set_option
@click.option(
    "--dap",
    is_flag=True,
    help="Speak the Debug Adapter Protocol over stdio: editors start it, and name the file.",
)
@click.option("--turn", metavar="NAME=INDEX,...", help="The turn to follow (default: the first).")
@compile_options
def command(
    file: Path | None,
    name: str | None,
    inputs: tuple[str, ...],
    seed: int,
    dims: tuple[str, ...],
    choices: tuple[str, ...],
    dap: bool,
    turn: str | None,
    options: CompileOptions,
) -> int:
    """Follow a turn of a kernel of FILE as the language means it, before any pass.

    The turn is run once and recorded; then every statement of it can be visited, forwards and
    backwards. Commands are read from the standard input, `help` lists them.
    """
    if dap:
        _serve(options)
        return ExitCode.OK
    if file is None:
        raise click.UsageError("Missing argument 'FILE'.")
    from dslc.cli.authoring.stepping import Stepper

    recording = _followed(options, file, name, inputs, seed, dims, choices, turn)
    Stepper(recording, file).run()
    return ExitCode.OK


def _serve(options: CompileOptions) -> None:
    """Answer an editor; its launch has the command's options by their names."""
    import sys
    from collections.abc import Mapping
    from typing import Any

    from dslc.cli.authoring.debug_adapter import Adapter
    from dslc.cli.authoring.place import Place

    def pairs(given: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(f"{name}={value}" for name, value in given.items())

    def launch(a: Mapping[str, Any]) -> Place:
        turn = ",".join(pairs(a.get("turn") or {})) or None
        recording = _followed(
            options,
            Path(a["program"]),
            a.get("kernel"),
            pairs(a.get("inputs") or {}),
            int(a.get("random") or 0),
            pairs(a.get("dims") or {}),
            pairs(a.get("set") or {}),
            turn,
        )
        return Place(recording)

    Adapter(sys.stdin.buffer, sys.stdout.buffer, launch).run()


def _followed(
    options: CompileOptions,
    file: Path,
    name: str | None,
    inputs: tuple[str, ...],
    seed: int,
    dims: tuple[str, ...],
    choices: tuple[str, ...],
    turn: str | None,
) -> Recording:
    """The recorded turn; DSL0912 where there is none."""
    from dataclasses import replace

    from dslc.cli.feeding import feed
    from dslc.cli.inputs import parse_definitions, parse_integers, read_inputs
    from dslc.compiler.diagnostics import error
    from dslc.compiler.targets import INTERP

    options = replace(options, target=INTERP.name)
    kernel = pick_kernel(options.library(file), name, file)
    specialized, fed = feed(
        kernel,
        given=read_inputs(inputs),
        dims=parse_integers(dims, "--dim"),
        config=parse_definitions(choices, "--set"),
        seed=seed,
    )
    recording = _record(kernel, dict(specialized.config), fed.fresh(), _turn(turn))
    if not recording.events:
        raise error("DSL0912", f"{kernel.name} has no such turn", hint="--turn m=0,n=64 names one")
    return recording


def _record(
    kernel: Kernel, config: dict[str, object], arguments: dict[str, object], wanted: dict[str, int]
) -> Recording:
    """Run the checker's program and record a turn of it."""
    from dslc.calls.arguments import dim_size
    from dslc.compilation.templates import TemplateOrigin
    from dslc.compiler.diagnostics import error
    from dslc.compiler.interpreter import Options, run
    from dslc.compiler.interpreter.recording import Recording
    from dslc.compiler.ir import Program

    origin = kernel.origin
    assert isinstance(origin, TemplateOrigin)
    parameters = origin.signature.parameters
    program = origin.elaborated(
        {},
        config,
        lambda dim: dim_size(parameters, arguments, dim),  # type: ignore[arg-type]
    ).program
    if isinstance(program, Program):
        raise error(
            "DSL0912", f"{kernel.name} is a program", hint="a kernel of it can be followed: -k NAME"
        )
    indices = None
    if wanted:
        names = [axis.var.name for axis in program.grid]
        if set(names) != set(wanted):
            text = f"a turn of {kernel.name} is named by {', '.join(names) or 'nothing'}"
            raise error("DSL0910", text, hint="--turn m=0,n=64")
        indices = tuple(wanted[n] for n in names)
    recording = Recording(indices)
    run(program, arguments, Options(recording=recording))  # type: ignore[arg-type]
    return recording


def _turn(text: str | None) -> dict[str, int]:
    from dslc.cli.inputs import parse_integers

    return parse_integers(tuple(text.split(",")), "--turn") if text else {}
