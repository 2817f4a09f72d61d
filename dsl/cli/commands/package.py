"""`dslc package`: kernels for many machines into one package."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click
from dslc.cli.options import cache_option, executor_option, output_option
from dslc.cli.pages import Documented
from dslc.cli.progress import shown_progress
from dslc.cli.session import ExitCode, current, session_options

_EXAMPLES = """
dslc package kernels.toml -o build/kernels.dslc
dslc package kernels.toml --wheel dist --jobs 16
dslc package kernels.toml --executor dask:tcp://10.0.0.7:8786
dslc list build/kernels.dslc

kernels.toml:
  [package]
  name = "llm_kernels"
  version = "1.2.0"
  targets = ["cuda:sm_80", "cuda:sm_90a", "aarch64:all"]
  ptx = "cuda:sm_80"                        # also PTX, for GPUs that there is no code for

  [[kernel]]                                # all kernels of the file, or one: kernel = "..."
  source = "gemm_quantized.tile"
  kernel = "gemm_quantized"
  name = "w4a16"                            # under another name
  define = { W = "u4" }                     # as -D
  dims = { N = [4096, 11008], K = 4096 }    # compiled in, every combination
  sizes = { M = [1, 256, 4096] }            # what choices are made for
"""


@click.command("package", cls=Documented, examples=_EXAMPLES)
@click.argument("spec", metavar="SPEC", type=click.Path(dir_okay=False, path_type=Path))
@output_option("The package's folder (default: its name with .dslc).", "DIR")
@click.option(
    "-j", "--jobs", metavar="N", type=click.IntRange(1), help="Processes (default: all CPUs)."
)
@executor_option
@click.option(
    "--wheel",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Also write the package as a wheel for pip into this folder.",
)
@click.option("--force", is_flag=True, help="Build though nothing has changed.")
@cache_option
@session_options
def command(
    spec: Path,
    output: Path | None,
    jobs: int | None,
    executor: str | None,
    wheel: Path | None,
    force: bool,
    cache: bool,
) -> int:
    """Compile the kernels of SPEC for all its targets into one package.

    Neither the GPUs nor the CPUs that it is for need to be here. dslc.runtime.load runs the package
    where only NumPy is installed. The same sources and tools give the same bytes; where nothing has
    changed nothing is done.
    """
    # NumPy multiplies nothing here, and its library's threads spin for a while when they are made.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from dslc.packaging import build_package
    from dslc.packaging.spec import decode_spec

    folder = output or Path(f"{decode_spec(spec).package.name}.dslc")
    begin = time.monotonic()
    with shown_progress(f"compiling {spec}") as advance:
        outcome = build_package(
            spec,
            folder,
            jobs=jobs,
            executor=executor,
            cache=None if cache else False,
            report=advance,
            force=force,
        )
    index = outcome.package.index
    seconds = f" in {time.monotonic() - begin:.1f} s" if outcome.built else ", nothing has changed"
    current().say(
        f"{folder}: {index.name} {index.version}, {len(index.kernels)} kernels for "
        f"{', '.join(index.targets)}, {outcome.specializations} specialisations{seconds}\n"
        f"digest {outcome.package.digest}"
    )
    if wheel is not None:
        from dslc.packaging.wheel import write_wheel

        current().say(f"wrote {write_wheel(outcome.package, wheel)}")
    return ExitCode.OK
