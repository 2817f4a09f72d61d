"""Artifacts, arrays and the controls of the driver's stand-in (fake_libcuda.c)."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dslc.compiler.artifact import Artifact, Hashes, Param, Requirement, Signature, Workspace
from dslc.compiler.diagnostics import DiagnosticError


class FakeConfig(ctypes.Structure):
    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint),
    )


class FakeAttribute(ctypes.Structure):
    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_int * 16))


class FakeDriver:
    """The stand-in's controls."""

    def __init__(self, path: Path) -> None:
        self.library = ctypes.CDLL(str(path))
        self.library.fake_last.restype = ctypes.POINTER(FakeConfig)
        self.library.fake_attributes.restype = ctypes.POINTER(FakeAttribute)
        self.library.fake_count.restype = ctypes.c_int64
        self.library.fake_graph_count.restype = ctypes.c_int64
        self.library.fake_current.restype = ctypes.c_uint64
        self.library.fake_set_current.argtypes = [ctypes.c_uint64]

    def reset(self, devices: int = 1, major: int = 9, minor: int = 0) -> None:
        self.library.fake_reset(devices, major, minor)
        self.library.fake_reset_graphs()

    def count(self, what: str) -> int:
        found = int(self.library.fake_count(what.encode()))
        return found if found >= 0 else int(self.library.fake_graph_count(what.encode()))

    def room(self, size: int) -> None:
        """No allocation may be larger."""
        self.library.fake_room(ctypes.c_size_t(size))

    def fail_next(self, status: int) -> None:
        self.library.fake_fail_next(status)

    def capture(self, on: bool) -> None:
        self.library.fake_capture(int(on))

    @property
    def context(self) -> int:
        return int(self.library.fake_current())

    @context.setter
    def context(self, value: int) -> None:
        self.library.fake_set_current(value)

    @property
    def last(self) -> FakeConfig:
        return self.library.fake_last().contents  # type: ignore[no-any-return]

    @property
    def attributes(self) -> dict[int, list[int]]:
        found = self.library.fake_attributes()
        return {found[i].id: list(found[i].value) for i in range(self.last.count)}


class OnDevice:
    """An array that says of itself that it lies on a GPU."""

    def __init__(self, array: np.ndarray[Any, Any], read_only: bool = False, **more: Any) -> None:
        self.array = array
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": array.shape,
            "typestr": array.dtype.str,
            "strides": array.strides,
            "data": (array.ctypes.data, read_only),
            "stream": None,
            **more,
        }


def aligned(shape: int | tuple[int, ...], dtype: str = "float32", past: int = 0) -> Any:
    """Zeros at a multiple of 256 bytes, or so many bytes past one."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(count + 512, np.uint8)
    start = -memory.ctypes.data % 256 + past
    return memory[start : start + count].view(dtype).reshape(shape)


def scale_artifact(**changes: Any) -> Artifact:
    """y = x * s, as an artifact for two architectures."""
    made: dict[str, Any] = {
        "name": "scale",
        "kind": "kernel",
        "target": "cuda:sm_90a",
        "entry": "scale",
        "signature": Signature(
            (
                Param("x", "f32", "in", ("N",)),
                Param("y", "f32", "out", ("N",)),
                Param("s", "f32", "in"),
            ),
            ("N",),
            requires=(Requirement("N % 4 == 0", "N % 4 == 0"),),
        ),
        "hashes": Hashes("", "", "", ""),
        "grid": ("cdiv(N, 128)",),
        "launch": {
            "threads": 128,
            "grid": ["cdiv(N, 128)"],
            "arguments": [
                {"kind": "tensor", "name": "x"},
                {"kind": "tensor", "name": "y"},
                {"kind": "scalar", "name": "s", "type": "f32"},
                {"kind": "value", "value": "N", "type": "i32"},
            ],
        },
        "files": {"sm_90a.cubin": b"scale for 90a\0", "sm_80.cubin": b"scale for 80\0"},
    }
    return Artifact(**{**made, **changes})


def count_artifact() -> Artifact:
    """y = what the workspace holds."""
    return Artifact(
        "count", "kernel", "cuda:sm_90a", "count",
        Signature((Param("y", "f32", "out", ("N",)),), ("N",)), Hashes("", "", "", ""), ("1",),
        workspaces=(Workspace("space", "i32", "N * 4"),),
        launch={
            "threads": 32, "grid": ["1"],
            "arguments": [
                {"kind": "tensor", "name": "y"},
                {"kind": "value", "value": "N", "type": "i64"},
                {"kind": "workspace", "name": "space"},
            ],
        },
        files={"sm_90a.cubin": b"count\0"},
    )  # fmt: skip


def pair(n: int = 8) -> tuple[OnDevice, OnDevice]:
    """0, 1, 2, ... on the device, and as many zeros."""
    x = aligned(n)
    x[:] = np.arange(n)
    return OnDevice(x), OnDevice(aligned(n))


def code(caught: pytest.ExceptionInfo[DiagnosticError]) -> str:
    """The code of the first finding of an error."""
    return caught.value.diagnostics[0].code
