"""`dslc simulate`: a module for an NPU that somebody has written, on the simulator."""

from __future__ import annotations

from pathlib import Path

import click
from dslc.cli.pages import Documented
from dslc.cli.session import ExitCode, session_options

_EXAMPLES = """
dslc simulate aie.mlir -i in=in.npy -i scale=3 --output out.npz
dslc simulate aie.mlir -i a=random -i b=random --functions kernels.py --timeline run.svg
dslc simulate two.mlir --device design2 --sequence seq -i in=arrays.npz:x
"""


@click.command("simulate", cls=Documented, examples=_EXAMPLES)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-i",
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=VALUE",
    help="An argument: file.npy, file.npz:KEY, a number for every element, or random. Repeatable.",
)
@click.option(
    "--random",
    "seed",
    type=int,
    default=0,
    show_default=True,
    metavar="SEED",
    help="The seed of random arguments.",
)
@click.option("--device", metavar="NAME", help="The device whose sequence is dispatched.")
@click.option("--sequence", metavar="NAME", help="The sequence that is dispatched.")
@click.option(
    "--functions",
    metavar="FILE.py",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Functions that the module only declares, in Python by their names.",
)
@click.option("--bfp16", is_flag=True, help="Multiply bf16 in blocks that share an exponent.")
@click.option(
    "--output",
    metavar="FILE.npz",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write all arguments as they are then.",
)
@click.option(
    "--timeline",
    metavar="FILE.svg",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw when cores and channels work.",
)
@session_options
def command(
    file: Path,
    inputs: tuple[str, ...],
    seed: int,
    device: str | None,
    sequence: str | None,
    functions: Path | None,
    bfp16: bool,
    output: Path | None,
    timeline: Path | None,
) -> int:
    """Run the sequence of FILE, a module of the aie dialect, under every rule of the machine.

    Arguments that are not given are zeros. What the machine forbids is an error at its line, a
    standstill names who waits for what, and times are modelled. Modules of mlir-aie 1.2 to 1.4 are
    read, in custom and generic form.
    """
    from dslc.cli.npu_modules import ModuleOptions, run_module

    options = ModuleOptions(device, sequence, functions, bfp16, seed)
    run_module(file, inputs, options, output, timeline)
    return ExitCode.OK
