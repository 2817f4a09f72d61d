"""`dslc completion`: the completion script of a shell."""

from __future__ import annotations

import click
from dslc.cli.pages import Documented

_EXAMPLES = """
bash   eval "$(dslc completion bash)"                        in ~/.bashrc
zsh    eval "$(dslc completion zsh)"                         in ~/.zshrc
fish   dslc completion fish > ~/.config/fish/completions/dslc.fish
"""


@click.command("completion", cls=Documented, examples=_EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of SHELL (bash, zsh or fish).

    The script asks dslc itself for what may follow, so it stays right when dslc changes.
    """
    from click.shell_completion import get_completion_class
    from dslc.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None, shell
    click.echo(kind(cli, {}, "dslc", "_DSLC_COMPLETE").source())
