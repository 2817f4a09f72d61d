"""An emulated CPU as a processor of kernels."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dslc.compiler.diagnostics import error
from dslc.runtime.aarch64.slices import slices
from dslc.runtime.aarch64_emulator import EmulationError, Emulator, Loaded
from dslc.runtime.native.arm_features import features_of
from dslc.runtime.native.processor import Word

# Slices run one after another here, but there are several, as there would be of threads.
_SLICES = 3


class EmulatedProcessor:
    """The CPU of an emulator, with the features that its own system tells.

    `program` is the emulator's guest, `cpu` a name that QEMU knows. DSL0861 where it does not start.
    """

    def __init__(self, program: bytes, cpu: str) -> None:
        try:
            self._emulator = Emulator(program, cpu)
        except EmulationError as failure:
            raise error("DSL0861", str(failure)) from None
        self.name = f"the emulated CPU {cpu}"
        self.machine = "aarch64"
        self.features = features_of(*self._emulator.capabilities)
        self.threads = _SLICES

    @property
    def alive(self) -> bool:
        """Whether kernels can be loaded and called."""
        return self._emulator.alive

    def load(self, library: bytes) -> EmulatedLibrary:
        """The library in the emulator's memory."""
        return EmulatedLibrary(self._emulator.load(library))


class EmulatedLibrary:
    """A library in an emulator."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded

    def call(
        self,
        symbol: str,
        words: Sequence[Word],
        written: Collection[int],
        turns: int,
        threads: int,
        scratch: int = 0,
        names: Sequence[str] = (),
    ) -> int:
        """A slice for each thread, one after another; DSL0861 for what the machine forbids."""
        try:
            parts = slices(turns, threads)
            return self._loaded.call(symbol, words, written, parts, scratch, names)
        except EmulationError as failure:
            raise error("DSL0861", f"{symbol}: {failure}") from None
