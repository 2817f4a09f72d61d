"""`dslc layout`: a layout as a table or a picture, judged against memories and machines."""

from __future__ import annotations

from pathlib import Path

import click
from dslc.cli.pages import Documented
from dslc.cli.session import current, session_options, stdout_color

_EXAMPLES = """
dslc layout "local(2, 1).spatial(8, 4).local(1, 2)"
dslc layout "spatial(8, 4).local(1, 8)" --memory "local(16, 64)" --bits 16 --machine cuda:sm_90a
dslc layout "column_spatial(16, 4).local(1, 4)" --svg mfma_a.svg
dslc layout "spatial(8, 4).local(1, 2)" --compare "local(1, 2).spatial(8, 4)"
"""


@click.command("layout", cls=Documented, examples=_EXAMPLES)
@click.argument("expr")
@click.option(
    "--machine",
    default="cuda:sm_90a",
    show_default=True,
    metavar="TARGET",
    help="Whose warps and banks count (`dslc targets` lists them).",
)
@click.option(
    "--memory",
    metavar="EXPR",
    help="The layout of the memory that the tile is read from: vector width and bank conflicts.",
)
@click.option(
    "--bits",
    type=click.IntRange(1, 64),
    default=16,
    show_default=True,
    help="The width of an element.",
)
@click.option(
    "--compare",
    "other",
    metavar="EXPR",
    help="Another layout of the tile: equal, or what converts.",
)
@click.option(
    "--svg",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw it into an SVG file.",
)
@click.option("--table/--no-table", default=True, help="Print which thread holds which element.")
@session_options
def command(
    expr: str,
    machine: str,
    memory: str | None,
    bits: int,
    other: str | None,
    svg: Path | None,
    table: bool,
) -> None:
    """Show the layout EXPR, in the notation of the language.

    Each cell of the table reads thread:element. Composition is written with points, as in
    local(2, 1).spatial(8, 4); `*` and `/` and every function of docs/layouts.md serve as well.
    """
    from dslc.compiler.layout import compare, describe, parse_layout, render_svg, render_text
    from dslc.compiler.targets import find_target

    target = find_target(machine)
    layout = parse_layout(expr)
    place = None if memory is None else parse_layout(memory)
    if table:
        click.echo(render_text(layout, color=stdout_color()).rstrip("\n"), color=stdout_color())
        click.echo()
    about = describe(layout, memory=place, bits=bits, banks=target.banks if place else None)
    click.echo(about.rstrip("\n"))
    if other is not None:
        click.echo()
        click.echo(compare(layout, parse_layout(other), target.warp_size).rstrip("\n"))
    if svg is not None:
        # A memory layout is coloured by its banks, any other by its threads.
        banks = target.banks if layout.threads == 1 else None
        picture = render_svg(layout, title=expr, banks=banks, bits=bits)
        svg.write_text(picture, encoding="utf-8")
        current().note(f"wrote {svg}")
