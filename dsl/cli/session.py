"""What every command has: how to show diagnostics, colour, loudness, and the exit codes."""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TextIO, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class ExitCode(enum.IntEnum):
    """What the process says to its caller."""

    OK = 0
    SOURCE = 1  # the program is wrong
    USAGE = 2  # the command line or its files are wrong
    TOOLCHAIN = 3  # something outside dslc is missing
    FAILED = 4  # a check or verification ran and failed
    INTERNAL = 70  # a defect of dslc (EX_SOFTWARE of sysexits.h)


@dataclass
class Session:
    """The choices that hold for a whole command: one object a process, click's `obj`."""

    diagnostics: Literal["human", "json", "sarif"] = "human"
    color: Literal["auto", "always", "never"] = "auto"
    verbosity: int = 0  # -1 quiet, 0, 1 verbose, ...

    def use_color(self, stream: TextIO) -> bool:
        """Whether that stream gets colour: NO_COLOR and FORCE_COLOR decide before the terminal."""
        if self.color != "auto":
            return self.color == "always"
        if os.environ.get("NO_COLOR"):
            return False
        if os.environ.get("FORCE_COLOR"):
            return True
        return stream.isatty() and os.environ.get("TERM") != "dumb"

    def note(self, text: str, level: int = 0) -> None:
        """A line for the user on the standard error, unless the session is quieter than `level`."""
        if self.verbosity >= level:
            click.echo(text, err=True)

    def say(self, text: str) -> None:
        """A line of result, which `-q` leaves out."""
        if self.verbosity >= 0:
            click.echo(text)


def current() -> Session:
    """The session of the command that runs."""
    session = click.get_current_context().find_root().obj
    assert isinstance(session, Session)
    return session


def _store(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None and param.name is not None:
        setattr(ctx.find_root().obj, param.name, value)


def _louder(ctx: click.Context, param: click.Parameter, value: int) -> None:
    if value:
        ctx.find_root().obj.verbosity = -1 if param.name == "quiet" else value


def session_options(command: F) -> F:
    """The options that the group and every command take; they set fields of the session."""
    options = (
        click.option(
            "--diagnostics",
            type=click.Choice(["human", "json", "sarif"]),
            callback=_store,
            expose_value=False,
            help="How errors are written; json and sarif go to the standard output. With json, tables "
            "are an object a row.",
        ),
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            callback=_store,
            expose_value=False,
            help="Colour in the output (auto: only on a terminal).",
        ),
        click.option(
            "-q", "--quiet", is_flag=True, callback=_louder, expose_value=False,
            help="Only errors and what was asked for.",
        ),
        click.option(
            "-v", "--verbose", count=True, callback=_louder, expose_value=False,
            help="Say what is done; twice for more.",
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def stdout_color() -> bool:
    """Whether the standard output gets colour in this session."""
    return current().use_color(sys.stdout)
