"""`dslc sign`: key pairs, and signatures of packages."""

from __future__ import annotations

from pathlib import Path

import click
from dslc.cli.options import output_option
from dslc.cli.pages import Documented
from dslc.cli.session import ExitCode, current, session_options

_EXAMPLES = """
dslc sign --new-key release.key             makes release.key and release.key.pub, once
dslc sign build/kernels.dslc --key release.key
dslc verify build/kernels.dslc --key release.key.pub
dslc sign build/kernels.dslc --sigstore     in a job of GitHub Actions or GitLab: no key at all
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
    "--sigstore",
    "by_identity",
    is_flag=True,
    help="Sign as the CI job's identity (or SIGSTORE_ID_TOKEN), in Sigstore's public log.",
)
@output_option("The signature (default: the package's path with .sig or .sigstore.json behind it).")
@session_options
def command(
    package: Path | None,
    key: Path | None,
    new_key: Path | None,
    by_identity: bool,
    output: Path | None,
) -> int:
    """Sign PACKAGE with a private key of Ed25519; dslc verify and dslc.runtime.load check it.

    Nothing leaves this machine then. Keep the private key out of the repository. With --sigstore the
    package's digest and the identity that signs it are published.
    """
    from dslc.packaging.signing import new_key as make_key
    from dslc.packaging.signing import sign
    from dslc.runtime.package import PackageFolder

    if new_key is not None:
        current().say(f"wrote {new_key}, keep it secret, and {make_key(new_key)}")
        return ExitCode.OK
    if package is None or (key is None) != by_identity:
        raise click.UsageError("say PACKAGE and --key FILE or --sigstore, or --new-key FILE")
    folder = PackageFolder(package)
    if key is None:
        from dslc.packaging.identities import sign_as_identity

        current().say(f"wrote {sign_as_identity(folder, output)} for {folder.digest}")
        return ExitCode.OK
    current().say(f"wrote {sign(folder, key, output)} for {folder.digest}")
    return ExitCode.OK
