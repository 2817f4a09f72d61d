"""`dslc list`: what is in a package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from dslc.cli.pages import Documented
from dslc.cli.session import ExitCode, session_options

if TYPE_CHECKING:
    from dslc.runtime.package import IndexedKernel, IndexedSpecialization, PackageFolder

_EXAMPLES = """
dslc list build/kernels.dslc
dslc list build/kernels.dslc --kernel w4a16
"""


@click.command("list", cls=Documented, examples=_EXAMPLES)
@click.argument("package", metavar="PACKAGE", type=click.Path(path_type=Path))
@click.option("-k", "--kernel", "name", metavar="NAME", help="Everything about one kernel.")
@session_options
def command(package: Path, name: str | None) -> int:
    """Show the kernels of PACKAGE, what they were compiled for, and what it was made of.

    Nothing of it is loaded or run.
    """
    from dslc.compiler.diagnostics import did_you_mean, error
    from dslc.runtime.package import PackageFolder

    folder = PackageFolder(package)
    if name is None:
        _show_package(folder)
        return ExitCode.OK
    by_name = {k.name: k for k in folder.index.kernels}
    if name not in by_name:
        hint = did_you_mean(name, by_name) or f"its kernels are {', '.join(by_name) or 'none'}"
        raise error("DSL0744", f"{package} has no kernel {name}", hint=hint)
    _show_kernel(folder, by_name[name])
    return ExitCode.OK


def _show_package(folder: PackageFolder) -> None:
    from dslc.cli.tables.table import is_json, print_object, print_table, size_text

    index = folder.index
    size = size_text(sum(r.size for r in index.files.values()))
    if is_json():
        print_object(
            {
                "package": index.name,
                "version": index.version,
                "files": len(index.files),
                "size": size,
                "digest": folder.digest,
                "dslc": index.origins.dslc,
                "sources": index.origins.sources,
                "toolchains": index.origins.toolchains,
                "kernels": [
                    {"kernel": k.name, "targets": sorted({s.target for s in k.specializations})}
                    for k in index.kernels
                ],
            }
        )
        return
    click.echo(f"{index.name} {index.version}, {len(index.files)} files, {size}")
    click.echo(f"digest   {folder.digest}")
    click.echo(f"made by  dslc {index.origins.dslc}")
    for source, sha in index.origins.sources.items():
        click.echo(f"of       {source}  {sha[:16]}")
    for target, tools in index.origins.toolchains.items():
        click.echo(f"with     {target}: {tools or 'dslc alone'}")
    click.echo()
    rows = [
        (k.name, t, len(own), ", ".join(sorted({f for s in own for f in s.forms})))
        for k in index.kernels
        for t in index.targets
        if (own := [s for s in k.specializations if s.target == t])
    ]
    print_table(("kernel", "target", "forms", "files"), rows, right=(2,))


def _show_kernel(folder: PackageFolder, kernel: IndexedKernel) -> None:
    from dslc.cli.tables.table import is_json, print_table

    parameters = []
    for p in kernel.parameters:
        mode = "" if p.mode == "in" else f"{p.mode} "
        dims = "" if p.dims is None else f"[{', '.join(p.dims)}]"
        parameters.append(f"{p.name}: {mode}{p.dtype}{dims}")
    if not is_json():
        click.echo(f"{kernel.name}({', '.join(parameters)})")
        if kernel.doc:
            click.echo(kernel.doc.strip())
        click.echo()
    rows = [_row(folder, kernel, s) for s in kernel.specializations]
    heads = ("target", "dims", "for", "choices", "requires", "shared", "tuned on", "key")
    print_table(heads, rows, right=(5,))


def _row(
    folder: PackageFolder, kernel: IndexedKernel, made: IndexedSpecialization
) -> tuple[object, ...]:
    artifact = folder.artifact(kernel, made)
    loose = [f"{name} at {n}" for name, n in made.alignments.items()]
    return (
        made.target,
        _pairs(made.fixed),
        _pairs(made.sizes),
        _pairs(made.config),
        ", ".join([*(r.text for r in artifact.signature.requires), *loose]),
        artifact.shared_bytes,
        made.tuned.device if made.tuned else "",
        made.key[:12],
    )


def _pairs(values: dict[str, int] | dict[str, int | str]) -> str:
    return " ".join(f"{n}={v}" for n, v in values.items())
