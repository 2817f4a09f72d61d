"""`dslc report`: all that is known of kernels on one or more machines, as a page of HTML."""

from __future__ import annotations

from pathlib import Path

import click
from dslc.cli.options import (
    budget_option,
    cache_option,
    define_option,
    dim_option,
    file_argument,
    include_option,
    output_option,
    set_option,
    targets_option,
)
from dslc.cli.pages import Documented
from dslc.cli.progress import shown_steps
from dslc.cli.session import current, session_options
from dslc.environment import default_target

_EXAMPLES = """
dslc report softmax.tile -t cuda:sm_90a -o softmax.html
dslc report gemm.tile -k gemm --dim M=4096 --dim N=4096 --dim K=4096 -t cuda:sm_90a -t hip:gfx942
dslc report attention.tile -t nki:trn2 -t cpu -D D=64
"""


@click.command("report", cls=Documented, examples=_EXAMPLES)
@file_argument
@click.option(
    "-k",
    "--kernel",
    "names",
    multiple=True,
    metavar="NAME",
    help="A kernel of the file. Repeatable.",
)
@targets_option("A machine; several stand side by side.")
@dim_option("The size of a dim for the counts (default 1024).")
@set_option
@define_option
@include_option
@output_option("The page (default: the file's name with .html).", "HTML", dir_okay=False)
@cache_option
@budget_option(2.0)
@session_options
def command(
    file: Path,
    names: tuple[str, ...],
    targets: tuple[str, ...],
    dims: tuple[str, ...],
    choices: tuple[str, ...],
    define: tuple[str, ...],
    include: tuple[Path, ...],
    output: Path | None,
    cache: bool,
    budget: float,
) -> None:
    """Write a page with all that is known of FILE's kernels: one file, which fetches nothing.

    It has the source with what each line costs, the machine code beside it, the IR after every pass
    with what changed, layouts and the memory plan drawn, predicted times and the roofline, and where a
    machine is simulated the timeline of a run. Times are predicted or simulated, not measured.
    """
    from dslc.cli.inputs import parse_definitions, parse_integers
    from dslc.machines.registry import resolve_target
    from dslc.reports.gathering import Question, gather
    from dslc.reports.page import page_of

    question = Question(
        names,
        parse_integers(dims, "--dim"),
        parse_definitions(choices, "--set"),
        parse_definitions(define),
        include,
        cache,
        budget,
    )
    wanted = dict.fromkeys(map(resolve_target, targets or (default_target(),)))
    with shown_steps("report") as step:
        data = gather(file, wanted, question, step)
    path = output or Path(file.with_suffix(".html").name)
    path.write_text(page_of(data), encoding="utf-8")
    current().say(f"wrote {path}")
