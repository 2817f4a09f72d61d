"""Packages as libraries: what `Library.save` has written, `dslc.load` reads without the front-ends.

    package.json              the kernels, which specialisations there are, and the hash of every file
    specializations/3f0c.../  one artifact each

Every byte is checked before it is used. `dslc.runtime.load` runs the same packages with less.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Mapping

from dslc.calls.argument_facts import Alignments
from dslc.calls.signature import Parameter, Signature
from dslc.compilation.specialization import Specialization
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.dtypes import parse_dtype
from dslc.compiler.manifest import plain_choice
from dslc.compiler.targets import INTERP, find_target, listed_as
from dslc.kernels import Kernel, Sizes
from dslc.library import Library
from dslc.machines.machine import Machine
from dslc.machines.registry import families, find_machine, machine_class, resolve_target
from dslc.raising import raises_short
from dslc.runtime.expression import holds, names_of
from dslc.runtime.package import Index, IndexedKernel, PackageFolder
from dslc.runtime.package.index import IndexedParameter


class PackagedOrigin:
    """The specialisations of one kernel of a package."""

    def __init__(
        self, signature: Signature, machine: Machine, target: str, made: list[Specialization]
    ) -> None:
        self.signature = signature
        self.machine = machine
        self.target = target
        self._made = made

    def tile(self) -> str:
        """DSL0745: a package has no source."""
        raise error("DSL0745", f"{self.signature.name} comes from a package, without its source")

    def without(self, names: Collection[str]) -> PackagedOrigin:
        """DSL0747: a package has the kernels that were compiled."""
        absent = ", ".join(sorted(names))
        text = f"{self.signature.name} of the package was not compiled without {absent}"
        raise error("DSL0747", text, hint=f"dslc build -D {sorted(names)[0]}=None makes it")

    def stored(self, config: Mapping[str, object], sizes: Sizes) -> None:
        """Nothing: what is in a package was compiled for its sizes, and says how it stores."""

    def specialization(
        self,
        fixed: Mapping[str, int],
        config: Mapping[str, object],
        sizes: Sizes,
        alignments: Alignments = (),
        *,
        plain: frozenset[str] = frozenset(),
        at_call: bool = False,
    ) -> Specialization:
        """The first saved one that fits the known dims and choices; DSL0747 where none does.

        Where none fits the tensors' alignments or takes plain bytes as they are, the launch of the one
        that it gives will say so.
        """
        fitting = [m for m in self._made if self._fits(m, fixed, config, sizes)]
        if not fitting:
            raise error(
                "DSL0747",
                f"no {self.signature.name} of the package was compiled for this call",
                hint=f"it has {', '.join(map(_choices, self._made)) or 'none'}",
            )
        for one in fitting:
            aligned = all(one.alignments.get(name, n + 1) <= n for name, n in alignments)
            packs = any(p.name in plain and p.packed for p in one.artifact.signature.params)
            if aligned and not packs:
                return one
        return fitting[0]

    def _fits(
        self,
        made: Specialization,
        fixed: Mapping[str, int],
        config: Mapping[str, object],
        sizes: Sizes,
    ) -> bool:
        if not all(made.config.get(n) == plain_choice(v) for n, v in config.items()):
            return False
        if not all(fixed.get(d, sizes(d)) in (None, v) for d, v in made.fixed.items()):
            return False
        return _may_run(made, lambda dim: fixed.get(dim, sizes(dim)))


def _may_run(made: Specialization, size: Sizes) -> bool:
    """Whether no requirement on dims alone is known to fail: one may serve aligned dims, one others."""
    for requirement in made.artifact.signature.requires:
        values = {n: v for n in names_of(requirement.condition) if (v := size(n)) is not None}
        if values.keys() == names_of(requirement.condition) and not holds(
            requirement.condition, values
        ):
            return False
    return True


def _choices(made: Specialization) -> str:
    chosen = [f"{n}={v}" for n, v in {**made.fixed, **made.config}.items()]
    return f"({', '.join([*chosen, *(f'{n} unaligned' for n in made.alignments)])})"


@raises_short
def load(path: str | os.PathLike[str], target: str | None = None) -> Library:
    """The library of a package, as `dslc package`, `dslc build -o` or `Library.save` wrote it.

    A call runs the first specialisation whose dims and tune choices fit. Of a package for several
    targets it has those of `target`; without it, of the one that runs on this machine. DSL0830 for what
    is no package, DSL0801 to DSL0803 for one that is not as it was written, DSL0834 where it has
    nothing for the target.
    """
    folder = PackageFolder(path)
    folder.check()
    index = folder.index
    chosen = _target(index, target)
    machine = find_machine(chosen)
    kernels = {}
    for kernel in index.kernels:
        signature = _signature(kernel)
        specializations = [
            _specialization(signature, folder.artifact(kernel, s), machine)
            for s in kernel.specializations
            if s.target == chosen
        ]
        if specializations:
            origin = PackagedOrigin(signature, machine, chosen, specializations)
            kernels[kernel.name] = Kernel.of(origin)
    return Library(kernels, name=index.name, target=chosen)


def _target(index: Index, wanted: str | None) -> str:
    """The target to load; DSL0834 where the package has not that one, or none for this machine."""
    if wanted is None:
        candidates = list(index.targets) if len(index.targets) == 1 else list(_present(index))
    else:
        name = resolve_target(wanted)
        listed = listed_as(name, index.targets)
        candidates = [listed] if listed is not None else []
        if name != wanted:
            candidates += [t for t in _present(index) if find_target(t).family == wanted]
    if not candidates:
        raise error(
            "DSL0834",
            f"{index.name} was compiled for {', '.join(index.targets) or 'nothing'}, "
            + ("none of which runs here" if wanted is None else f"not for {wanted}"),
            hint="dslc.load(path, target=...) takes one of them whatever this machine is",
        )
    return candidates[0]


def _present(index: Index) -> Iterable[str]:
    """The package's targets that run on this machine, the best first."""
    ranked = sorted(families(), key=lambda f: -machine_class(f).facts.precedence)
    for family in sorted(ranked, key=INTERP.family.__eq__):  # what runs everywhere comes last
        for target in index.targets:
            if find_target(target).family == family:
                with contextlib.suppress(DiagnosticError):  # there is no such machine here
                    if machine_class(family).runs_here(target):
                        yield target


def _signature(kernel: IndexedKernel) -> Signature:
    tunes = {n: tuple(choices) for n, choices in kernel.tunes.items()}
    parameters = tuple(map(_parameter, kernel.parameters))
    return Signature(kernel.name, parameters, kernel.dims, tunes, kernel.doc)


def _parameter(p: IndexedParameter) -> Parameter:
    dtype = parse_dtype(p.dtype)
    if dtype is None:
        raise error("DSL0802", f"the parameter {p.name} is of type {p.dtype}, which is none")
    return Parameter(p.name, dtype, p.dims, p.mode, p.packed)


def _specialization(signature: Signature, artifact: Artifact, machine: Machine) -> Specialization:
    return Specialization(
        signature, artifact, machine, machine.load(artifact), machine.texts(artifact)
    )
