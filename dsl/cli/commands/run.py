"""`dslc run`: a kernel on given or random inputs, its outputs in a table."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from dslc.cli.compiling import CompileOptions, compile_options, pick_kernel
from dslc.cli.options import (
    dim_option,
    file_argument,
    input_option,
    kernel_option,
    seed_option,
    set_option,
)
from dslc.cli.pages import Documented
from dslc.cli.session import ExitCode, current

if TYPE_CHECKING:
    from dslc.cli.feeding import Feed
    from dslc.compilation.specialization import Specialization

_EXAMPLES = """
dslc run vector_add.tile --dim N=1000
dslc run softmax.tile --input x=x.npy --output y=y.npy
dslc run gemm_quantized.tile -k gemm_quantized -D W=i6 --dim M=16 --set BN=64 \\
         --input w=model.safetensors:layer.weight --random 7 --verify
"""


@click.command("run", cls=Documented, examples=_EXAMPLES)
@file_argument
@kernel_option
@input_option("A parameter's value: file.npy, file.npz:KEY, file.safetensors:KEY, or a number.")
@seed_option("The seed of the tensors that are not given.")
@dim_option("A dim that no given tensor says.")
@set_option
@click.option(
    "--output",
    "outputs",
    multiple=True,
    metavar="NAME=FILE.npy",
    help="Write an output to a file. Repeatable.",
)
@click.option(
    "--shuffle", type=int, metavar="SEED", help="Run the parallel turns in a random order."
)
@click.option(
    "--trap-nan",
    is_flag=True,
    help="Interpret it; stop at the first NaN that is stored, and name the operation that made it.",
)
@click.option("--trap-inf", is_flag=True, help="The same for infinities and NaNs.")
@click.option(
    "--verify",
    is_flag=True,
    help="Also interpret the program before and after all passes, in order and shuffled, and compare.",
)
@click.option(
    "--repeat", type=click.IntRange(1), default=1, metavar="N", help="Time the median of N runs."
)
@click.option(
    "--emulate",
    is_flag=True,
    help="Run code for GPUs in the emulator on the host, as where there is no such GPU.",
)
@compile_options
def command(
    file: Path,
    name: str | None,
    inputs: tuple[str, ...],
    seed: int,
    dims: tuple[str, ...],
    choices: tuple[str, ...],
    outputs: tuple[str, ...],
    shuffle: int | None,
    verify: bool,
    trap_nan: bool,
    trap_inf: bool,
    repeat: int,
    emulate: bool,
    options: CompileOptions,
) -> int:
    """Run a kernel or program of FILE.

    With --emulate kernels for `cuda:*` and `hip:*` run without a GPU, by their emitted code.
    Tensors that are not given are random by the seed and fit their dtype; scalars must be given. Dims
    follow from the inputs' shapes and --dim. Outputs are shown in a table and can be written to files.
    Exit code 4 where --verify finds a difference, or the interpreter a race or an uninitialised read.
    """
    from dslc.cli.feeding import feed
    from dslc.cli.inputs import parse_definitions, parse_integers, read_inputs
    from dslc.compiler.targets import INTERP

    if emulate:
        from dslc.machines.emulation import emulating

        click.get_current_context().with_resource(emulating())
    trap: Literal["nan", "inf"] | None = "inf" if trap_inf else "nan" if trap_nan else None
    if trap is not None:
        options = replace(options, target=INTERP.name)
    kernel = pick_kernel(options.library(file), name, file)
    compiled, fed = feed(
        kernel,
        given=read_inputs(inputs),
        dims=parse_integers(dims, "--dim"),
        config=parse_definitions(choices, "--set"),
        seed=seed,
    )
    current().note(repr(compiled), level=1)
    files = _output_files(outputs, fed)
    results, seconds = _timed(compiled, fed, shuffle, repeat, trap)
    _print_outputs(fed, results)
    current().say(f"{compiled.name} on {compiled.target}: {_duration(compiled, seconds, repeat)}")
    for parameter, path in files.items():
        import numpy as np

        np.save(path, results[parameter])
        current().say(f"wrote {path}")
    if verify:
        from dslc.cli.verification import verify_stages

        return verify_stages(compiled, fed, results, shuffle)
    return ExitCode.OK


def _output_files(outputs: tuple[str, ...], fed: Feed) -> dict[str, Path]:
    from dslc.cli.inputs import parse_pairs
    from dslc.compiler.diagnostics import did_you_mean, error

    files = {}
    for name, text in parse_pairs(outputs, "--output").items():
        if name not in fed.written:
            shown = ", ".join(fed.written) or "none"
            hint = did_you_mean(name, fed.written) or f"the outputs are {shown}"
            raise error("DSL0910", f"--output {name}={text}: there is no output {name}", hint=hint)
        path = Path(text)
        if path.suffix != ".npy" or not path.parent.is_dir():
            raise error(
                "DSL0910", f"--output {name}={text}: expected a .npy file in a folder that exists"
            )
        files[name] = path
    return files


def _timed(
    made: Specialization,
    fed: Feed,
    shuffle: int | None,
    repeat: int,
    trap: Literal["nan", "inf"] | None,
) -> tuple[dict[str, Any], float]:
    """The outputs of the last run, and the median of the runs in seconds."""
    import dslc
    from dslc.cli.progress import shown_progress

    times = []
    arguments: dict[str, Any] = {}
    for _ in range(repeat):
        arguments = fed.fresh()
        with (
            shown_progress(made.name) as progress,
            dslc.options(shuffle=shuffle, progress=progress, trap=trap),
        ):
            begin = time.perf_counter()
            made(**arguments)
            times.append(time.perf_counter() - begin)
    return {name: arguments[name] for name in fed.written}, statistics.median(times)


def _duration(made: Specialization, seconds: float, repeat: int) -> str:
    """How long it took; of a simulated machine how long it would take, as modelled."""
    run = made.simulated
    if run is not None:
        return f"{run.microseconds:.4g} us modelled (simulated here in {seconds:.2g} s)"
    count = f"median of {repeat}, " if repeat > 1 else ""
    if made.stands_in:
        return f"{made.stands_in} here in {seconds:.2g} s ({count}no time of the machine itself)"
    return f"{seconds * 1e3:.3g} ms ({count}arguments ready)"


def _print_outputs(fed: Feed, results: Mapping[str, Any]) -> None:
    import numpy as np
    from dslc.cli.tables.table import print_table
    from dslc.compiler.dtypes import decode

    rows = []
    for name, array in results.items():
        dtype = fed.dtypes[name]
        values = np.asarray(decode(array, dtype), np.float64)
        finite = values[np.isfinite(values)]
        row = [name, str(dtype), "x".join(map(str, array.shape)) or "scalar"]
        row += [f"{f(finite):.6g}" if finite.size else "-" for f in (np.min, np.max, np.mean)]
        rows.append([*row, str(np.isnan(values).sum()), str(np.isinf(values).sum())])
    header = ("output", "dtype", "shape", "min", "max", "mean", "NaN", "inf")
    print_table(header, rows, right=range(3, 8))
