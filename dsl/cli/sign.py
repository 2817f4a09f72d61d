"""`dslc sign`: key pairs, and signatures of packages."""

from __future__ import annotations

from pathlib import Path

import click
from dslc.cli.pages import Documented
from dslc.cli.session import ExitCode, current, session_options

_EXAMPLES = """
dslc sign --new-key release.key             makes release.key and release.key.pub, once
dslc sign build/kernels.dslc --key release.key
dslc verify build/kernels.dslc --key release.key.pub
"""


@click.command("sign", cls=Documented, examples=_EXAMPLES)
@click.argument("package", metavar="[PACKAGE]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--key", metavar="FILE", type=click.Path(path_type=Path), help="The private key to sign with."
)
@click.option(
    "--new-key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Make a key pair instead: FILE, and FILE.pub for those who verify.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The signature (default: the package's path with .sig behind it).",
)
@session_options
def command(
    package: Path | None, key: Path | None, new_key: Path | None, output: Path | None
) -> int:
    """Sign PACKAGE with a private key of Ed25519; dslc verify and dslc.runtime.load check it.

    Nothing leaves this machine. Keep the private key out of the repository.
    """
    from dslc.packaging.signing import new_key as make_key
    from dslc.packaging.signing import sign
    from dslc.runtime.package import PackageFolder

    if new_key is not None:
        current().say(f"wrote {new_key}, keep it secret, and {make_key(new_key)}")
        return ExitCode.OK
    if package is None or key is None:
        raise click.UsageError("say PACKAGE and --key FILE, or --new-key FILE")
    folder = PackageFolder(package)
    current().say(f"wrote {sign(folder, key, output)} for {folder.digest}")
    return ExitCode.OK
