"""`dslc verify`: whether a package is what was built, pinned and signed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from dslc.cli.pages import Documented
from dslc.cli.session import ExitCode, current, session_options

if TYPE_CHECKING:
    from dslc.runtime.package import Index

_EXAMPLES = """
dslc verify build/kernels.dslc
dslc verify build/kernels.dslc --lock dslc.lock --key release.pub
dslc verify build/kernels.dslc --key release.pub --min-version 1.2.0 --signed-since 2026-11-01
dslc verify build/kernels.dslc --identity ci@example.org --issuer https://accounts.google.com
dslc verify build/kernels.dslc --require-native cuda:sm_90a --require-native aarch64:all
"""


@click.command("verify", cls=Documented, examples=_EXAMPLES)
@click.argument("package", metavar="PACKAGE", type=click.Path(path_type=Path))
@click.option(
    "--lock",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="It must be pinned in this file.",
)
@click.option(
    "--key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="It must be signed with the private half of this public key.",
)
@click.option(
    "--identity",
    metavar="WHO",
    help="It must be signed by this identity, by Sigstore: a mail address, or a workflow with its ref.",
)
@click.option("--issuer", metavar="URL", help="The OpenID provider that --identity is known to.")
@click.option("--offline", is_flag=True, help="Check --identity with the roots of trust at hand.")
@click.option(
    "--signature",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The signature (default: the package's path with .sig or .sigstore.json behind it).",
)
@click.option("--min-version", metavar="VERSION", help="It must be of this version or a later one.")
@click.option(
    "--signed-since",
    metavar="DAY",
    help="--key must have signed it on this day or later: 2026-11-23.",
)
@click.option(
    "--require-native",
    "native",
    metavar="TARGET",
    multiple=True,
    help="Every kernel must have machine code for this target. Repeatable.",
)
@session_options
def command(
    package: Path, lock: Path | None, key: Path | None, identity: str | None, issuer: str | None,
    offline: bool, signature: Path | None, min_version: str | None, signed_since: str | None,
    native: tuple[str, ...],
) -> int:  # fmt: skip
    """Check every byte of PACKAGE against its manifest; exit code 4 where one differs.

    A file that is not listed, a link, or a missing file is refused as well. Without a lock file or a
    key this tells damage; who made the package it cannot tell.
    """
    from dslc.runtime.package import PackageFolder, check_lock
    from dslc.runtime.package.freshness import check_version
    from dslc.runtime.package.signatures import check_signature

    if (identity is None) != (issuer is None):
        raise click.UsageError("--identity and --issuer go together")
    if signed_since is not None and key is None:
        raise click.UsageError("--signed-since goes with --key")
    if signature is not None and key is not None and identity is not None:
        raise click.UsageError(
            "--signature is of a key or of an identity: check one, then the other"
        )
    folder = PackageFolder(package)
    problems = list(folder.problems())
    for problem in problems:
        click.echo(f"{package}: {problem}")
    if problems:
        return ExitCode.FAILED
    for kernel in folder.index.kernels:  # each manifest is read as a loader reads it
        for specialization in kernel.specializations:
            folder.artifact(kernel, specialization)
    vouched = []
    if lock is not None:
        check_lock(lock, folder)
        vouched.append(f"pinned in {lock}")
    if min_version is not None:
        check_version(folder, min_version)
    if key is not None:
        check_signature(folder, key, signature, signed_since=signed_since)
        vouched.append(f"signed by {key}")
    if identity is not None and issuer is not None:
        from dslc.packaging.identities import check_identity

        check_identity(folder, identity, issuer, signature, offline=offline)
        vouched.append(f"signed by {identity}")
    for target in native:
        _require_native(folder.index, target)
    said = ", ".join(vouched) or "nobody vouches for it"
    current().say(f"{package}: {len(folder.index.files) + 1} files as they were written; {said}")
    return ExitCode.OK


def _require_native(index: Index, target: str) -> None:
    """DSL0834 where a kernel has no machine code for a target."""
    from dslc.compiler.diagnostics import error
    from dslc.compiler.targets import find_target
    from dslc.machines.registry import machine_class

    form = machine_class(find_target(target).name).facts.native
    for kernel in index.kernels:
        forms = {f for s in kernel.specializations if s.target == target for f in s.forms}
        if form not in forms:
            raise error(
                "DSL0834",
                f"{kernel.name} of {index.name} has no machine code for {target}",
                hint="name the target in the package's specification",
            )
