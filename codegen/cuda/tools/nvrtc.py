"""NVRTC: CUDA C to a cubin or PTX within this process (NVRTC documentation, "Basic Usage").

The library alone is bound: the wheel `nvidia-cuda-nvrtc` suffices.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dslc.codegen.cuda.tools.locate import find_library, missing

_INVALID_OPTION = 5  # nvrtcResult


@dataclass(frozen=True, slots=True)
class Compilation:
    """What NVRTC gave: the log, and the outputs where it succeeded (an empty one where not asked)."""

    succeeded: bool
    options_refused: bool
    log: str
    cubin: bytes = b""
    ptx: str = ""


class Nvrtc:
    """The loaded library."""

    def __init__(self, path: str) -> None:
        self.path = path
        # NVRTC asks the linker for its builtins by name alone, so they are loaded by path before.
        if Path(path).is_absolute():
            for builtins in sorted(Path(path).parent.glob("libnvrtc-builtins.so*")):
                ctypes.CDLL(str(builtins))
        self._library = ctypes.CDLL(path)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._check("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        self.version = (major.value, minor.value)

    @property
    def identity(self) -> str:
        """The version and the size of the library's file, which tells builds of a version apart."""
        file = Path(self.path)
        size = file.stat().st_size if file.is_file() else 0
        return f"nvrtc {self.version[0]}.{self.version[1]} ({size})"

    def compile(self, source: str, name: str, options: Sequence[str]) -> Compilation:
        """Compile one text; `name` is what the log calls it.

        NVRTC 13 keeps a cache of its own on machines with a driver, and what it takes from there has no
        log, so no report of registers. dslc has a cache: the compiler's is turned off where it exists.
        """
        done = self._compile(source, name, (*options, "--minimal", "--no-cache"))
        return self._compile(source, name, options) if done.options_refused else done

    def _compile(self, source: str, name: str, options: Sequence[str]) -> Compilation:
        program = ctypes.c_void_p()
        text = source.encode()
        self._check("nvrtcCreateProgram", ctypes.byref(program), text, name.encode(), 0, None, None)
        try:
            given = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
            status = self._library.nvrtcCompileProgram(program, len(options), given)
            log = self._output(program, "ProgramLog").decode(errors="replace")
            if status:
                return Compilation(False, status == _INVALID_OPTION, log)
            cubin = self._output(program, "CUBIN")
            ptx = self._output(program, "PTX")
            return Compilation(True, False, log, cubin, ptx.rstrip(b"\0").decode())
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _output(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._check(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(max(1, size.value))
        self._check(f"nvrtcGet{what}", program, buffer)
        raw = buffer.raw[: size.value]
        return raw if what == "CUBIN" else raw.rstrip(b"\0")

    def _check(self, function: str, *args: object) -> None:
        if status := getattr(self._library, function)(*args):
            self._library.nvrtcGetErrorString.restype = ctypes.c_char_p
            reason = self._library.nvrtcGetErrorString(status).decode()
            raise RuntimeError(f"{function}: {reason}")


@functools.cache
def load_nvrtc() -> Nvrtc:
    """The library, loaded once a process; DSL0951 where there is none."""
    path = find_library("nvrtc")
    if path is None:
        raise missing("NVRTC, the compiler of CUDA C,", "'dslc[cuda]'")
    return Nvrtc(path)
