"""`dslc stubs`: what type checkers and editors need to know of a file's kernels."""

from __future__ import annotations

from pathlib import Path

import click
from dslc.cli.options import file_argument, include_option, output_option
from dslc.cli.pages import Documented
from dslc.cli.session import current, session_options

_EXAMPLES = """
dslc stubs softmax.tile
dslc stubs gemm.tile -o typings/gemm_tile.pyi
"""


@click.command("stubs", cls=Documented, examples=_EXAMPLES)
@file_argument
@output_option(
    "The stub (default: beside FILE, softmax_tile.pyi of softmax.tile; - prints it).",
    dir_okay=False,
    allow_dash=True,
)
@include_option
@session_options
def command(file: Path, output: Path | None, include: tuple[Path, ...]) -> None:
    r"""Write a stub of the kernels of FILE, by which type checkers know their calls.

    Of softmax.tile it has the class SoftmaxTile, to be named where the library is made:

    \b
    if TYPE_CHECKING:
        from softmax_tile import SoftmaxTile
    lib = cast("SoftmaxTile", dslc.compile("softmax.tile"))
    """
    import dslc
    from dslc.calls.stub_text import stub_text
    from dslc.compiler.targets import INTERP

    library = dslc.compile(file, INTERP.name, include=include, cache=False)
    words = "".join(c if c.isalnum() else " " for c in file.stem).split()
    class_name = "".join(w[0].upper() + w[1:] for w in words) + "Tile"
    class_name = class_name if class_name.isidentifier() else f"_{class_name}"
    signatures = {name: kernel.origin.signature for name, kernel in library.items()}
    text = stub_text(file.name, class_name, signatures)
    if output is not None and str(output) == "-":
        click.echo(text, nl=False)
        return
    target = output or file.with_name(f"{'_'.join(words)}_tile.pyi")
    target.write_text(text, encoding="utf-8")
    current().note(f"wrote {target}")
