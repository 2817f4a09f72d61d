"""Commands and groups whose help page closes with examples."""

from __future__ import annotations

from typing import Any

import click


class _Examples(click.Command):
    """A command with `examples`: lines shown as they are under the options."""

    def __init__(self, *args: Any, examples: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, then what a click command has here."""
        lines = self.examples.strip().splitlines()
        if lines:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line}\n" for line in lines))
        super().format_epilog(ctx, formatter)


class Documented(_Examples):
    """A command with examples."""


class DocumentedGroup(_Examples, click.Group):
    """A group of commands with examples."""
