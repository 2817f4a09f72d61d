"""A command whose help page closes with examples."""

from __future__ import annotations

from typing import Any

import click


class Documented(click.Command):
    """A command with `examples`: lines shown as they are under the options."""

    def __init__(self, *args: Any, examples: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, then what a click command has here."""
        write_examples(formatter, self.examples)
        super().format_epilog(ctx, formatter)


def write_examples(formatter: click.HelpFormatter, examples: str) -> None:
    """A section of the help page whose lines are not wrapped."""
    lines = examples.strip().splitlines()
    if lines:
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in lines))
