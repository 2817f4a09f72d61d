"""The options of every command that compiles, and the library that they ask for."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from dslc.cli.options import cache_option, define_option, include_option
from dslc.cli.session import session_options
from dslc.environment import default_target

if TYPE_CHECKING:
    from dslc.compiler.passes.pass_manager import Observer, Stage
    from dslc.kernels import Kernel
    from dslc.library import Library


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """What `--target -D -I --print-after --dump-dir --time-passes --no-cache` said, as given."""

    target: str
    define: tuple[str, ...]
    include: tuple[Path, ...]
    print_after: tuple[str, ...]
    dump_dir: Path | None
    time_passes: bool
    cache: bool
    line_info: bool = False
    fmad: bool = False
    source_lines: bool = False
    trap_waits: bool = False

    def definitions(self) -> dict[str, Any]:
        """The values of `-D` by name; DSL0910 for one that cannot be read."""
        from dslc.cli.inputs import parse_definitions

        return parse_definitions(self.define)

    def library(self, file: Path, *observers: Observer) -> Library:
        """The file's kernels, compiled as asked; these observers see every stage as well."""
        import dslc

        return dslc.compile(
            file,
            self.target,
            define=self.definitions(),
            include=self.include,
            cache=None if self.cache else False,
            observers=[*self._observers(), *observers],
            line_info=self.line_info,
            fmad=self.fmad,
            source_lines=self.source_lines,
            trap_waits=self.trap_waits,
        )

    def _observers(self) -> Iterator[Observer]:
        """What watches the passes; each kernel of the file dumps into a folder of its own."""
        from dslc.compiler.passes import pass_manager

        if self.print_after:
            _check_passes(self.print_after, self.target)
            yield pass_manager.print_after(self.print_after, sys.stderr)
        folder = self.dump_dir
        if folder is not None:
            yield lambda stage: pass_manager.dump_to(folder / stage.program.name)(stage)
        if self.time_passes:
            yield _print_time


def _check_passes(names: Iterable[str], target: str) -> None:
    from dslc.compiler.diagnostics import did_you_mean, error
    from dslc.machines.registry import find_machine

    passes = find_machine(target).passes({})
    known = [*dict.fromkeys(p.name for p in passes), "all"]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"there are {', '.join(known)}"
            raise error("DSL0914", f"--print-after {name}: there is no such pass", hint=hint)


def _print_time(stage: Stage) -> None:
    if stage.number:
        name = f"{stage.program.name}: {stage.number:02}-{stage.name}"
        click.echo(f"{name:<40}{stage.seconds * 1e3:9.2f} ms", err=True)


def compile_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of compiling and the session's; the command takes them as `options`."""

    @functools.wraps(command)
    def gathered(**given: Any) -> Any:
        fields = CompileOptions.__dataclass_fields__
        options = CompileOptions(**{name: given.pop(name) for name in fields})
        return command(options=options, **given)

    decorators = (
        click.option(
            "-t", "--target", default=default_target, envvar="DSLC_TARGET",
            show_default="the GPU that is here, else the CPU",
            help="The machine (`dslc targets` lists them).",
        ),
        define_option,
        include_option,
        click.option(
            "--print-after", multiple=True, metavar="PASS",
            help="Print the Tile IR after this pass (or all) on the standard error.",
        ),
        click.option(
            "--dump-dir", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
            help="Write the Tile IR after every pass into numbered files.",
        ),
        click.option("--time-passes", is_flag=True, help="Print how long every pass took."),
        cache_option,
        click.option(
            "--line-info", is_flag=True, help="GPUs: let profilers show the lines of the CUDA C."
        ),
        click.option(
            "--fmad", is_flag=True,
            help="GPUs: contract products and sums into FMAs (other last places).",
        ),
        click.option(
            "--source-lines", is_flag=True,
            help="NVIDIA: let profilers show the lines of the source.",
        ),
        click.option(
            "--trap-waits", is_flag=True,
            help="NVIDIA: stop a kernel that waits for ever, with the barrier's name.",
        ),
    )  # fmt: skip
    wrapped: Callable[..., Any] = gathered
    for decorator in reversed(decorators):
        wrapped = decorator(wrapped)
    return session_options(wrapped)


def own_kernels(library: Library, file: Path) -> list[Kernel]:
    """The kernels and programs that the file defines; those that it imports where it defines none."""
    own = [k for k in library.values() if k.loc is not None and k.loc.file == str(file)]
    return own or list(library.values())


def pick_kernel(library: Library, name: str | None, file: Path) -> Kernel:
    """The named kernel, or the only one that the file defines; DSL0912 where that is not clear."""
    from dslc.compiler.diagnostics import did_you_mean, error

    if name is not None and name in library:
        return library[name]
    own = own_kernels(library, file)
    if name is None and len(own) == 1:
        return own[0]
    names = [k.name for k in own]
    shown = ", ".join(names) or "none"
    if name is not None:
        hint = did_you_mean(name, library) or f"its kernels are {shown}"
        raise error("DSL0912", f"{file} has no kernel {name}", hint=hint)
    choose = f"say --kernel with one of {shown}" if names else None
    raise error("DSL0912", f"{file} has {len(names) or 'no'} kernels", hint=choose)


def picked_kernels(library: Library, name: str | None, file: Path) -> list[Kernel]:
    """The named kernel, or all that the file defines."""
    return [pick_kernel(library, name, file)] if name else own_kernels(library, file)
