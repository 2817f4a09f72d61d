"""`dslc targets`: the machines, and what the compiler knows of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from dslc.cli.pages import Documented
from dslc.cli.session import session_options

if TYPE_CHECKING:
    from dslc.compiler.targets import Target

_EXAMPLES = """
dslc targets
dslc targets cuda:sm_90a                  memories and matrix units of one machine
"""


_SOURCES = {"measured": "measured", "data sheets": "those of data sheets: nothing was measured"}


@click.command("targets", cls=Documented, examples=_EXAMPLES)
@click.argument("name", required=False)
@session_options
def command(name: str | None) -> None:
    """List the machines, or show one with its memories and matrix units.

    The column `builds` says whether this version generates code for the machine, `rates` whether the
    times that are predicted were measured on one, or follow from data sheets. Layouts and passes
    know every machine listed; the interpreter runs every program.
    """
    from dslc.cli.tables.table import print_table
    from dslc.compiler.targets import TARGETS, find_target

    if name is not None:
        _show(find_target(name))
        return
    rows = [
        (
            t.name, "yes" if _builds(t) else "no", _rates(t), t.warp_size, t.threads, _memories(t),
            t.title,
        )
        for t in TARGETS.values()
    ]  # fmt: skip
    heads = ("target", "builds", "rates", "warp", "threads", "memories", "machine")
    print_table(heads, rows, right=(3, 4))


def _rates(target: Target) -> str:
    if target.rates is None:
        return "-"
    return "measured" if target.rates.measured else "data sheets"


def _builds(target: Target) -> bool:
    from dslc.compiler.diagnostics import DiagnosticError
    from dslc.machines.registry import find_machine

    try:
        find_machine(target.name)
    except DiagnosticError:
        return False
    return True


def _memories(target: Target) -> str:
    from dslc.cli.tables.table import size_text

    return ", ".join(f"{m.name} {size_text(m.bytes)}/{m.unit}" for m in target.memories) or "-"


def _show(target: Target) -> None:
    from dslc.cli.tables.table import is_json, print_object, print_table

    if is_json():
        print_object(
            {
                "target": target.name,
                "machine": target.title,
                "warp": target.warp_size,
                "threads": target.threads,
                "units": target.units,
                "rates": _rates(target),
                "memories": [
                    {"name": m.name, "bytes": m.bytes, "unit": m.unit} for m in target.memories
                ],
                "atoms": [
                    {"name": a.name, "m": a.m, "n": a.n, "k": a.k, "threads": a.threads}
                    for a in target.atoms
                ],
            }
        )
        return
    click.echo(f"{target.name}: {target.title}")
    click.echo(f"threads of a turn: at most {target.threads}, in warps of {target.warp_size}")
    click.echo(f"turns at once: {target.units}")
    if target.rates is not None:
        click.echo(f"predicted times: by rates that are {_SOURCES[_rates(target)]}")
    click.echo(f"memories: {_memories(target)}")
    if target.banks is not None:
        row = target.banks.loads[-1]
        click.echo(f"banks: {row.banks} of {target.banks.word_bytes} bytes")
    if target.atoms:
        click.echo()
        rows = [
            (a.name, f"{a.m}x{a.n}x{a.k}", a.threads, a.a or "memory", a.b or "memory", a.c)
            for a in target.atoms
        ]
        print_table(("matrix unit", "m x n x k", "threads", "a", "b", "c"), rows, right=(2,))
