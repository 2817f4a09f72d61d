"""`dslc simulate`: what somebody has written for a machine, on its simulator."""

from __future__ import annotations

from pathlib import Path

import click
from dslc.cli.options import input_option, seed_option, timeline_option
from dslc.cli.pages import Documented
from dslc.cli.session import ExitCode, session_options

_EXAMPLES = """
dslc simulate add.py --entry add -i a="bf16[256, 512]" -i b="bf16[256, 512]"
dslc simulate library/core/rope.py --entry rope -i x=x.npy -i cos=tables.npz:cos -t nki:trn3
dslc simulate add.py --entry add -i a=a.npy -i b=b.npy --grid 2 --timeline run.svg
dslc simulate aie.mlir -i in=in.npy -i scale=3 --output out.npz
dslc simulate aie.mlir -i a=random -i b=random --functions kernels.py --timeline run.svg
dslc simulate two.mlir --device design2 --sequence seq -i in=arrays.npz:x
dslc simulate aie.mlir -i in=in.npy --assume waits --assume lenient
"""
_PYTHON = ("entry", "target", "grid")  # options of kernels in NKI
_MODULES = ("device", "sequence", "functions", "assume", "bfp16")  # options of modules for NPUs


@click.command("simulate", cls=Documented, examples=_EXAMPLES)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--entry", metavar="NAME", help="NKI: the function under nki.jit.")
@input_option(
    "A parameter: file.npy, file.npz:KEY, a number; random as DTYPE[SIZES], or for a module as "
    "the word random."
)
@seed_option("The seed of random tensors.")
@click.option(
    "-t",
    "--target",
    type=click.Choice(["nki:trn1", "nki:trn2", "nki:trn3"]),
    default="nki:trn2",
    show_default=True,
    help="NKI: the core.",
)
@click.option(
    "--grid",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    metavar="N",
    help="NKI: programs of the kernel, each on a core of its own.",
)
@click.option("--device", metavar="NAME", help="MLIR: the device whose sequence is dispatched.")
@click.option("--sequence", metavar="NAME", help="MLIR: the sequence that is dispatched.")
@click.option(
    "--functions",
    metavar="FILE.py",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="MLIR: functions that the module only declares, in Python by their names.",
)
@click.option(
    "--assume",
    type=click.Choice(["waits", "zeroed", "overlay", "lenient"]),
    multiple=True,
    help="MLIR: what is seen to elsewhere: the host waits for a place in a full queue; tiles' memory "
    "begins with zeros; columns have flows for control packets; what is left at the end is no fault.",
)
@click.option("--bfp16", is_flag=True, help="MLIR: multiply bf16 in blocks that share an exponent.")
@click.option(
    "--output",
    "output",
    metavar="FILE.npz",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write what the kernel returns (out0, out1, ...), or all arguments of a module.",
)
@timeline_option("Draw when each engine, core or channel works.")
@session_options
@click.pass_context
def command(
    ctx: click.Context,
    file: Path,
    entry: str | None,
    inputs: tuple[str, ...],
    seed: int,
    target: str,
    grid: int,
    device: str | None,
    sequence: str | None,
    functions: Path | None,
    assume: tuple[str, ...],
    bfp16: bool,
    output: Path | None,
    timeline: Path | None,
) -> int:
    """Run a kernel of FILE under every rule of its machine; times are modelled.

    A Python file holds kernels in NKI, for Trainium: files that it imports are looked for beside it and
    in the folders above, and parameters that have defaults may be left out. A file ending in .mlir is
    a module of the aie dialect, for Ryzen AI: its sequence is run, and arguments that are not given are
    zeros; modules of mlir-aie 1.2 to 1.4 are read. What the machine forbids is an error at its line.
    """
    if file.suffix == ".mlir":
        from dslc.cli.npu_modules import ModuleOptions, run_module

        _refuse(ctx, _PYTHON, file)
        options = ModuleOptions(device, sequence, functions, assume, bfp16, seed)
        run_module(file, inputs, options, output, timeline)
        return ExitCode.OK
    from dslc.cli.nki_kernels import run_kernel

    _refuse(ctx, _MODULES, file)
    if entry is None:
        raise click.UsageError("a kernel in NKI needs --entry NAME", ctx)
    run_kernel(file, entry, inputs, seed, target, grid, output, timeline)
    return ExitCode.OK


def _refuse(ctx: click.Context, names: tuple[str, ...], file: Path) -> None:
    """Options of the other kind of file."""
    for name in names:
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} says nothing of {file.name}", ctx)
