"""`dslc build`: an artifact for a target, or the text of one of its stages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from dslc.cli.compiling import CompileOptions, compile_options, picked_kernels
from dslc.cli.options import file_argument, kernel_option, output_option, set_option
from dslc.cli.pages import Documented
from dslc.cli.session import ExitCode, current

if TYPE_CHECKING:
    from dslc.kernels import Kernel

_EXAMPLES = """
dslc build softmax.tile -D N=1024 -o build/softmax
dslc build gemm.tile --emit ir
dslc build gemm.tile --emit simplify -D K=4096 --set BM=64 -o gemm.ir
dslc build gemm.tile --emit tile                    the source in canonical form
dslc build gemm.tile -t cuda:sm_90a --emit sass     machine code (also cu, ptx; cubin with -o)
dslc build gemm.tile -t hip:gfx950 --emit isa       AMD's (also hip, flydsl; hsaco with -o)
dslc build gemm.tile --print-after all --time-passes
"""

_STANDARD = Path("-")


@click.command("build", cls=Documented, examples=_EXAMPLES)
@file_argument
@kernel_option
@set_option
@click.option(
    "--emit", metavar="STAGE", help="Print a stage instead: tile, ir, the name of a pass, or final."
)
@output_option(
    "The folder of the package (default: the file's name with .dslc), or the file of --emit "
    "(- is the standard output).",
    "PATH",
)
@click.option(
    "--unaligned",
    is_flag=True,
    help="Add kernels for GPU tensors that begin anywhere, as slices of others may; with --emit show "
    "these.",
)
@compile_options
def command(
    file: Path,
    name: str | None,
    choices: tuple[str, ...],
    emit: str | None,
    output: Path | None,
    unaligned: bool,
    options: CompileOptions,
) -> int:
    """Compile FILE for a target into a package that `dslc.load` runs.

    A dim that is the extent of a tile must be known: the error names the -D to write. Without
    --kernel all kernels and programs of the file are built.
    """
    if output == _STANDARD and not emit:
        raise click.UsageError("a package is a folder: name it, or say --emit STAGE to print one")
    if emit == "tile":
        _write(_canonical(file), output)
        return ExitCode.OK
    from dslc.cli.inputs import parse_definitions
    from dslc.codegen.c_family.one_file import one_file
    from dslc.codegen.c_interface.kernel_header import one_header

    library = options.library(file)
    kernels = picked_kernels(library, name, file)
    config = parse_definitions(choices, "--set")
    specializations = (
        [] if unaligned and emit else [k.specialize(**_own(k, config, kernels)) for k in kernels]
    )
    if unaligned:
        specializations += [
            k.specialize_for({}, _own(k, config, kernels), unaligned=_tensors(k)) for k in kernels
        ]
    for one in specializations:
        current().note(repr(one), level=1)
    if emit and (binaries := [b for m in specializations if (b := m.binary(emit)) is not None]):
        _write_binary(binaries, emit, output)
        return ExitCode.OK
    if emit:
        joined = one_header if emit == "header" else one_file
        _write(joined([m.source(emit) for m in specializations]), output)
        return ExitCode.OK
    folder = output or Path(file.with_suffix(".dslc").name)
    library.save(folder, specializations)
    names = ", ".join(dict.fromkeys(m.name for m in specializations))
    current().say(f"{folder}: {names} for {library.target}")
    return ExitCode.OK


def _own(
    kernel: Kernel, config: dict[str, int | float | bool | str], kernels: Iterable[Kernel]
) -> dict[str, int | float | bool | str]:
    """The choices that this kernel has; one that none of them has is left for its error."""
    elsewhere = {name for k in kernels for name in k.tunes} - set(kernel.tunes)
    return {name: value for name, value in config.items() if name not in elsewhere}


def _tensors(kernel: Kernel) -> list[str]:
    return [p.name for p in kernel.parameters if p.dims is not None]


def _canonical(file: Path) -> str:
    from dslc.frontend.printer import print_module
    from dslc.frontend.source import read_source
    from dslc.frontend.tile_parser import parse_tile

    return print_module(parse_tile(read_source(file), str(file)))


def _write_binary(binaries: list[bytes], form: str, output: Path | None) -> None:
    if len(binaries) != 1 or output is None:
        raise click.UsageError(f"--emit {form} writes one kernel's: say --kernel and -o FILE")
    _to(output, binaries[0])


def _write(text: str, output: Path | None) -> None:
    _to(output or _STANDARD, (text if text.endswith("\n") else f"{text}\n").encode())


def _to(output: Path, content: bytes) -> None:
    if output == _STANDARD:
        click.echo(content, nl=False)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(content)
    current().say(f"wrote {output}")
