"""What goes into a package: artifacts, each with the kernel that callers know it as."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from dslc.calls.signature import Signature
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.compiler.manifest import plain_choice
from dslc.runtime.package.index import IndexedKernel, IndexedParameter, Tuning


@dataclass(frozen=True, slots=True)
class Entry:
    """One artifact. `kernel` is how it is called, without specialisations; `sizes` what it is for."""

    kernel: IndexedKernel
    artifact: Artifact
    sizes: Mapping[str, int] = field(default_factory=dict)
    tuned: Tuning | None = None

    @property
    def alignments(self) -> dict[str, int]:
        """The tensors that may begin at multiples of fewer bytes than 16."""
        return dict(self.artifact.launch.get("alignments", {}))


def described(signature: Signature, name: str | None = None) -> IndexedKernel:
    """A kernel as a package describes it, under its own name or another."""
    parameters = tuple(
        IndexedParameter(p.name, p.dtype.name, p.dims, p.mode, p.packed)  # type: ignore[arg-type]
        for p in signature.parameters
    )
    tunes = {n: tuple(plain_choice(c) for c in choices) for n, choices in signature.tunes.items()}
    return IndexedKernel(
        name or signature.name, signature.doc, parameters, signature.dims, tunes, ()
    )


def by_kernel(entries: Iterable[Entry]) -> dict[str, tuple[IndexedKernel, list[Entry]]]:
    """Entries by the kernel's name; DSL0835 where two kernels of a name are not one."""
    entries_of: dict[str, tuple[IndexedKernel, list[Entry]]] = {}
    for entry in entries:
        kernel, listed = entries_of.setdefault(entry.kernel.name, (entry.kernel, []))
        if replace(kernel, doc=None) != replace(entry.kernel, doc=None):
            raise error(
                "DSL0835",
                f"two kernels are called {kernel.name}, with other parameters",
                hint="give one another name: kernel = ..., name = ... in the specification",
            )
        listed.append(entry)
    return entries_of


def check_storages(entries: Iterable[Entry]) -> None:
    """DSL0835 where calls may take one of two artifacts that store a weight in different ways.

    Packed bytes do not say how they were packed, so that of one kernel and target all artifacts whose
    fixed dims agree must read the same.
    """
    for name, (_, listed) in by_kernel(entries).items():
        for number, one in enumerate(listed):
            for other in listed[:number]:
                if _may_meet(one, other) and (param := _differing(one.artifact, other.artifact)):
                    raise error(
                        "DSL0835",
                        f"{name} stores {param} in one way for {_choices(other)} and in another for "
                        f"{_choices(one)}, and a call with packed bytes may get either",
                        hint="set the choices that decide the storage (set = {...}), or give one "
                        "of them another name",
                    )


def _may_meet(one: Entry, other: Entry) -> bool:
    a, b = one.artifact, other.artifact
    agree = all(b.signature.fixed.get(d, n) == n for d, n in a.signature.fixed.items())
    return a.target == b.target and agree


def _differing(a: Artifact, b: Artifact) -> str | None:
    for p, q in zip(_stored(a), _stored(b), strict=True):
        if p != q:
            return p[0]
    return None


def _stored(artifact: Artifact) -> list[tuple[str, object]]:
    return [(p.name, p.packed) for p in artifact.signature.params]


def _choices(entry: Entry) -> str:
    signature = entry.artifact.signature
    return ", ".join(f"{n} = {v}" for n, v in {**signature.fixed, **signature.config}.items())
