"""An NPU through XRT's Python module: a kernel's files are loaded, and its arrays go there and back.

The calls are those of `pyxrt`, which comes with XRT and is imported when the first kernel is launched.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.runtime.aie.aiecc import ELF, INSTRUCTIONS, XCLBIN, build
from dslc.runtime.elements import Array

MODELS = ("npu4", "npu5", "npu6", "Strix", "Krackan", "Gorgon")  # in what XRT calls an NPU2

_OPCODE = 3  # the kernel runs instructions from a buffer
_FIXED = 3  # arguments ahead of the arrays: the opcode, the instructions, and their bytes


class NpuDevice:
    """The NPU of this machine, which a process opens once."""

    def __init__(self) -> None:
        try:
            self.xrt: Any = importlib.import_module("pyxrt")
        except ImportError as problem:
            raise _absent(f"XRT's Python module cannot be imported: {problem}") from None
        try:
            self.handle = self.xrt.device(0)
            self.name = str(self.handle.get_info(self.xrt.xrt_info_device.name))
        except RuntimeError as problem:
            raise _absent(f"XRT opens no NPU: {problem}") from None
        if not any(model in self.name for model in MODELS):
            raise _absent(f"XRT's device is {self.name!r}, and modules are for an NPU2")

    @staticmethod
    @functools.cache
    def get() -> NpuDevice:
        """The NPU; DSL0844 where there is none, or one of another generation."""
        return NpuDevice()


class NpuModule:
    """A module on the NPU, with the context and the buffers that its launches share."""

    def __init__(self, text: str) -> None:
        self._device = NpuDevice.get()
        self._built = build(text)
        self._buffers: dict[int, Any] = {}
        self._load()

    def launch(self, arrays: Sequence[Array], written: Mapping[int, int]) -> None:
        """Run it once over the arrays of its sequence's arguments, and wait for it.

        Of those that `written` has by their number, so many rows from the first on are read back.
        DSL0845 where XRT refuses a call, or the run does not complete.
        """
        xrt = self._device.xrt
        self._check_count(len(arrays))
        with _told():
            for place, array in enumerate(arrays):
                self._send(place, array)
            state = self._run([self._buffers[place] for place in range(len(arrays))])
        if state != xrt.ert_cmd_state.ERT_CMD_STATE_COMPLETED:
            self._buffers.clear()
            self._load()  # the context of a run that failed is of no further use
            raise error("DSL0845", f"the run on {self._device.name} ended as {state}")
        with _told():
            for place, rows in written.items():
                self._fetch(
                    place, arrays[place] if arrays[place].ndim == 0 else arrays[place][:rows]
                )

    def _load(self) -> None:
        with _told():
            if self._built.is_whole:
                self._load_whole()
            else:
                self._load_pair()

    def _load_pair(self) -> None:
        xrt, built = self._device.xrt, self._built
        self._xclbin = xrt.xclbin(str(built.folder / XCLBIN))
        self._device.handle.register_xclbin(self._xclbin)
        self._context = xrt.hw_context(self._device.handle, self._xclbin.get_uuid())
        self._kernel = xrt.kernel(self._context, built.kernel)
        words = (built.folder / INSTRUCTIONS).read_bytes()
        group = self._kernel.group_id(1)
        self._instructions = xrt.bo(self._device.handle, len(words), xrt.bo.cacheable, group)
        self._instructions.write(np.frombuffer(words, np.uint8), 0)
        self._instructions.sync(self._direction("TO_DEVICE"), len(words), 0)
        self._size = len(words)

    def _load_whole(self) -> None:
        xrt, built = self._device.xrt, self._built
        self._context = xrt.hw_context(self._device.handle, xrt.elf(str(built.folder / ELF)))
        self._kernel = xrt.ext.kernel(self._context, built.kernel)

    def _check_count(self, count: int) -> None:
        """XRT itself does not survive an argument too many."""
        if self._built.is_whole:
            return
        kernels = self._xclbin.get_kernels()
        found = next((k for k in kernels if k.get_name() == self._built.kernel), None)
        if found is not None and found.get_num_args() - _FIXED < count:
            taken = found.get_num_args() - _FIXED
            text = f"the xclbin of {self._built.kernel} takes {taken} arrays, and there are {count}"
            raise error("DSL0845", text)

    def _direction(self, name: str) -> Any:
        return getattr(self._device.xrt.xclBOSyncDirection, f"XCL_BO_SYNC_BO_{name}")

    def _send(self, place: int, array: Array) -> None:
        xrt, size = self._device.xrt, max(4, array.nbytes)
        buffer = self._buffers.get(place)
        if buffer is None or buffer.size() != size:
            group = 0 if self._built.is_whole else self._kernel.group_id(_FIXED + place)
            buffer = xrt.bo(self._device.handle, size, xrt.bo.host_only, group)
            self._buffers[place] = buffer
        if array.nbytes:
            buffer.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8), 0)
        buffer.sync(self._direction("TO_DEVICE"), size, 0)

    def _fetch(self, place: int, array: Array) -> None:
        buffer = self._buffers[place]
        buffer.sync(self._direction("FROM_DEVICE"), array.nbytes, 0)
        found = np.asarray(buffer.read(array.nbytes, 0)).tobytes()
        array[...] = np.frombuffer(found, array.dtype).reshape(array.shape)

    def _run(self, buffers: Sequence[Any]) -> Any:
        if not self._built.is_whole:
            run = self._kernel(_OPCODE, self._instructions, self._size, *buffers)
            return run.wait()
        run = self._device.xrt.run(self._kernel)
        for place, buffer in enumerate(buffers):
            run.set_arg(place, buffer)
        run.start()
        return run.wait()


@contextmanager
def _told() -> Iterator[None]:
    """DSL0845 for what XRT raises."""
    try:
        yield
    except RuntimeError as problem:
        raise error("DSL0845", f"XRT refuses a call: {problem}") from None


def _absent(text: str) -> DiagnosticError:
    return error("DSL0844", text, hint="leave DSLC_NPU unset: kernels run in the simulator")
