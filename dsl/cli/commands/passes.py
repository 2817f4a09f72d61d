"""`dslc passes`: which passes a target's programs take, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from dslc.cli.pages import Documented
from dslc.cli.session import session_options

if TYPE_CHECKING:
    from dslc.compiler.passes.pass_manager import Pass

_EXAMPLES = """
dslc passes                               the lists of all targets
dslc passes cuda:sm_90a                   one list, with a line on each pass
dslc passes nki:trn2 --long               with what each does to the IR, before and after
dslc build gemm.tile -t cuda:sm_90a --print-after software-pipeline
"""


@click.command("passes", cls=Documented, examples=_EXAMPLES)
@click.argument("target", required=False)
@click.option("--long", "long", is_flag=True, help="With the file of each pass and all it says.")
@session_options
def command(target: str | None, long: bool) -> None:
    """List the passes from the checker's Tile IR to what the generator of TARGET is given.

    The names are those that --print-after and --emit take. A pass may stand in a list more than once.
    Without TARGET the names are listed for all of them.
    """
    if target is None:
        if long:
            raise click.UsageError("--long goes with a TARGET")
        _list_all()
        return
    from dslc.cli.tables.table import print_table
    from dslc.machines.registry import find_machine

    passes = find_machine(target).passes({})
    if not long:
        rows = [(number, p.name, _first_line(p)) for number, p in enumerate(passes, 1)]
        print_table(("", "pass", "what it does"), rows, right=(0,))
        return
    for number, one in enumerate(passes, 1):
        click.echo(f"{number:02}-{one.name}: {_file(one)}\n")
        for line in _everything(one).splitlines():
            click.echo(f"  {line}".rstrip())
        click.echo()


def _list_all() -> None:
    """Targets that take the same passes share a list."""
    import textwrap

    from dslc.compiler.targets import TARGETS
    from dslc.machines.registry import machine_of

    lists: dict[tuple[str, ...], list[str]] = {}
    for name, target in TARGETS.items():
        lists.setdefault(tuple(p.name for p in machine_of(target).passes({})), []).append(name)
    for names, targets in lists.items():
        click.echo(f"{', '.join(targets)}:")
        listed = textwrap.fill(", ".join(names), 94, break_on_hyphens=False)
        click.echo(textwrap.indent(listed, "  "))


def _first_line(one: Pass) -> str:
    """The first sentence of the pass's own docstring."""
    text = " ".join((type(one).__doc__ or "").split("\n\n")[0].split())
    return text.partition(". ")[0].rstrip(".")


def _everything(one: Pass) -> str:
    """The docstring of its file, which shows the IR before and after."""
    import inspect
    import sys

    return inspect.cleandoc(sys.modules[type(one).__module__].__doc__ or "")


def _file(one: Pass) -> str:
    """Where it is, as the repository has it."""
    return type(one).__module__.removeprefix("dslc.").replace(".", "/") + ".py"
