"""Scratch memory of a call, and addresses by strength reduction: pointers that loops move on."""

from __future__ import annotations

from abc import abstractmethod

from dslc.codegen.aarch64.chunks.formats import Format
from dslc.codegen.aarch64.machine_code.blocks import Reg
from dslc.codegen.aarch64.machine_code.stream import Scope, Stream
from dslc.codegen.aarch64.places import Array, InRegisters, Loops
from dslc.codegen.chunks.tiles import Tiles
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import Linear, linear, to_expr


class Addresses(Tiles[Reg, Array | InRegisters]):
    """What one kernel knows of memory: its scratch, the loops around, scalars in registers."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.s = Stream()
        self.loops: dict[Scope, Loops] = {}
        self.scratch_bytes = 0
        self.scratch = self.s.general()

    @property
    def level(self) -> int:
        """The loops around what is written next."""
        return self.s.level

    def forget(self) -> None:
        """Memory changed: no chunk of a tile is known any longer."""
        self.s.forget("tile")

    @abstractmethod
    def integer(self, expr: ex.Expr) -> Reg:
        """An integer expression in a general register."""

    # Scratch memory

    def array(self, form: Format, shape: tuple[int, ...], alias: object) -> Array:
        """Fresh scratch memory for a tile, row-major."""
        strides: list[Linear] = []
        step = 1
        for extent in reversed(shape):
            strides.insert(0, Linear(constant=step))
            step *= extent
        at = self.reserve(step * form.bits // 8)
        return Array(self.scratch, at, form, tuple(map(ex.index, shape)), tuple(strides), alias)

    def reserve(self, size: int) -> int:
        """Bytes of scratch memory; gives their offset, a multiple of 64."""
        at = self.scratch_bytes
        self.scratch_bytes += -(-size // 64) * 64
        return at

    # Addresses

    def address(self, array: Array, element: Linear, size: int) -> tuple[Reg, int]:
        """A register and a distance that a load of `size` bytes takes, for an element of an array."""
        form = element.scale(array.form.bits // 8) + Linear(constant=array.offset)
        near = form.constant
        reach = 4096 * size if near % size == 0 else 256
        if not (-256 <= near < 256 or 0 <= near < reach):
            near %= reach
        return self._pointer(array.base, form + Linear(constant=-near)), near

    def pointer(self, array: Array, element: Linear) -> Reg:
        """The address of an element in a register."""
        form = element.scale(array.form.bits // 8) + Linear(constant=array.offset)
        return self._pointer(array.base, form)

    def _pointer(self, base: Reg, form: Linear) -> Reg:
        if form.is_constant and not form.constant:
            return base
        expr = to_expr(form)
        key = ("pointer", base, expr)
        remembered = self.s.recall(key)
        if isinstance(remembered, Reg):
            return remembered
        level = self.level_of(expr)
        if level < self.s.level:
            with self.s.ahead_of(level):
                return self._pointer(base, form)
        advanced = self._advancing(base, form)
        if advanced is not None:
            return advanced
        return self.s.remember(key, self._sum(base, form))

    def _sum(self, base: Reg, form: Linear) -> Reg:
        if form.is_constant and 0 <= form.constant < 4096:
            return self.s.x(f"add {{0}}, {{1}}, #{form.constant}", base)
        return self.s.x("add {0}, {1}, {2}", base, self.integer(to_expr(form)))

    def _advancing(self, base: Reg, form: Linear) -> Reg | None:
        """A pointer that the innermost loop moves on by one distance in each iteration, if it does."""
        scope = next((s for s in reversed(self.s.scopes) if s in self.loops), None)
        if scope is None or scope.level != self.s.level or scope.latch is None:
            return None
        loop = self.loops[scope]
        expr = to_expr(form)
        if loop.var not in ex.free_vars(expr):
            return None
        nxt = ex.Binary("add", loop.var, loop.step, INDEX)
        stride = linear(ex.substitute(expr, {loop.var: nxt})) - form
        step_expr = to_expr(stride)
        others = ex.free_vars(expr) - {loop.var}
        if loop.var in ex.free_vars(step_expr) or any(
            self.vars[v].level >= scope.level for v in others
        ):
            return None
        first = linear(ex.substitute(expr, {loop.var: loop.start}))
        near = stride.is_constant and abs(stride.constant) < 4096
        with self.s.ahead_of(scope.level - 1):
            pointer = self.s.copy(self._pointer(base, first))
            distance = None if near else self.integer(step_expr)
        saved, self.s.block = self.s.block, scope.latch
        if distance is None:
            op = "add" if stride.constant >= 0 else "sub"
            self.s.into(f"{op} {{0}}, {{1}}, #{abs(stride.constant)}", pointer, pointer)
        else:
            self.s.into("add {0}, {1}, {2}", pointer, pointer, distance)
        self.s.block = saved
        scope.known[("pointer", base, expr)] = pointer
        return pointer

    def stride(self, array: Array, element: Linear) -> int | None:
        """The bytes by which the innermost loop moves on from an element, where that is known."""
        scope = self.s.scope
        loop = self.loops.get(scope)
        if loop is None:
            return None
        nxt = ex.Binary("add", loop.var, loop.step, INDEX)
        moved = linear(ex.substitute(to_expr(element), {loop.var: nxt})) - element
        return moved.constant * array.form.bits // 8 if moved.is_constant else None
