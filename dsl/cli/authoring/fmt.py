"""`dslc fmt`: sources in one form."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
from dslc.cli.pages import Documented
from dslc.cli.session import ExitCode, current, session_options, stdout_color

_EXAMPLES = """
dslc fmt softmax.tile
dslc fmt kernels/ --check
dslc fmt gemm.tile --diff
dslc fmt - < gemm.tile
"""


@click.command("fmt", cls=Documented, examples=_EXAMPLES)
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option("--check", is_flag=True, help="Write nothing; exit code 4 where a file would change.")
@click.option("--diff", is_flag=True, help="Write nothing; print what would change.")
@session_options
def command(files: tuple[Path, ...], check: bool, diff: bool) -> int:
    """Write every FILE in the one form of the language's white space.

    Comments, numbers and line breaks within brackets stay; lines of more than 100 columns are broken.
    The program stays the same. Of a folder all `.tile` files are written, and `-` is the standard
    input, which goes to the standard output. Bodies of decorated functions are Python's: its own
    formatters know them.
    """
    from dslc.cli.report import exit_code, show
    from dslc.compiler.diagnostics import Diagnostic, DiagnosticError
    from dslc.formatting import format_tile
    from dslc.frontend.source import read_source

    session = current()
    wrong: list[Diagnostic] = []
    changed = 0
    for file in _every(files):
        name = "<stdin>" if str(file) == "-" else str(file)
        try:
            text = sys.stdin.read() if str(file) == "-" else read_source(file)
            formatted = format_tile(text, name)
        except DiagnosticError as failure:
            show(failure.diagnostics, session)
            wrong += failure.diagnostics
            continue
        changed += formatted != text
        if diff:
            click.echo(_difference(text, formatted, name), nl=False, color=stdout_color())
        elif check:
            if formatted != text:
                session.say(f"would be written anew: {name}")
        elif str(file) == "-":
            click.echo(formatted, nl=False)
        elif formatted != text:
            file.write_text(formatted, encoding="utf-8", newline="\n")
            session.say(f"written: {name}")
    if wrong:
        return exit_code(wrong)
    return ExitCode.FAILED if check and changed else ExitCode.OK


def _every(files: tuple[Path, ...]) -> Iterator[Path]:
    """The files, and those in folders."""
    for file in files:
        if file.is_dir():
            yield from sorted(file.rglob("*.tile"))
        else:
            yield file


def _difference(text: str, made: str, name: str) -> str:
    """The changed lines, in the form of `diff -u`."""
    import difflib

    rows = difflib.unified_diff(
        text.splitlines(keepends=True), made.splitlines(keepends=True), name, f"{name} (formatted)"
    )
    return "".join(row if row.endswith("\n") else row + "\n" for row in rows)
