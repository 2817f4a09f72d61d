"""What a defect of dslc leaves behind: one line, and a file with the traceback.

Nothing of the compiler is imported here: this must work when the compiler does not.
"""

from __future__ import annotations

import platform
import tempfile
import traceback
from collections.abc import Sequence

import click
import dslc
from dslc.cli.session import ExitCode


def report_crash(defect: BaseException, argv: Sequence[str]) -> ExitCode:
    """Write the traceback of a defect to a file of its own and say so in one line."""
    about = (
        f"dslc {dslc.__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"command: dslc {' '.join(argv)}\n\n"
    )
    text = about + "".join(traceback.format_exception(defect))
    with tempfile.NamedTemporaryFile(
        "w", prefix="dslc-crash-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        file.write(text)
    first = str(defect).splitlines()[0] if str(defect) else ""
    kind = type(defect).__name__
    click.echo(
        f"dslc {dslc.__version__}: internal error: {kind}{': ' if first else ''}{first}; "
        f"the traceback is in {file.name}",
        err=True,
    )
    return ExitCode.INTERNAL
