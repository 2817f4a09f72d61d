"""The options of every command that compiles, and what they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from dslc.cli.session import session_options

F = TypeVar("F", bound=Callable[..., Any])


def compile_options(command: F) -> F:
    """`--target -D -I --print-after --dump-dir --time-passes` and the session's options."""
    options = (
        click.option(
            "-t", "--target", default="interp", show_default=True,
            help="The machine (`dslc targets` lists them).",
        ),
        click.option(
            "-D", "define", multiple=True, metavar="NAME=VALUE",
            help="Fix a dim or override a const: -D K=4096, -D W=i6. Repeatable.",
        ),
        click.option(
            "-I", "include", multiple=True, metavar="DIR",
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            help="Look for imported .tile files here as well. Repeatable.",
        ),
        click.option(
            "--print-after", multiple=True, metavar="PASS",
            help="Print the Tile IR after this pass (or all) on the standard error.",
        ),
        click.option(
            "--dump-dir", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
            help="Write the Tile IR after every pass into numbered files.",
        ),
        click.option("--time-passes", is_flag=True, help="Print how long every pass took."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return session_options(command)


file_argument = click.argument(
    "file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path)
)
