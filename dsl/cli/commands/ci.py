"""`dslc ci`: the job file of a package."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import click
import dslc
from dslc.cli.options import output_option
from dslc.cli.pages import Documented
from dslc.cli.session import ExitCode, current, session_options

_EXAMPLES = """
dslc ci github kernels.toml -o .github/workflows/kernels.yml
dslc ci gitlab kernels.toml > .gitlab-ci.yml
"""


@click.command("ci", cls=Documented, examples=_EXAMPLES)
@click.argument("system", type=click.Choice(["github", "gitlab"]))
@click.argument("spec", metavar="SPEC", type=click.Path(dir_okay=False, path_type=Path))
@output_option("The job file; one that is there is not replaced.")
@click.option(
    "--dslc",
    "source",
    metavar="WHERE",
    help="What is installed there: a folder or a wheel of the repository, or a requirement of an "
    "index (default: dslc of this version).",
)
@session_options
def command(system: str, spec: Path, output: Path | None, source: str | None) -> int:
    """Write a job that builds the package of SPEC without any accelerator, checks and pins it.

    It checks the sources, verifies the numbers of kernels whose dims the specification tells, and on
    GitHub attests who built the package. Actions are named by their commits. The compile cache is kept
    between runs. Serving processes set DSLC_JIT=error, so that nothing is compiled where the package
    should have it.
    """
    from dslc.packaging.jobs import Job
    from dslc.packaging.spec import read_spec

    where = source or f"dslc=={dslc.__version__}"
    text = Job(read_spec(spec), _in_repository(spec), where).text(
        "github" if system == "github" else "gitlab"
    )
    if output is None:
        click.echo(text, nl=False)
        return ExitCode.OK
    output.parent.mkdir(parents=True, exist_ok=True)
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise click.UsageError(f"{output} exists; remove it first, or print to another") from None
    current().say(f"wrote {output}")
    return ExitCode.OK


def _in_repository(spec: Path) -> PurePosixPath:
    """The specification's path from the top of its repository, where a job runs; else as given."""
    folder = spec.resolve().parent
    root = next((f for f in (folder, *folder.parents) if (f / ".git").exists()), None)
    return PurePosixPath((spec.resolve().relative_to(root) if root else spec).as_posix())
