"""`dslc explain`: what an error code means, with a wrong and a right example."""

from __future__ import annotations

import click
from dslc.cli.pages import Documented
from dslc.cli.session import session_options

_EXAMPLES = """
dslc explain DSL0201
dslc explain 201
dslc explain --list
"""


@click.command("explain", cls=Documented, examples=_EXAMPLES)
@click.argument("code", required=False)
@click.option("--list", "every", is_flag=True, help="List every code with its title.")
@session_options
def command(code: str | None, every: bool) -> None:
    """Say more about the error CODE; the letters and zeros in front may be left out."""
    if every == bool(code):
        raise click.UsageError("Give one code, or --list.")
    if code is None:
        from dslc.cli.tables.table import print_table
        from dslc.compiler.diagnostics.catalogue import entries

        rows = [(name, title) for name, (title, _) in entries().items()]
        print_table(("code", "title"), rows)
        return
    click.echo(_explanation(_canonical(code)))


def _canonical(code: str) -> str:
    digits = code.upper().removeprefix("DSL")
    return f"DSL{int(digits):04}" if digits.isascii() and digits.isdigit() else code.upper()


def _explanation(code: str) -> str:
    from dslc.compiler.diagnostics import catalogue

    text = catalogue.explain(code)
    if text is None:
        close = catalogue.similar_code(code)
        hint = f" Did you mean {close}?" if close else " `dslc explain --list` shows them all."
        raise click.UsageError(f"There is no error code {code}.{hint}")
    return "\n\n".join(_filled(p) for p in text.rstrip().split("\n\n"))


def _filled(paragraph: str) -> str:
    """Prose in lines of one length; examples, which are set off by more than one space, as they are."""
    import re
    import textwrap

    if "  " in paragraph:
        return paragraph
    parts = re.split(r"\n(?=Wrong:|Right:)", paragraph)
    return "\n".join(textwrap.fill(p, 96, break_on_hyphens=False) for p in parts)
