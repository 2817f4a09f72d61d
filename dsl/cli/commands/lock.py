"""`dslc lock`: pin packages by their digests."""

from __future__ import annotations

from pathlib import Path

import click
from dslc.cli.pages import Documented
from dslc.cli.session import ExitCode, current, session_options

_EXAMPLES = """
dslc lock build/kernels.dslc
dslc lock build/kernels.dslc build/attention.dslc -o deploy/dslc.lock
"""


@click.command("lock", cls=Documented, examples=_EXAMPLES)
@click.argument(
    "packages", metavar="PACKAGE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default="dslc.lock",
    show_default=True,
    type=click.Path(path_type=Path),
    help="The lock file; it is replaced.",
)
@session_options
def command(packages: tuple[Path, ...], output: Path) -> int:
    """Write a file that pins each PACKAGE: dslc.runtime.load(path, lock=FILE) takes no other.

    Commit it beside the code that loads the packages. Every byte is checked before it is pinned.
    """
    from dslc.runtime.package import PackageFolder, lock_text

    folders = [PackageFolder(p) for p in packages]
    for folder in folders:
        folder.check()
    names = [f.index.name for f in folders]
    if len({*names}) < len(names):
        raise click.UsageError("two of the packages have one name")
    output.write_text(lock_text(folders), encoding="utf-8")
    for folder in folders:
        current().say(f"{folder.index.name} {folder.index.version}  {folder.digest}")
    return ExitCode.OK
