"""`dslc ci`: the job file of a package."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import click
import dslc
from dslc.cli.pages import Documented
from dslc.cli.session import ExitCode, current, session_options

_EXAMPLES = """
dslc ci github kernels.toml -o .github/workflows/kernels.yml
dslc ci gitlab kernels.toml > .gitlab-ci.yml
"""


@click.command("ci", cls=Documented, examples=_EXAMPLES)
@click.argument("system", type=click.Choice(["github", "gitlab"]))
@click.argument("spec", metavar="SPEC", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The job file; one that is there is not replaced.",
)
@session_options
def command(system: str, spec: Path, output: Path | None) -> int:
    """Write a job that builds the package of SPEC without any accelerator, checks and pins it.

    The compile cache is kept between runs. Serving processes set DSLC_JIT=error, so that nothing is
    compiled where the package should have it.
    """
    from dslc.packaging.jobs import Job
    from dslc.packaging.spec import read_spec

    text = Job(read_spec(spec), PurePosixPath(spec.as_posix()), dslc.__version__).text(
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
