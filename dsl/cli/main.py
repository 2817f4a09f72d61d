"""The group of commands and the way out of every one of them.

Start-up counts: this file imports click alone, and a command's file is imported when it is named.
"""

from __future__ import annotations

import errno
import importlib
import keyword
import sys
import warnings
from collections.abc import Sequence
from typing import NoReturn

import click
import dslc
from dslc.cli.pages import DocumentedGroup
from dslc.cli.session import ExitCode, Session, session_options

# name -> what it does, in the order of the help page; the command is `command` in a file of its name
COMMANDS = {
    "check": "Find the errors of files without building them.",
    "fmt": "Write files in one form.",
    "stubs": "Write a stub by which type checkers know a file's kernels.",
    "lsp": "Answer an editor about a source: the language server.",
    "build": "Compile a file for a target, or print one of its stages.",
    "run": "Run a kernel on given or random inputs.",
    "simulate": "Run what was written for Trainium or an NPU on its simulator.",
    "debug": "Follow a turn of a kernel, statement by statement, forwards and backwards.",
    "inspect": "Show what the compiler knows about a kernel.",
    "report": "Write a page with all that is known of kernels on machines.",
    "roofline": "Bound a language model's speed by a machine's peaks.",
    "tune": "Find the fastest choices of a kernel on the GPU.",
    "package": "Compile kernels for many machines into one package.",
    "list": "Show what is in a package.",
    "verify": "Check a package: its bytes, its lock file, its signature.",
    "lock": "Pin packages by their digests.",
    "sign": "Sign a package, or make a key pair.",
    "ci": "Print the jobs that build, check and pin a package.",
    "import": "Make a checkpoint a folder that runs at once.",
    "generate": "Go on with a text, by a model's checkpoint.",
    "compress": "Turn a model's large weights into low-rank factors.",
    "layout": "Print, draw, compare and judge a layout.",
    "cache": "Look after the compile cache.",
    "targets": "List the machines.",
    "passes": "List the passes of a target.",
    "explain": "Say more about an error code.",
    "doctor": "Check the installation and say how to mend it.",
    "completion": "Print the completion script of a shell.",
}
_AUTHORING = frozenset(
    {"debug", "fmt", "lsp", "report", "stubs"}
)  # of those in dslc.cli.authoring; the others are in commands

_EXAMPLES = """
dslc check softmax.tile
dslc run softmax.tile --dim M=64 --dim N=1000 --verify
dslc build softmax.tile --target interp -o build/softmax
"""


class LazyGroup(DocumentedGroup):
    """A group that lists its commands from a table and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's file."""
        if cmd_name not in COMMANDS:
            return None
        room = "authoring" if cmd_name in _AUTHORING else "commands"
        file = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        command: click.Command = importlib.import_module(f"dslc.cli.{room}.{file}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in the help page, from the table, so that nothing is imported for it."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; a name that is close to one is answered with that one."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            raise click.UsageError(f"There is no command '{args[0]}'.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    examples=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 ok, 1 error in the source, 2 usage, 3 toolchain missing, "
    "4 check or verification failed, 70 internal error.",
)
@click.version_option(dslc.__version__, "-V", "--version", message="dslc %(version)s")
@session_options
def cli() -> None:
    """Compile tile programs: one source, six kinds of machine."""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave the process with its exit code.

    A user's mistake gives diagnostics or a line of usage; a defect of the compiler gives one line and
    the name of a file with the traceback.
    """
    sys.exit(run(sys.argv[1:] if argv is None else list(argv)))


# What a write or a pipe runs into: no defect of ours, though the error names no file.
_OF_THE_MACHINE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE})


def run(argv: list[str]) -> int:
    """Run the command line in this process and give its exit code."""
    try:
        return _run(argv)
    except Exception as defect:
        from dslc.cli.crash import report_crash

        return report_crash(defect, argv)


def _run(argv: list[str]) -> int:
    """Run, and answer for everything that is no defect."""
    from dslc.compiler.diagnostics import DiagnosticError

    session = Session()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            result = cli.main(argv, prog_name="dslc", standalone_mode=False, obj=session)
        return result if isinstance(result, int) else ExitCode.OK
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as mistake:
        mistake.show()
        return ExitCode.USAGE
    except DiagnosticError as found:
        from dslc.cli.report import report

        return report(found.diagnostics, session)
    except (click.Abort, KeyboardInterrupt):
        click.echo("dslc: interrupted", err=True)
        return 130
    except BrokenPipeError:
        _close_stdout()
        return ExitCode.OK
    except MemoryError as failure:
        click.echo(f"dslc: out of memory: {failure}".rstrip(": "), err=True)
        return ExitCode.USAGE
    except OSError as failure:
        if failure.filename is None and failure.errno not in _OF_THE_MACHINE:
            raise
        what = f"{failure.filename}: " if failure.filename else ""
        click.echo(f"dslc: {what}{failure.strerror}", err=True)
        if failure.filename is None:
            _close_stdout()
        return ExitCode.USAGE


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """A warning as a line for the user, without the line of Python that gave it."""
    click.echo(f"warning: {message}", err=True)


def _close_stdout() -> None:
    """The reader of our output left (`dslc ... | head`), or it is full: end without saying so again."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
