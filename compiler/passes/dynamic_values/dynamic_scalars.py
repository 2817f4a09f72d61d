"""Scalars that only the machine knows are handed on as tiles of one number.

Before (tests/ir/dynamic-scalars/example.tir):

    s = for i in range(0, N, 1) carry (t : i32 = i32(0)) {
      %x = load @x[i!, 0 : +8!] : i32[8]
      %top = reduce max %x, axis=0 : i32[]
      yield t + read(%top)
    }
    %s = full s : i32[8]
    store @y[0 : +8!], %s

After, where loops and branches hand on tiles alone:

    %t = full i32(0) : i32[]
    %s_1 = for i in range(0, N, 1) carry (%t_1 : i32[] = %t) {
      %x = load @x[i!, 0 : +8!] : i32[8]
      %top = reduce max %x, axis=0 : i32[]
      %s = full read(%t_1) + read(%top) : i32[]
      yield %s
    }
    %s_2 = full read(%s_1) : i32[8]
    store @y[0 : +8!], %s_2

A scalar is dynamic where it is computed from an element of a tile, by an operation that only the
machine has, from the counter of a loop that only the machine can bound, and where such a loop or branch
hands it on. An index becomes an i32.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from dslc.compiler.dtypes import BF16, F16, F32, F64, I32, INDEX
from dslc.compiler.ir import Kernel, TileProgram, TileType, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter, map_kernels
from dslc.compiler.ir.traverse import Body, Name, Use, handed, walk


@dataclass(frozen=True, slots=True)
class DynamicScalars:
    """Makes tiles of the dynamic scalars that loops and branches hand on."""

    name: ClassVar[str] = "dynamic-scalars"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program in which every scalar that is handed on is known when a kernel is traced."""
        return map_kernels(program, _kernel)


def _kernel(kernel: Kernel) -> Kernel:
    dynamic = dynamic_scalars(kernel.body, counters=True)
    names = [n for s in walk(kernel.body) for h in handed(s) for n in (h.result,)]
    return _Tiles(dynamic).kernel(kernel) if dynamic.intersection(names) else kernel


def is_dynamic(use: Use, dynamic: Collection[Name]) -> bool:
    """Whether a scalar is computed from an element of a tile, from one of those that are dynamic, or by
    what the machine alone has.
    """
    if isinstance(use, Value):
        return False
    return any(_is_read(n) or n in dynamic or _of_the_machine(n) for n in ex.walk(use))


def _is_read(e: ex.Expr) -> bool:
    return isinstance(e, ex.Read)


def _of_the_machine(e: ex.Expr) -> bool:
    """Codes of small floats, and powers of integers whose exponents are no constants."""
    match e:
        case ex.Convert(dtype=dtype):
            return dtype.is_float and dtype not in (F16, BF16, F32, F64)
        case ex.Binary(op="pow", y=y, dtype=dtype):
            known = isinstance(y, ex.Const) and y.value >= 0
            return dtype.is_integer and dtype != INDEX and not known
    return False


def dynamic_scalars(body: Body, *, counters: bool = False) -> set[Name]:
    """The scalars that only the machine knows; with `counters` those of its loops too."""
    dynamic: set[Name] = set()
    before = -1
    while len(dynamic) > before:
        before = len(dynamic)
        for stmt in walk(body):
            counted = False
            match stmt:
                case ins.Let(var=var, value=value) if is_dynamic(value, dynamic):
                    dynamic.add(var)
                case ins.For(var=var, start=start, stop=stop, step=step):
                    counted = any(is_dynamic(x, dynamic) for x in (start, stop, step))
                    if counted and counters:
                        dynamic.add(var)
                case ins.While(condition=condition) | ins.If(condition=condition):
                    counted = is_dynamic(condition, dynamic)
            for h in handed(stmt):
                uses = (h.init, h.yielded) if isinstance(h, ins.Carried) else (h.then, h.otherwise)
                scalar = isinstance(h.result, ex.Var)
                if scalar and (
                    counted or h.result in dynamic or any(is_dynamic(x, dynamic) for x in uses)
                ):
                    dynamic.add(h.result)
                    if isinstance(h, ins.Carried):
                        dynamic.add(h.inner)
    return dynamic


class _Tiles(Rewriter):
    def __init__(self, dynamic: set[Name]) -> None:
        super().__init__()
        self._dynamic = dynamic
        self._tiles: dict[Name, Value] = {}

    def var(self, var: ex.Var) -> ex.Expr:
        """The number in the tile that stands for a scalar."""
        if var not in self._tiles:
            return var
        read = ex.Read(self._tiles[var])
        return ex.Convert(read, INDEX) if var.dtype == INDEX else read

    def define(self, name: Name) -> Name:
        """The tile of a scalar that is handed on; names of `Let` and counters stay."""
        return self._tiles.get(name, name)

    def nested(self, stmt: Stmt, which: int, uses: list[Use]) -> tuple[Body, list[Use]]:
        """A body, at the end of which what it hands on is made."""
        body, handed_on = super().nested(stmt, which, uses)
        if isinstance(stmt, ins.While) and which == 0:
            return body, handed_on
        given = [self._given(h.result, use) for h, use in zip(handed(stmt), handed_on, strict=True)]
        return (*body, *(s for s, _ in given if s is not None)), [use for _, use in given]

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """The statement behind what it is handed at first."""
        for h in handed(stmt):
            for name in (h.result, h.inner) if isinstance(h, ins.Carried) else (h.result,):
                if isinstance(name, ex.Var) and name in self._dynamic:
                    dtype = I32 if name.dtype == INDEX else name.dtype
                    self._tiles[name] = Value(TileType(dtype, ()), name.name)
        rebuilt = self.rebuild(stmt)
        if not isinstance(rebuilt, ins.For | ins.While):
            return (rebuilt,)
        given = [self._given(c.inner, c.init) for c in rebuilt.carried]
        carried = [replace(c, init=use) for c, (_, use) in zip(rebuilt.carried, given, strict=True)]
        first = [s for s, _ in given if s is not None]
        return (*first, replace(rebuilt, carried=tuple(carried)))

    def _given(self, name: Name, use: Use) -> tuple[Stmt | None, Use]:
        """What a name that is a tile now is handed: a tile as well, and the statement that makes it."""
        tile = self._tiles.get(name) if isinstance(name, ex.Var) else name
        if isinstance(use, Value) or not isinstance(tile, Value):
            return None, use
        dtype = tile.type.dtype
        value = use if use.dtype == dtype else ex.Convert(use, dtype)
        filled = Value(tile.type, tile.name)
        return ins.Full(filled, value), filled
