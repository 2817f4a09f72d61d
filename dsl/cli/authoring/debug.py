"""`dslc debug`: one turn of a kernel, statement by statement, forwards and backwards."""

from __future__ import annotations

from pathlib import Path

import click
from dslc.cli.authoring.following import Run, follow, follow_pass
from dslc.cli.compiling import CompileOptions, compile_options
from dslc.cli.options import dim_option, input_option, kernel_option, seed_option, set_option
from dslc.cli.pages import Documented
from dslc.cli.session import ExitCode

_EXAMPLES = """
dslc debug softmax.tile --dim M=4 --dim N=30
dslc debug gemm.tile --dim M=32 --dim N=32 --dim K=64 --turn m=16,n=0
dslc debug gemm.tile --dim M=32 --dim N=32 --dim K=64 --pass software-pipeline -t cuda:sm_90a
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
@click.option(
    "--pass",
    "pass_",
    metavar="NAME",
    help="Follow the program before and after this pass of the target (all: every pass) side by side.",
)
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
    pass_: str | None,
    options: CompileOptions,
) -> int:
    """Follow a turn of a kernel of FILE as the language means it, before any pass.

    The turn is run once and recorded; then every statement of it can be visited, forwards and
    backwards. Commands are read from the standard input, `help` lists them. With --pass both programs
    of that pass are interpreted and stepped through together, up to where they first differ.
    """
    if dap:
        _serve(options)
        return ExitCode.OK
    if file is None:
        raise click.UsageError("Missing argument 'FILE'.")
    from dslc.cli.authoring.pass_stepping import PassStepper
    from dslc.cli.authoring.place import Place
    from dslc.cli.authoring.stepping import Stepper
    from dslc.cli.inputs import parse_definitions, parse_integers, read_inputs

    run = Run(
        file,
        name,
        read_inputs(inputs),
        parse_integers(dims, "--dim"),
        parse_definitions(choices, "--set"),
        seed,
        _turn(turn),
    )
    if pass_ is None:
        Stepper(Place(follow(run, options)), file).run()
    else:
        PassStepper(follow_pass(run, options, pass_), file).run()
    return ExitCode.OK


def _serve(options: CompileOptions) -> None:
    """Answer an editor; its launch has the command's options by their names."""
    import sys
    from collections.abc import Mapping
    from dataclasses import replace
    from typing import Any

    from dslc.cli.authoring.debug_adapter import Adapter
    from dslc.cli.authoring.lockstep import Lockstep
    from dslc.cli.authoring.place import Place
    from dslc.cli.inputs import parse_definitions, parse_integers, read_inputs

    def pairs(given: Mapping[str, Any] | None) -> tuple[str, ...]:
        return tuple(f"{name}={value}" for name, value in (given or {}).items())

    def launch(a: Mapping[str, Any]) -> Place | Lockstep:
        run = Run(
            Path(a["program"]),
            a.get("kernel"),
            read_inputs(pairs(a.get("inputs"))),
            parse_integers(pairs(a.get("dims")), "--dim"),
            parse_definitions(pairs(a.get("set")), "--set"),
            int(a.get("random") or 0),
            parse_integers(pairs(a.get("turn")), "--turn"),
        )
        if not a.get("pass"):
            return Place(follow(run, options))
        return follow_pass(
            run, replace(options, target=a.get("target") or options.target), a["pass"]
        )

    Adapter(sys.stdin.buffer, sys.stdout.buffer, launch).run()


def _turn(text: str | None) -> dict[str, int]:
    from dslc.cli.inputs import parse_integers

    return parse_integers(tuple(text.split(",")), "--turn") if text else {}
