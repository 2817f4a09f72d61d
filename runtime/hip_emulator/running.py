"""Launches: arguments into the kernarg segment, registers as the descriptor says, reports as errors."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dslc.runtime.hip_emulator.assembly import Assembly, Kernel, read_assembly
from dslc.runtime.hip_emulator.building import machine
from dslc.runtime.hip_emulator.errors import EmulationError
from dslc.runtime.hip_emulator.instructions.memory import find_memory
from dslc.runtime.hip_emulator.memory import Buffer, Memory, address_of
from dslc.runtime.hip_emulator.metadata import Argument, Metadata
from dslc.runtime.hip_emulator.program import TranslatedProgram
from dslc.runtime.hip_emulator.request import Request
from numpy.typing import NDArray

Value = NDArray[Any] | Buffer | int | float | bytes | np.generic
_RESIDENT = 32
_LDS_OF = {"gfx942": 64 * 1024, "gfx950": 160 * 1024}
_KERNARG_ALIGNMENT = 64
_LIMIT = 2_000_000_000
# What the emulator does not do is refused: flushed denormals, other roundings.
_MODES = {
    "float_round_mode_32": "0",
    "float_round_mode_16_64": "0",
    "float_denorm_mode_32": "3",
    "float_denorm_mode_16_64": "3",
    "dx10_clamp": "1",
}


@dataclass(frozen=True, slots=True)
class Executed:
    """What a launch was: how many instructions its waves executed."""

    instructions: int


class Module:
    """An ISA text, read; its kernels are translated and compiled when they are first launched."""

    def __init__(self, text: str) -> None:
        self.assembly: Assembly = read_assembly(text)
        self._data = np.frombuffer(bytes(self.assembly.data.content), np.uint8)
        self._programs: dict[str, TranslatedProgram] = {}

    def launch(
        self,
        name: str,
        args: Sequence[Value],
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        dynamic_lds: int = 0,
        seed: int = 0,
        resident: int = _RESIDENT,
        limit: int = _LIMIT,
    ) -> Executed:
        """Run a kernel over `grid` workgroups of `block` work-items; arrays are written in place.

        `args` in the kernel's order: arrays for pointers, numbers or bytes for the rest (an int of a
        4-byte argument is an i32, a float an f32). The seed decides how waves interleave (even:
        every choice is uniform; odd: some waves lag far behind) and when memory is read and written
        between an instruction and its wait. `resident` workgroups run at once, more where those wait
        for others. EmulationError for what the machine forbids, with the line of the text.
        """
        kernel, metadata = self._kernel(name)
        request = Request()
        request.program = self._program(name)
        request.grid[:] = _three(grid)
        request.block[:] = _three(block)
        _check_size(kernel, metadata, request)
        request.lds_bytes = metadata.lds_bytes + dynamic_lds
        most = _LDS_OF.get(self.assembly.chip, 0)
        if request.lds_bytes > most:
            raise EmulationError(f"{name} needs {request.lds_bytes} bytes of LDS of {most}")
        request.lds_is_large = most > 1 << 16
        request.granule_shift = _granule_shift(kernel)
        request.scratch_bytes = metadata.scratch_bytes
        request.resident, request.seed, request.limit = resident, seed, limit
        memory = Memory()
        memory.add(Buffer(self._data), "the constants")
        kernarg = _kernarg(metadata, args, memory, request, dynamic_lds)
        packet = _dispatch_packet(request)
        addresses = {"kernarg_segment_ptr": memory.add(Buffer(kernarg), "the arguments")}
        addresses["dispatch_ptr"] = memory.add(Buffer(packet), "the dispatch packet")
        _user_registers(kernel, request, addresses, kernarg)
        request.allocations, request.allocation_count = memory.table()
        if machine().hip_emulator_launch(ctypes.byref(request)):
            raise EmulationError(f"{name}: {request.report.decode(errors='replace')}")
        return Executed(request.executed)

    def _kernel(self, name: str) -> tuple[Kernel, Metadata]:
        kernel = self.assembly.kernels.get(name)
        if kernel is None or kernel.metadata is None:
            raise EmulationError(f"the text has no kernel {name}, or no metadata of it")
        return kernel, kernel.metadata

    def _program(self, name: str) -> int:
        if name not in self._programs:
            self._programs[name] = TranslatedProgram(self.assembly, name, address_of(0))
        return self._programs[name].address


def emulate(
    text: str,
    entry: str,
    args: Sequence[Value],
    grid: int | tuple[int, ...],
    block: int | tuple[int, ...],
    dynamic_lds: int = 0,
    seed: int = 0,
) -> Executed:
    """Read a text and launch one of its kernels once: see Module.launch."""
    return Module(text).launch(entry, args, grid, block, dynamic_lds, seed)


def _three(sizes: int | tuple[int, ...]) -> tuple[int, int, int]:
    given = (sizes,) if isinstance(sizes, int) else sizes
    x, y, z = (*given, 1, 1, 1)[:3]
    return x, y, z


def _check_size(kernel: Kernel, metadata: Metadata, request: Request) -> None:
    threads = request.block[0] * request.block[1] * request.block[2]
    if not 0 < threads <= metadata.most_threads:
        raise EmulationError(
            f"{kernel.name} takes {metadata.most_threads} work-items, not {threads}"
        )
    if metadata.required_block and tuple(request.block) != metadata.required_block:
        raise EmulationError(f"{kernel.name} takes workgroups of {metadata.required_block}")
    for key, value in _MODES.items():
        if (size := kernel.descriptor.get(key, value)) != value:
            raise EmulationError(f"{kernel.name}: the emulator does not know {key} {size}")


def _granule_shift(kernel: Kernel) -> int:
    """The smallest access of LDS, as a power of two of bytes up to 4."""
    accesses = [find_memory(i.mnemonic) for i in kernel.code]
    sizes = [m.bytes for m in accesses if m and m.space in ("LDS", "FLAT")]
    return min(2, *((size.bit_length() - 1) for size in sizes), 2)


def _kernarg(
    metadata: Metadata, args: Sequence[Value], memory: Memory, request: Request, lds: int
) -> NDArray[np.uint8]:
    explicit = metadata.explicit
    if len(explicit) != len(args):
        raise EmulationError(f"{metadata.name} takes {len(explicit)} arguments, not {len(args)}")
    # The segment is aligned to as much, and compilers read past its end within that.
    segment = bytearray(-(-metadata.kernarg_bytes // _KERNARG_ALIGNMENT) * _KERNARG_ALIGNMENT)
    for number, (argument, value) in enumerate(zip(explicit, args, strict=True)):
        name = argument.name or f"argument {number}"
        bits = _argument(argument, value, name, memory)
        segment[argument.offset : argument.offset + argument.size] = bits
    for argument in metadata.arguments:
        if argument.kind.startswith("hidden_"):
            number = _hidden(argument.kind.removeprefix("hidden_"), request, lds)
            bits = number.to_bytes(argument.size, "little")
            segment[argument.offset : argument.offset + argument.size] = bits
    return np.frombuffer(bytes(segment), np.uint8)


def _argument(argument: Argument, value: Value, name: str, memory: Memory) -> bytes:
    if isinstance(value, np.ndarray):
        value = Buffer(value)
    if isinstance(value, Buffer):
        if argument.kind == "by_value":
            raise EmulationError(f"{name} is passed by value: it cannot be an array")
        return memory.add(value, name).to_bytes(8, "little")
    if argument.kind != "by_value":
        raise EmulationError(f"{name} is a pointer: it needs an array")
    if isinstance(value, np.generic):
        value = value.tobytes()
    elif isinstance(value, float):
        value = struct.pack("<f" if argument.size == 4 else "<d", value)
    elif isinstance(value, int):
        value = (value % (1 << 8 * argument.size)).to_bytes(argument.size, "little")
    if not isinstance(value, bytes) or len(value) != argument.size:
        raise EmulationError(f"{name} has {argument.size} bytes")
    return value


def _hidden(kind: str, request: Request, dynamic_lds: int) -> int:
    """An argument that the launch fills in (LLVM, AMDGPU usage, code object V5)."""
    axis = "xyz".find(kind[-1])
    if kind.startswith("block_count_"):
        return int(request.grid[axis])
    if kind.startswith("group_size_"):
        return int(request.block[axis])
    if kind == "grid_dims":
        return 1 + max(
            (k for k in range(3) if request.grid[k] > 1 or request.block[k] > 1), default=0
        )
    return dynamic_lds if kind == "dynamic_lds_size" else 0


def _dispatch_packet(request: Request) -> NDArray[np.uint8]:
    """An HSA kernel dispatch packet: sizes of the workgroup and, in work-items, of the grid."""
    block, grid = tuple(request.block), tuple(request.grid)
    sizes = (g * b for g, b in zip(grid, block, strict=True))
    head = struct.pack("<HHHHHHIII", 0x1402, 3, *block, 0, *sizes)
    tail = struct.pack("<II", request.scratch_bytes, request.lds_bytes)
    packet = (head + tail).ljust(64, b"\0")
    return np.frombuffer(packet, np.uint8)


# User SGPRs in the order in which hardware fills them.
_USER = (
    "private_segment_buffer",
    "dispatch_ptr",
    "queue_ptr",
    "kernarg_segment_ptr",
    "dispatch_id",
    "flat_scratch_init",
    "private_segment_size",
)


def _user_registers(
    kernel: Kernel, request: Request, addresses: dict[str, int], kernarg: NDArray[np.uint8]
) -> None:
    descriptor, words = kernel.descriptor, []
    for name in _USER:
        if descriptor.get(f"user_sgpr_{name}", "0") == "0":
            continue
        if name == "private_segment_size":
            words.append(request.scratch_bytes)
        elif name in ("dispatch_id", *addresses):
            address = addresses.get(name, 0)
            words += [address & 0xFFFFFFFF, address >> 32]
        else:
            raise EmulationError(f"{kernel.name}: the emulator does not know the register {name}")
    preloaded = int(descriptor.get("user_sgpr_kernarg_preload_length", "0"))
    first = int(descriptor.get("user_sgpr_kernarg_preload_offset", "0"))
    padded = kernarg.tobytes().ljust(4 * (first + preloaded), b"\0")
    words += struct.unpack_from(f"<{preloaded}I", padded, 4 * first)
    request.user_count = len(words)
    request.user[: len(words)] = words
    for axis, letter in enumerate("xyz"):
        key = f"system_sgpr_workgroup_id_{letter}"
        request.group_ids[axis] = int(descriptor.get(key, "1" if axis == 0 else "0"))
