"""Tables in the output: drawn by rich on a terminal, plain aligned columns elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
from dslc.cli.session import current, stdout_color


def print_table(
    header: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[int] = ()
) -> None:
    """Print rows under a header; columns in `right` (from 0) stand to the right.

    The plain form is two spaces between columns and no rules, so that awk and cut can read it.
    """
    cells = [[str(cell) for cell in row] for row in rows]
    if sys.stdout.isatty() and stdout_color():
        _print_rich(header, cells, right)
        return
    click.echo(plain_table(header, cells, right))


def plain_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()
) -> str:
    """The table as plain text, without a line break at its end."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _print_rich(header: Sequence[str], rows: list[list[str]], right: Sequence[int]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for i, name in enumerate(header):
        table.add_column(name, justify="right" if i in right else "left")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(no_color=current().color == "never").print(table)


def size_text(count: float) -> str:
    """A number of bytes as a person reads it: `512 B`, `1.5 KiB`, `3.0 MiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
