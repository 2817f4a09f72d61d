"""Tables in the output: drawn by rich on a terminal, plain aligned columns elsewhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence

import click
from dslc.cli.session import current, stdout_color


def print_table(
    header: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[int] = ()
) -> None:
    """Print rows under a header; columns in `right` (from 0) stand to the right.

    The plain form is two spaces between columns and no rules, so that awk and cut can read it. With
    `--diagnostics json` each row is an object on a line of its own, with numbers as numbers.
    """
    if is_json():
        for row in rows:
            print_object(
                {
                    name or ("number" if isinstance(cell, int) else "state"): cell
                    for name, cell in zip(header, row, strict=True)
                }
            )
        return
    cells = [[str(cell) for cell in row] for row in rows]
    if sys.stdout.isatty() and stdout_color():
        _print_rich(header, cells, right)
        return
    click.echo(plain_table(header, cells, right))


def print_object(fields: Mapping[str, object]) -> None:
    """Print an object of JSON on a line of its own."""
    click.echo(json.dumps({name: _plain_value(value) for name, value in fields.items()}))


def is_json() -> bool:
    """Whether the session wants what programs read."""
    return current().diagnostics == "json"


def _plain_value(cell: object) -> object:
    """A cell as JSON has it: sizes in bytes, what is neither number nor text as its text."""
    if isinstance(cell, SizeText):
        return cell.bytes
    if isinstance(cell, Mapping):
        return {str(k): _plain_value(v) for k, v in cell.items()}
    if isinstance(cell, list | tuple):
        return [_plain_value(part) for part in cell]
    return cell if isinstance(cell, str | int | float) or cell is None else str(cell)


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


class SizeText(str):
    """A number of bytes as a person reads it, which JSON has as the number."""

    __slots__ = ("bytes",)
    bytes: float


def size_text(count: float) -> SizeText:
    """A number of bytes as a person reads it: `512 B`, `1.5 KiB`, `3.0 MiB`."""
    text = SizeText(_with_unit(count))
    text.bytes = count
    return text


def _with_unit(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
