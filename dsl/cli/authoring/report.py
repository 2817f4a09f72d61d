"""`dslc report`: all that is known of kernels on one or more machines, as a page of HTML."""

from __future__ import annotations

from pathlib import Path

import click
from dslc.cli.compiling import file_argument, set_option
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
@click.option(
    "-t",
    "--target",
    "targets",
    multiple=True,
    metavar="TARGET",
    help="A machine; several stand side by side. Repeatable.",
)
@click.option(
    "--dim",
    "dims",
    multiple=True,
    metavar="NAME=SIZE",
    help="The size of a dim for the counts (default 1024). Repeatable.",
)
@set_option
@click.option(
    "-D",
    "define",
    multiple=True,
    metavar="NAME=VALUE",
    help="Fix a dim or override a const. Repeatable.",
)
@click.option(
    "-I",
    "include",
    multiple=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Look for imported .tile files here as well. Repeatable.",
)
@click.option(
    "-o",
    "--output",
    metavar="HTML",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The page (default: the file's name with .html).",
)
@click.option("--cache/--no-cache", default=True, help="Use the compile cache.")
@click.option(
    "--budget",
    type=click.FloatRange(0),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="How long llvm-mca and the NPU's simulator may take; 0 is as long as they want.",
)
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
