"""A module of kernels, and `dslc.compile`, which makes one of a `.tile` file or source."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from dslc.compiler.diagnostics import DiagnosticError, did_you_mean, error
from dslc.kernels import Kernel
from dslc.raising import raises_short, short

if TYPE_CHECKING:
    from dslc.compilation.caching import CacheChoice
    from dslc.compilation.specialization import Specialization
    from dslc.compiler.passes.pass_manager import Observer


class UnknownKernelError(DiagnosticError, AttributeError, KeyError):
    """A library has no kernel of that name."""

    __str__ = DiagnosticError.__str__  # KeyError would quote it


class Library(Mapping[str, Kernel]):
    """Kernels and programs by name: `lib.softmax` or `lib["softmax"]`.

    A kernel that has the name of a method here is reached by its item alone.
    """

    def __init__(
        self, kernels: Mapping[str, Kernel], *, name: str, target: str, doc: str | None = None
    ) -> None:
        self._kernels = MappingProxyType(dict(kernels))
        self.name = name
        self.target = target
        self.doc = doc
        listed = [f"    {k.origin.signature}" for k in kernels.values()]
        self.__doc__ = "\n".join([doc or f"Kernels of {name}.", "", "Kernels:", *listed])
        # As attributes they are found at once, which counts in a call of microseconds.
        taken = {*dir(type(self)), *vars(self)}
        vars(self).update({n: k for n, k in kernels.items() if n not in taken})

    def __getitem__(self, name: str) -> Kernel:
        if name in self._kernels:
            return self._kernels[name]
        known = ", ".join(self._kernels) or "none"
        hint = did_you_mean(name, self._kernels) or f"its kernels are {known}"
        problem = error("DSL0744", f"{self.name} has no kernel {name}", hint=hint)
        raise UnknownKernelError(problem.diagnostics)

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._kernels})

    def __repr__(self) -> str:
        return (
            f"<dslc library {self.name} for {self.target}: {', '.join(self._kernels) or 'empty'}>"
        )

    @raises_short
    def save(
        self,
        path: str | os.PathLike[str],
        specializations: Iterable[Specialization] | None = None,
    ) -> None:
        """Write a package that `dslc.load` runs without the front-end.

        It holds the given specialisations, or each kernel's default one. `path` becomes a folder; an
        older package there is replaced. DSL0230 names dims that must be fixed first.
        """
        from dslc.packaging.saving import save

        if specializations is None:
            specializations = [kernel.specialize() for kernel in self.values()]
        save(Path(path), self.name, specializations)


@raises_short
def compile(  # noqa: A001 - the module's own
    source: str | os.PathLike[str],
    target: str | None = None,
    *,
    define: Mapping[str, object] | None = None,
    include: Iterable[str | os.PathLike[str]] = (),
    cache: CacheChoice = None,
    print_after: Iterable[str] = (),
    dump_dir: str | os.PathLike[str] | None = None,
    observers: Iterable[Observer] = (),
    autotune: bool = False,
    line_info: bool = False,
    fmad: bool = False,
    source_lines: bool = False,
    trap_waits: bool = False,
) -> Library:
    """Check a `.tile` file, or source given as text, and give its kernels.

    `source` is a path, or the text itself if it has a line break. `target` is a machine such as
    `cpu` or `cuda:sm_90a`; without it `DSLC_TARGET` counts, else the GPU that is here, else the CPU.
    `define` fixes dims and overrides consts (`{"K": 4096, "W": dslc.i6}`). `include` are folders for
    imports, after the file's own. `cache`: True, False, a folder, or None for `DSLC_CACHE` and the
    user's cache.
    `print_after` names passes whose result is printed on the standard error (`all` for each),
    `dump_dir` gets one file a pass, and `observers` are called with every stage
    (`dslc.compiler.passes.pass_manager`); with any of these the passes run whatever the cache holds. On
    GPUs, `line_info` lets profilers show the emitted lines, and `fmad` lets the compiler contract
    products and sums, which changes results in the last place. On NVIDIA's, `source_lines` lets
    profilers show the lines of the source, and `trap_waits` has a kernel print the barrier at which it
    waits for ever, and stop. With `autotune` the first call of sizes
    that were never tuned finds the fastest choices (docs/tuning.md).

    Raises DiagnosticError with all that is wrong in the source.
    """
    from dslc.compilation.building import build_options
    from dslc.compilation.origins import origins
    from dslc.frontend import parse_tile, read_source
    from dslc.machines.machine import CodeOptions

    folder = None
    if isinstance(source, str) and "\n" in source:
        text, file = source, "<source>"
    else:
        path = Path(source)
        text, file = read_source(path), os.fspath(source)
        folder = path.parent
    watching = [*observers, *_watchers(tuple(print_after), dump_dir)]
    options = build_options(
        target, define, cache, watching, CodeOptions(line_info, fmad, source_lines, trap_waits)
    )
    texts = {file: text} if folder is None else {}
    try:
        module = parse_tile(text, file)
        by_name = origins(module, options, search=[Path(f) for f in include], folder=folder)
    except DiagnosticError as failure:
        raise short(failure, texts) from None
    kernels = {
        name: Kernel.of(origin, autotune=autotune, sources=texts)
        for name, origin in by_name.items()
    }
    return Library(kernels, name=file, target=options.target, doc=module.doc)


def _watchers(
    print_after: tuple[str, ...], dump_dir: str | os.PathLike[str] | None
) -> Iterator[Observer]:
    from dslc.compiler.passes import pass_manager

    if print_after:
        yield pass_manager.print_after(print_after, sys.stderr)
    if dump_dir is not None:
        yield pass_manager.dump_to(Path(dump_dir))
