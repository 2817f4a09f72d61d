"""`dslc lsp`: the language server."""

from __future__ import annotations

import click
from dslc.cli.pages import Documented
from dslc.cli.session import session_options

_EXAMPLES = """
dslc lsp
dslc lsp --tcp 127.0.0.1:2087
"""


@click.command("lsp", cls=Documented, examples=_EXAMPLES)
@click.option("--tcp", metavar="HOST:PORT", help="Listen there, for one editor, not on stdio.")
@click.option(
    "--stdio", is_flag=True, help="Speak over the standard input and output (the default)."
)
@session_options
def command(tcp: str | None, stdio: bool) -> None:
    """Answer an editor's questions about .tile files and decorated functions.

    It speaks the Language Server Protocol over the standard input and output: editors start it.
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
    server = make_server()
    if tcp is None:
        server.start_io()
        return
    host, _, port = tcp.rpartition(":")
    if not port.isdigit():
        raise click.BadParameter(f"{tcp} is no HOST:PORT", param_hint="--tcp")
    server.start_tcp(host or "127.0.0.1", int(port))
