"""Machines of CPUs: one kind, or a set of them whose best is taken when a kernel is loaded."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence

from dslc.compiler.artifact import Artifact, Hashes
from dslc.compiler.ir import TileProgram
from dslc.machines.machine import Draft, Machine
from dslc.runtime.native.loading import LIBRARY, LIBRARY_MACOS

_FILES = {"so": LIBRARY, "dylib": LIBRARY_MACOS}


class OneVariant(Machine):
    """CPUs of one kind: a text is generated, and a library is made of it."""

    def draft(self, program: TileProgram) -> Draft:
        """The text."""
        return Draft.of(self.lower(program))

    def described(
        self, program: TileProgram, config: Mapping[str, object], hashes: Hashes
    ) -> Artifact:
        """The artifact before its library is made."""
        return super().compile(program, config, hashes)

    @abstractmethod
    def with_library(self, artifact: Artifact) -> Artifact:
        """The artifact with the library for this system. DSL0951 without what makes it."""

    def compile(
        self, program: TileProgram, config: Mapping[str, object], hashes: Hashes
    ) -> Artifact:
        """The library and its text."""
        return self.with_library(self.described(program, config, hashes))


class ManyVariants(Machine):
    """Several kinds in one library; `variants` are their machines, the most capable first."""

    variants: Sequence[OneVariant]

    def draft(self, program: TileProgram) -> Draft:
        """The text for every kind."""
        return Draft(tuple(text for m in self.variants for text in m.draft(program).texts))

    @abstractmethod
    def joined(self, artifacts: Sequence[Artifact]) -> Artifact:
        """One artifact with one library. The errors are those of each."""

    def lower(self, program: TileProgram) -> Artifact:
        """That of every kind, before there is a library."""
        raise AssertionError("each kind has an artifact of its own")

    def compile(
        self, program: TileProgram, config: Mapping[str, object], hashes: Hashes
    ) -> Artifact:
        """The library of one scheduled program for all kinds.

        So what is packed for one of them is packed for all.
        """
        own = [m.described(program, config, hashes) for m in self.variants]
        return dataclasses.replace(self.joined(own), target=self.target.name)


class Libraries(Mapping[str, bytes]):
    """The libraries of an artifact by form; what it has not is made when it is asked for."""

    def __init__(self, artifact: Artifact, make: Mapping[str, Callable[[Artifact], bytes]]) -> None:
        self._artifact, self._make = artifact, make

    def __getitem__(self, form: str) -> bytes:
        make = self._make[form]
        stored = self._artifact.files.get(_FILES.get(form, ""))
        return make(self._artifact) if stored is None else stored

    def __iter__(self) -> Iterator[str]:
        return iter(self._make)

    def __len__(self) -> int:
        return len(self._make)
