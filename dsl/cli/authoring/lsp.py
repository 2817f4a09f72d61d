"""`dslc lsp`: the language server."""

from __future__ import annotations

import click
from dslc.cli.options import dim_option
from dslc.cli.pages import Documented
from dslc.cli.session import session_options

_EXAMPLES = """
dslc lsp
dslc lsp --target cuda:sm_90a --dim M=4096 --dim N=4096
dslc lsp --tcp 127.0.0.1:2087
"""


@click.command("lsp", cls=Documented, examples=_EXAMPLES)
@click.option("--tcp", metavar="HOST:PORT", help="Listen there, for one editor, not on stdio.")
@click.option(
    "--stdio", is_flag=True, help="Speak over the standard input and output (the default)."
)
@click.option(
    "-t",
    "--target",
    default="",
    envvar="DSLC_TARGET",
    show_default="the GPU that is here, else the CPU",
    help="The machine for which the costs of lines are predicted.",
)
@dim_option("The size of a dim in these predictions (default 1024).")
@click.option("--costs/--no-costs", default=True, help="Show what lines cost.")
@session_options
def command(tcp: str | None, stdio: bool, target: str, dims: tuple[str, ...], costs: bool) -> None:
    """Answer an editor's questions about .tile files and decorated functions.

    It speaks the Language Server Protocol over the standard input and output: editors start it. What
    --target, --dim and --costs say, an editor's settings say too: `target`, `dims` and `costs`.
    `pip install 'dslc[lsp]'` brings what it needs.
    """
    from dslc.compiler.diagnostics import error

    try:
        from dslc.language_server.server import make_server
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise error(
            "DSL0953", "the language server needs pygls", hint="pip install 'dslc[lsp]'"
        ) from None
    from dslc.cli.inputs import parse_integers
    from dslc.language_server.costs import Settings
    from dslc.machines.registry import find_machine

    if target:
        find_machine(target)  # an error now, not in the editor's hints
    server = make_server(Settings(target, parse_integers(dims, "--dim"), costs))
    if tcp is None:
        server.start_io()
        return
    host, _, port = tcp.rpartition(":")
    if not port.isdigit():
        raise click.BadParameter(f"{tcp} is no HOST:PORT", param_hint="--tcp")
    server.start_tcp(host or "127.0.0.1", int(port))
