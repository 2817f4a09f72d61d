"""The core that a kernel runs on: it gives out memory, checks operands, and notes every instruction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from math import prod
from types import FrameType
from typing import Any, NoReturn

import numpy as np
from dslc.runtime.nki_simulator.elements import FLOATS, Array, dtype_name, from_f32, to_f32
from dslc.runtime.nki_simulator.errors import NkiFault
from dslc.runtime.nki_simulator.machine import MIN_CYCLES, PARTITIONS, PE_DEPTH, NeuronCore
from dslc.runtime.nki_simulator.scalars import number_of
from dslc.runtime.nki_simulator.tensors import HBM, PSUM, SBUF, Storage, Tensor
from dslc.runtime.nki_simulator.trace import Rows, Tile, Trace
from dslc.runtime.nki_simulator.views import NkiTensor

Instruction = Callable[..., None]
_FEW = 1 << 20  # elements of a tensor of integers in a run without numbers
INSTRUCTIONS: dict[str, Instruction] = {}
"""The instructions of `nki.isa` by name; each takes the core first."""


def instruction(function: Instruction) -> Instruction:
    """Enter a function in the table of instructions."""
    INSTRUCTIONS[function.__name__] = function
    return function


class Engine(Enum):
    """`nisa.engine`, by the names of the queues."""

    tensor = "PE"
    vector = "DVE"
    scalar = "ACT"
    gpsimd = "Pool"
    dma = "DMA"
    sync = "SP"
    unknown = ""


class Loop:
    """A compiled loop that is running: `slot` numbers what each iteration allocates, from 0.

    `after` are the instructions that loaded the registers by which it goes on.
    """

    def __init__(self, identity: object, after: frozenset[int] = frozenset()) -> None:
        self.identity, self.after = identity, after
        self.count = 0

    def slot(self) -> tuple[object, int]:
        """The next number in this iteration."""
        self.count += 1
        return self.identity, self.count


class Core:
    """One run on one core.

    Where it does not `compute` there are shapes, rules and times, and of numbers the integers alone
    that loops and slices go by (`whole_numbers.py`). `values` tells an instruction whether it computes.
    """

    def __init__(self, machine: NeuronCore, file: str, values: bool = True) -> None:
        self.machine, self.file, self.values, self.computes = machine, file, values, values
        self.version = machine.version
        self.trace = Trace()
        self.line = 0
        self.names: dict[tuple[str, int], str] = {}  # of the variables that lines assign
        self.files = {file}  # of the kernel's package
        self.doing = ""
        self.loops: list[Loop] = [Loop(())]
        self.awaited: set[int] = set()  # loads of the registers that the next instruction goes by
        self.registers = {q: np.zeros(PARTITIONS, np.float32) for q in ("ACT", "DVE")}

    def fail(self, rule: str, message: str, line: int = 0) -> NoReturn:
        """Stop with the rule that is broken, at the kernel's current line."""
        what = f"{self.doing}: {message}" if self.doing else message
        raise NkiFault(rule, what, self.file, line or self.line)

    def at(self, frame: FrameType) -> None:
        """An instruction is called at a line of one of the kernel's files."""
        self.line = frame.f_lineno
        if frame.f_code.co_filename in self.files:
            self.file = frame.f_code.co_filename

    def require(self, holds: bool, rule: str, message: str) -> None:
        """A fault where a rule does not hold."""
        if not holds:
            self.fail(rule, message)

    # -- memory

    def allocate(self, shape: Any, dtype: Any, space: str, name: str = "") -> NkiTensor:
        """A new tensor."""
        sizes = tuple(number_of(n) for n in (shape if isinstance(shape, Sequence) else (shape,)))
        try:
            kind = dtype_name(dtype)
        except (KeyError, TypeError):
            self.fail("dtype", f"there is no data type {dtype!r}")
        title = (
            name or self.names.get((self.file, self.line), "") or f"{space}{len(self.trace.tiles)}"
        )
        self.require(bool(sizes) and min(sizes) > 0, "shape", f"{title} cannot be of shape {sizes}")
        if space != HBM:
            self.require(
                sizes[0] <= PARTITIONS, "partitions", f"{title} would have {sizes[0]} partitions"
            )
        storage = Storage(title, space, sizes, kind, self.fail, values=self.holds(sizes, kind))
        if space != HBM:
            slot = self.loops[-1].slot() if len(self.loops) > 1 else None
            tile = Tile(title, space, storage.bytes, self.line, storage.accesses, slot)
            self.trace.tiles.append(tile)
        return NkiTensor.whole(storage)  # type: ignore[return-value]

    def argument(self, name: str, array: Array) -> NkiTensor:
        """An argument in HBM."""
        kind = dtype_name(array.dtype)
        held = self.holds(array.shape, kind)
        storage = Storage(name, HBM, array.shape, kind, self.fail, array, held)
        return NkiTensor.whole(storage)  # type: ignore[return-value]

    def holds(self, shape: Sequence[int], dtype: str) -> bool:
        """Whether a tensor has elements: where the core does not compute, few integers have them."""
        return self.computes or (dtype not in FLOATS and prod(shape) <= _FEW)

    def read(self, tensor: Tensor) -> Array:
        """The elements, all of them written."""
        if not tensor.written():
            at = ", ".join(map(str, tensor.first_unwritten()))
            self.fail("unwritten", f"{tensor} is read before element [{at}] is written")
        return tensor.values()

    def f32(self, tensor: Tensor) -> Array:
        """The elements as float32."""
        return to_f32(self.read(tensor))

    def write(self, tensor: Tensor, values: Any) -> None:
        """Store float32 results, rounded, or elements of the tensor's own dtype as they are."""
        if not all(s or n == 1 for s, n in zip(tensor.steps, tensor.shape, strict=True)):
            self.fail("shape", f"{tensor} repeats elements: it cannot be written")
        out = np.asarray(values)
        held = tensor.values()
        if tensor.dtype == "tfloat32" or (out.dtype != held.dtype and tensor.dtype not in FLOATS):
            out = from_f32(out, tensor.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            held[...] = out.reshape(tensor.shape) if out.size == tensor.size else out
        tensor.mark()

    # -- operands

    def tile(self, value: Any, what: str, *spaces: str) -> Tensor:
        """A tile operand in one of these memories (SBUF and PSUM where none is named)."""
        if not isinstance(value, Tensor):
            self.fail("signature", f"{what} is a tile, not {type(value).__name__}")
        allowed = spaces or (SBUF, PSUM)
        if value.buffer not in allowed:
            self.fail("memory", f"{what} {value} is not in {' or '.join(allowed)}")
        count, first = value.shape[0], value.partition
        if count > PARTITIONS:
            self.fail("partitions", f"{what} {value} has {count} partitions")
        step = 32 if count <= 32 else 64 if count <= 64 else PARTITIONS
        if first % step:
            self.fail("start-partition", f"{what} {value}: {count} partitions start at {first}")
        if len(value.shape) > 5 and _free_dims(value) > 4:
            self.fail("free-pattern", f"{what} {value} has {_free_dims(value)} free dimensions")
        return value

    def alike(self, dst: Tensor, *others: Tensor) -> None:
        """As many partitions, and elements in each, as the result has."""
        for other in others:
            if other.shape[0] != dst.shape[0]:
                self.fail("partitions", f"{other} has not the partitions of {dst}")
            if other.free != dst.free:
                self.fail("shape", f"{other} has not the elements of {dst} in a partition")

    def vector(self, value: Any, data: Tensor, what: str, any_float: bool = False) -> Any:
        """A scalar or a column [partitions, 1]: the number, or float32 [partitions, 1]."""
        if isinstance(value, Tensor):
            self.tile(value, what)
            if value.shape[0] != data.shape[0] or value.free != 1:
                self.fail("operand", f"{what} {value} is no column for {data}")
            if value.dtype != "float32" and not (any_float and value.dtype in FLOATS):
                self.fail("operand", f"{what} {value} is not float32")
            return self.f32(value).reshape(-1, 1) if self.values else None
        if not isinstance(value, (int, float, np.integer, np.floating)):
            self.fail("signature", f"{what} is a number or a tile, not {type(value).__name__}")
        return np.float32(value)

    def pick(self, engine: Any, allowed: Sequence[str], *tiles: Tensor) -> str:
        """The engine of an instruction: the one asked for, or the first that reaches every tile."""
        if not isinstance(engine, Engine):
            self.fail("signature", f"engine is a nisa.engine, not {engine!r}")
        in_psum = [t for t in tiles if t.buffer == PSUM]
        if engine is Engine.unknown:
            return next(q for q in allowed if q != "Pool" or not in_psum)
        if engine.value not in allowed:
            self.fail(
                "engine", f"it does not run on nisa.engine.{engine.name} ({', '.join(allowed)})"
            )
        if engine is Engine.gpsimd and in_psum:
            self.fail("memory", f"GpSimd cannot reach {in_psum[0]}")
        return str(engine.value)

    # -- time

    @property
    def awaits_registers(self) -> bool:
        """Whether an operand of the instruction at hand begins at a register."""
        return bool(self.awaited)

    def run(
        self,
        queue: str,
        cycles: float,
        reads: Sequence[Any],
        writes: Sequence[Tensor],
        name: str = "",
    ) -> None:
        """Note an instruction of a compute engine that takes it for so many cycles of its clock."""
        clock = self.machine.clocks[queue]
        depth = PE_DEPTH if queue == "PE" else MIN_CYCLES
        tiles = tuple(t for t in reads if isinstance(t, Tensor))
        ports: tuple[str, ...] = ()
        if self.version == 2 and queue != "PE":
            spaces = {t.buffer for t in (*tiles, *writes)}
            shared = ((SBUF, ("DVE", "Pool")), (PSUM, ("DVE", "ACT")))
            ports = tuple(space for space, queues in shared if space in spaces and queue in queues)
        self.issue(
            queue, cycles / clock, depth / clock, tiles, tuple(writes), ports=ports, name=name
        )

    def issue(
        self,
        queue: str,
        busy: float,
        latency: float,
        reads: tuple[Tensor, ...],
        writes: tuple[Tensor, ...],
        rows: Rows | None = None,
        ports: tuple[str, ...] = (),
        name: str = "",
    ) -> int:
        """Note an instruction, which waits for the registers that it goes by; its number."""
        awaited = {n for n in self.awaited if n >= 0}.union(*(loop.after for loop in self.loops))
        self.awaited.clear()
        title = name or self.doing
        return self.trace.issue(
            title, queue, self.line, busy, latency, reads, writes, rows, ports, awaited
        )


def _free_dims(tensor: Tensor) -> int:
    """The free dimensions of an access, those that lie one after another taken as one."""
    count, reach = 0, -1
    for n, step in zip(reversed(tensor.shape[1:]), reversed(tensor.steps[1:]), strict=True):
        if n == 1:
            continue
        if step != reach:
            count += 1
        reach = step * n
    return count
