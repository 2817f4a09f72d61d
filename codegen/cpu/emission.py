"""The state of lowering one kernel: scalars, memories, tiles that are still to be computed, blocks.

A tile is computed where it is stored, reduced or multiplied, chunk by chunk: `pull` gives a chunk of
it, pulling what it is made of. So a chain of elementwise operations stays in registers. A tile that is
read in several places is put into the scratch memory of the call first. What does not change in a loop
is computed ahead of it: blocks around the innermost one are still open.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from dslc.codegen.chunks.at import At
from dslc.codegen.cpu.blocks import Blocks
from dslc.codegen.cpu.places import Array, InRegisters, Live, typed
from dslc.codegen.cpu.refusals import without_code
from dslc.compiler.dtypes import DType
from dslc.compiler.ir import Kernel, Memory, Role, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, constant, to_expr
from dslc.compiler.ir.traverse import operands, reads
from dslc.compiler.targets.cpu import Processor
from dslc.compiler.vector.types import VectorType, memory_bytes
from dslc.compiler.vector.values import Operand

Emitter: TypeAlias = "Callable[[Any, Any, At], Operand]"


class Emission(Blocks):
    """One kernel on its way to Vector IR."""

    def __init__(
        self, kernel: Kernel, machine: Processor, pulls: Mapping[type, Emitter], name: str
    ):
        super().__init__(kernel, name)
        self.machine = machine
        self.memories: dict[Memory, Array] = {}
        self.ahead: tuple[ex.Var, int] | None = None  # whose later iteration is prefetched
        self.seen: set[Memory] = set()  # tensors that a turn has gone through before
        self.addresses: dict[Memory, ex.Var] = {}  # of tensors, as numbers
        self.written_once: frozenset[Memory] = frozenset()
        self.terms = False  # what is pulled are factors of sums: -0 is 0 there
        self.streams = False  # a store bypasses the caches
        self.scratch_bytes = 0
        self.scratch: Operand
        self._pulls = pulls

    # Tiles

    def pull(self, value: Value, at: At) -> Operand:
        """A chunk of a tile, computed before the outermost loop that does not change it."""
        key = ("tile", value, at.key(), self.terms)
        found = self.recall(key)
        if found is not None:
            return found
        wanted = max(self._level_of_at(at), self.depth(value))
        level = self._free_level(wanted, value)
        with self.ahead_of(level):
            home = self.homes.get(value)
            if isinstance(home, InRegisters):
                made = self.from_registers(home, at)
            elif home is not None:
                made = self.load_lanes(home, at)
            else:
                stmt = self.lazy[value]
                emitter = self._pulls.get(type(stmt))
                if emitter is None:
                    raise without_code(stmt)
                made = emitter(self, stmt, at)
            return self.remember(key, made)

    @abstractmethod
    def load_lanes(self, array: Array, at: At) -> Operand:
        """A chunk from memory."""

    @abstractmethod
    def drive(self, i: ins.Dot, value: Value, array: Array) -> None:
        """The tile `value`, made of a product element by element, to memory."""

    @abstractmethod
    def body(self, body: tuple[ins.Stmt, ...]) -> None:
        """Statements one after another."""

    @staticmethod
    def from_registers(home: InRegisters, at: At) -> Operand:
        """A chunk of a tile in registers, which is one of those it is in."""
        away = [x - o for x, o in zip(at.base, home.origin, strict=True)]
        assert all(x.is_constant for x in away), "tiles in registers are read at known places"
        lanes = tuple(
            tuple(x.constant + d for x, d in zip(away, lane, strict=True)) for lane in at.lanes
        )
        return home.chunks[lanes]

    def _level_of_at(self, at: At) -> int:
        level = max((self.level_of(to_expr(b)) for b in at.base if not b.is_constant), default=0)
        return max(level, at.live.level) if isinstance(at.live, Live) else level

    def _free_level(self, wanted: int, value: Value) -> int:
        """The level, or the nearest to it that a tile may be computed at."""
        here = self.level
        while here > wanted:
            scope = self.scopes[here]
            if scope.fixed or (scope.maybe and not self._in_scratch(value)):
                break
            here -= 1
        return here

    def _in_scratch(self, value: Value) -> bool:
        """Whether nothing that a tile is made of is read from a tensor."""
        if value in self.homes:
            return True
        stmt = self.lazy[value]
        return not isinstance(stmt, ins.Load) and all(map(self._in_scratch, operands(stmt)))

    def tensors_of(self, value: Value) -> set[Memory]:
        """The tensors that computing a tile reads."""
        found: set[Memory] = set()
        stack = [value]
        while stack:
            x = stack.pop()
            if x not in self.homes:
                stmt = self.lazy[x]
                found |= {r.memory for r in reads(stmt) if r.memory.role is Role.IN}
                stack += operands(stmt)
        return found

    @contextmanager
    def again(self, value: Value, *, computing: bool) -> Iterator[None]:
        """Code that goes through a tile; a second time, `computing`, it prefetches the next turn's.

        So memory works while the turn computes on what the caches hold. Where little is computed, or
        the turn has loops of its own, the CPU's own prefetching does better.
        """
        tensors = self.tensors_of(value)
        if computing and tensors & self.seen and self.kernel.grid and self.level == 1:
            axis = self.kernel.grid[-1]
            step = constant(axis.step)
            if isinstance(step, int):
                self.ahead = (axis.var, step)
        yield
        self.ahead = None
        self.seen |= tensors

    # Shapes

    def spread(self, value: Value, at: At) -> Operand:
        """A chunk whose lanes may all be one element, which is computed once then."""
        if at.count > 1 and len(set(at.lanes)) == 1:
            return self.b.broadcast(self.pull(value, At(at.base, at.lanes[:1])), at.count)
        return self.pull(value, at)

    def singly(self, at: At) -> list[At]:
        """The lanes of a chunk, each a chunk of its own that counts where the lane does."""
        found = []
        for k, lane in enumerate(at.lanes):
            live = at.live
            if isinstance(live, Live):
                live = Live(self.b.extract(live.mask, k), self.level)
            found.append(At(at.base, (lane,), live))
        return found

    def one_by_one(self, value: Value, ats: list[At]) -> Operand:
        """Lanes that come from unrelated places, each pulled by itself."""
        out = self.b.operand(0, typed(value.type.dtype, len(ats)))
        for k, at in enumerate(ats):
            out = self.b.insert(out, self.pull(value, at), k)
        return out

    # Scratch memory

    def array(self, dtype: DType, shape: tuple[int, ...], *, pad: int = 0) -> Array:
        """Fresh scratch memory for a tile, row-major; rows may be `pad` elements apart."""
        strides: list[Linear] = []
        step = 1
        for axis, extent in reversed(list(enumerate(shape))):
            strides.insert(0, Linear(constant=step))
            step *= extent
            if axis == len(shape) - 1:
                step += pad
        at = self.reserve(step * memory_bytes(VectorType(dtype)))
        sizes = tuple(map(ex.index, shape))
        return Array(self.scratch, at, dtype, sizes, tuple(strides), align=64)

    def reserve(self, size: int) -> int:
        """Bytes of scratch memory; gives their offset, a multiple of 64."""
        at = self.scratch_bytes
        self.scratch_bytes += -(-size // 64) * 64
        return at
