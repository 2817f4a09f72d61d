"""`nki.language`: data types, memories, loops, and the names of operators."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dslc.runtime.nki_simulator.accesses import Accesses
from dslc.runtime.nki_simulator.elements import dtype_name
from dslc.runtime.nki_simulator.engines.operators import OPERATORS, TILE_LEVEL
from dslc.runtime.nki_simulator.engines.statistics import BN_LIMIT
from dslc.runtime.nki_simulator.interface.names import NAMES
from dslc.runtime.nki_simulator.machine import BANK_BYTES, PARTITIONS
from dslc.runtime.nki_simulator.neuroncore import INSTRUCTIONS, Core, Loop
from dslc.runtime.nki_simulator.scalars import VirtualRegister, number_of
from dslc.runtime.nki_simulator.tensors import HBM, PSUM, SBUF, Storage
from dslc.runtime.nki_simulator.tile_functions import TileFunctions, identity
from dslc.runtime.nki_simulator.views import NkiTensor, Slice

DTYPES = tuple(name for name in NAMES["types"] if not name.endswith("_x4") and name != "bool_")
SHARED = "shared_hbm"
_SPACES = {SBUF: SBUF, PSUM: PSUM, HBM: HBM, "private_hbm": HBM, SHARED: HBM}


@dataclass(frozen=True, slots=True)
class Program:
    """One of the programs of a grid, which run the same kernel."""

    number: int
    count: int


class Language:
    """The functions of `nki.language` for one core."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.outputs: list[Storage] = []  # what is in nl.shared_hbm
        self.program = Program(0, 1)
        self._shared: list[NkiTensor] = []  # by the programs before
        self._made = 0

    def begin(self, program: Program) -> None:
        """Another program of the grid: its tensors in nl.shared_hbm are those of the others."""
        self.program, self._made = program, 0
        for tensor in self._shared:  # what the others did to it is over
            tensor.storage.accesses = Accesses(tensor.storage.shape)

    def ndarray(
        self,
        shape: Any,
        dtype: Any,
        buffer: str | None = None,
        name: str = "",
        address: Sequence[int] | None = None,
    ) -> NkiTensor:
        """A new tensor of unwritten memory; in SBUF where no buffer is given.

        `address` is the first partition and the byte in it: it has to be one that a tile may have;
        memory is given out by lifetime all the same.
        """
        space = _SPACES.get(SBUF if buffer is None else buffer)
        if space is None:
            self._core.fail("memory", f"there is no buffer {buffer!r}")
        if buffer == SHARED and self._made < len(self._shared):
            self._made += 1
            return self._same(self._shared[self._made - 1], shape, dtype)
        tensor = self._core.allocate(shape, dtype, space, name)
        if address is not None:
            self._check_address(tensor, address)
        if buffer == SHARED:
            self._made += 1
            self._shared.append(tensor)
            self.outputs.append(tensor.storage)
        return tensor

    def _same(self, tensor: NkiTensor, shape: Any, dtype: Any) -> NkiTensor:
        """The tensor that a program before made at this place."""
        sizes = tuple(number_of(n) for n in (shape if isinstance(shape, Sequence) else (shape,)))
        if sizes != tensor.shape or dtype_name(dtype) != tensor.dtype:
            self._core.fail(
                "output", f"programs of a grid disagree on {tensor}: here it is {sizes}"
            )
        return tensor

    def _check_address(self, tensor: NkiTensor, address: Sequence[int]) -> None:
        core = self._core
        core.require(tensor.storage.on_chip, "memory", f"{tensor} has no address in HBM")
        core.require(
            len(address) == 2 and all(isinstance(n, (int, np.integer)) and n >= 0 for n in address),
            "signature",
            f"address={address!r} is no pair of a partition and a byte",
        )
        partition, byte = address
        core.require(
            partition % 32 == 0 and partition + tensor.shape[0] <= PARTITIONS,
            "start-partition",
            f"{tensor}: {tensor.shape[0]} partitions start at {partition}",
        )
        room = core.machine.sbuf_bytes if tensor.buffer == SBUF else core.machine.psum_bytes
        core.require(
            byte + tensor.storage.bytes <= room,
            f"{tensor.buffer}-capacity",
            f"{tensor}: bytes {byte} to {byte + tensor.storage.bytes} of {room}",
        )

    def zeros(
        self,
        shape: Any,
        dtype: Any,
        buffer: str | None = None,
        name: str = "",
        address: Sequence[int] | None = None,
    ) -> NkiTensor:
        """A new tensor of zeros, filled by memset."""
        tensor = self.ndarray(shape, dtype, buffer, name, address)
        self._core.doing = "memset"
        INSTRUCTIONS["memset"](self._core, tensor, 0)
        return tensor

    def shared_constant(self, constant: Any, dtype: Any = None) -> NkiTensor:
        """A constant in HBM that the kernel file carries."""
        array = np.asarray(constant)
        tensor = self._core.argument("constant", array)
        return tensor if dtype is None or dtype == tensor.dtype else tensor.view(dtype)

    def shared_identity_matrix(
        self, n: int, dtype: str = "uint8", dst: NkiTensor | None = None
    ) -> NkiTensor:
        """An identity matrix in SBUF, in `dst` where it is given."""
        return identity(self._core, n, dtype, dst)

    def program_id(self, axis: int = 0) -> int:
        """The number of this program in the grid."""
        self._core.require(axis == 0, "signature", f"the grid has one axis, not axis {axis}")
        return self.program.number

    def num_programs(self, axes: Any = 0) -> int:
        """How many programs the grid has."""
        return self.program.count

    def program_ndim(self) -> int:
        """The axes of the grid: none where it is not given."""
        return int(self.program.count > 1)

    def fori_loop(
        self, lower: Any, upper: Any, body_fun: Callable[[Any], Any], step: int = 1
    ) -> None:
        """A compiled loop: its body's tiles are the same memory in every iteration.

        The body is handed the counter, a register.
        """
        core = self._core
        core.require(
            isinstance(step, int) and step > 0, "signature", f"step={step} is no positive integer"
        )
        counts = range(number_of(lower), number_of(upper), step)
        with _Iterations(core, (lower, upper)) as loop:
            for i in counts:
                loop.count = 0
                counter = VirtualRegister(i, core.fail)
                counter.note = core.awaited
                body_fun(counter)

    def while_loop(self, init: Any, body_fun: Callable[[Any], Any]) -> None:
        """A compiled loop while a register is not 0; the body returns the next one."""
        register = init
        with _Iterations(self._core, (init,)) as loop:
            while self._condition(register):
                loop.count = 0
                register = body_fun(register.copy())
                loop.after = _loads((register,))

    def _condition(self, register: Any) -> int:
        if not isinstance(register, VirtualRegister):
            self._core.fail(
                "signature", f"while_loop goes by a register, not by {type(register).__name__}"
            )
        value = number_of(register)
        self._core.awaited.clear()
        return value


class _Iterations:
    """Within a compiled loop; loops of one place in the body of another are the same one."""

    def __init__(self, core: Core, bounds: Sequence[Any]) -> None:
        self._core, self._bounds = core, bounds

    def __enter__(self) -> Loop:
        loop = Loop(("loop", self._core.loops[-1].slot()), _loads(self._bounds))
        self._core.loops.append(loop)
        self._core.awaited.clear()  # the loop waits for its bounds, all that is in it with it
        return loop

    def __exit__(self, *_: object) -> None:
        self._core.loops.pop()


def _loads(registers: Sequence[Any]) -> frozenset[int]:
    """The instructions that loaded registers: a branch by these waits for them."""
    return frozenset(
        r.loaded for r in registers if isinstance(r, VirtualRegister) and r.loaded >= 0
    )


def language_module(core: Core) -> tuple[types.ModuleType, Language]:
    """The module for a core."""
    language, functions = Language(core), TileFunctions(core)
    module = types.ModuleType("nki.language", "NKI's language level, simulated.")
    members: dict[str, Any] = dict(OPERATORS) | functions.names()
    members |= {name: name for name in DTYPES} | {name: name for name in _SPACES}
    members |= {"bool_": "uint8", "NkiTensor": NkiTensor, "ds": Slice, "dslice": Slice}
    # Deprecated names of Python's range: all of them unroll.
    members |= dict.fromkeys(("affine_range", "sequential_range", "static_range"), range)
    members |= {
        n: getattr(language, n) for n in dir(Language) if not n.startswith("_") and n != "begin"
    }
    members["device_print"] = lambda prefix, tensor, **_: print(prefix, core.read(tensor))
    members["fp32"] = types.SimpleNamespace(
        min=float(np.finfo(np.float32).min), max=float(np.finfo(np.float32).max)
    )
    members["tile_size"] = types.SimpleNamespace(
        pmax=PARTITIONS,
        psum_fmax=BANK_BYTES // 4,
        gemm_stationary_fmax=PARTITIONS,
        gemm_moving_fmax=512,
        bn_stats_fmax=BN_LIMIT,
        psum_min_align=4,
        sbuf_min_align=1,
        total_available_sbuf_size=core.machine.sbuf_bytes,
    )
    module.__dict__.update(members)
    TILE_LEVEL.set(functions.apply)
    return module, language
