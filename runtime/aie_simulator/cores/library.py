"""The C functions of a device's cores, built once and kept by their text."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from dslc.runtime.aie_simulator.cores.native import Loop
from dslc.runtime.aie_simulator.cores.native_words import PRELUDE
from dslc.runtime.aie_simulator.parts import Memory, View
from dslc.runtime.host_libraries import kept_folder, key_of, make, processor_features

_FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing",
          "-shared", "-fPIC", "-w")  # fmt: skip


@functools.cache
def compiler() -> str | None:
    """The host's C compiler: $CC, gcc or clang; None where there is none."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and (path := shutil.which(name)):
            return path
    return None


class _Memory(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("mask", ctypes.c_void_p), ("count", ctypes.c_int64))


class Library:
    """Functions of loops: equal ones are one; all are built before the first is called."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._built: Any = None

    def add(self, loop: Loop) -> Function:
        """The function of a loop."""
        body = loop.text("NAME")
        name = self._texts.setdefault(body, f"loop_{len(self._texts)}")
        return Function(self, name, loop)

    def build(self) -> None:
        """Compile what was added; where that fails NumPy computes, as without a compiler."""
        functions = (
            body.replace("int NAME(", f"int {name}(", 1) for body, name in self._texts.items()
        )
        with contextlib.suppress(OSError):
            if (path := _built(PRELUDE + "".join(functions))) is not None:
                self._built = ctypes.CDLL(str(path))

    @property
    def is_built(self) -> bool:
        """Whether the functions can be called."""
        return self._built is not None

    def function(self, name: str) -> Any:
        """A function by name."""
        return getattr(self._built, name)


class Function:
    """A loop as the core calls it; False where a memory is not what C takes, and nothing was done."""

    def __init__(self, library: Library, name: str, loop: Loop) -> None:
        self._library, self._name = library, name
        self._line = loop.line
        self._kinds = [kind for _, kind in loop.memories]
        self._call: Any = None
        self._refusal = (ctypes.c_int64 * 5)()

    def __call__(self, memories: Sequence[Memory], indices: Sequence[int]) -> bool:
        """Run it; AieFault where an access is not allowed."""
        if not self._library.is_built:
            return False
        if self._call is None:
            self._call = self._library.function(self._name)
        given = (_Memory * max(1, len(memories)))()
        for place, (memory, kind) in enumerate(zip(memories, self._kinds, strict=True)):
            if memory.kind != kind or not memory.data.flags.c_contiguous:
                return False
            if isinstance(memory, View) and memory.is_partly_written:
                return False
            mask = memory.mask.ctypes.data if memory.unwritten else None
            given[place] = _Memory(memory.data.ctypes.data, mask, memory.count)
        numbers = (ctypes.c_int64 * max(1, len(indices)))(*indices)
        refused = self._call(given, numbers, self._refusal)
        for memory, passed in zip(memories, given, strict=True):
            if passed.mask:
                memory.unwritten = memory.count - int(np.count_nonzero(memory.mask))
        if refused:
            place, at, lanes, line, write = self._refusal
            line += self._line
            if write:
                memories[place].store(0, at, lanes, line)
            else:
                memories[place].check(at, at + lanes, line)
        return True


def _built(text: str) -> Path | None:
    """The library of a text, in the folder of what is kept; None where it cannot be made."""
    tool = compiler()
    assert tool is not None, "whoever builds has asked for it"
    key = key_of(tool, *_FLAGS, processor_features(), text)
    path = kept_folder("aie-simulator") / f"{key}.so"
    command = [tool, *_FLAGS, "loops.c", "-lm"]
    return None if make(path, command, {"loops.c": text}) else path
