"""A view of threads' bits as operations on tiles: into the order of the threads, by shifts, and back.

A layout without replication and swizzles factors each axis of a tile into digits, of the thread's
number or of the element's within it (the Tilus paper, section 4). Split by those digits and transposed,
the tile is [threads, elements]; the bits of each row are those of one thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import lcm, prod

from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.dtypes import I32, U32, DType, parse_dtype
from dslc.compiler.ir import TileType, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt


def view_by_shifts(stmt: ins.View, x: Value, out: Value, *, floats: bool) -> list[Stmt]:
    """What makes `out` of `x`, both without layouts; those of the view's own tiles tell the order.

    With `floats` the bits of one are an integer's by a view without layouts, and back. DSL0540 for
    floats without that, and for layouts that repeat or swizzle.
    """
    dtypes = (x.type.dtype, out.type.dtype)
    if not all(d.is_integer or (floats and d.is_float and d.bits <= 32) for d in dtypes):
        raise _refused(stmt, "integers are taken as integers of another width")
    here, there = _Order.of(stmt, stmt.x.type), _Order.of(stmt, stmt.out.type)
    e = _Expansion(stmt)
    shapes = x.type.shape, out.type.shape
    if here == there and dtypes[0].bits == dtypes[1].bits and shapes[0] == shapes[1]:
        change = ins.View if any(d.is_float for d in dtypes) else ins.Cast
        return [change(out, x, loc=stmt.loc)]
    x = e.bits(x)
    rows = e.reshape(e.transpose(e.reshape(x, here.split), here.axes), (here.threads, -1))
    codes = e.cast_to(
        e.regroup(e.codes(rows), x.type.dtype.bits, out.type.dtype.bits), out.type.dtype
    )
    split = e.reshape(codes, tuple(there.split[a] for a in there.axes))
    back = tuple(there.axes.index(a) for a in range(len(there.axes)))
    e.reshape(e.transpose(split, back), out.type.shape, out)
    return e.found


def _refused(stmt: ins.View, what: str) -> DiagnosticError:
    return error(
        "DSL0540",
        "`view` takes the bits that each thread holds of a tile; this machine has no threads, and "
        f"{what} only: not {stmt.x.type.dtype} as {stmt.out.type.dtype}",
        stmt.loc,
        hint="load the parameter in its own type: low-bit weights are unpacked by the compiler",
    )


@dataclass(frozen=True, slots=True)
class _Order:
    """A tile's axes split into digits, and the digits of thread and element in their order."""

    split: tuple[int, ...]
    axes: tuple[int, ...]
    threads: int

    @classmethod
    def of(cls, stmt: ins.View, kind: TileType) -> _Order:
        """The order of a tile's layout; without one all of it lies in one thread, row-major."""
        layout = kind.layout
        if layout is None:
            return cls(kind.shape, tuple(range(len(kind.shape))), 1)
        modes = (*layout.spatial_modes, *layout.local_modes)
        if layout.swizzles or layout.replication > 1:
            raise _refused(stmt, "layouts that hold each element once are understood,")
        order = sorted(range(len(modes)), key=lambda i: (modes[i].axis, -modes[i].stride))
        split = tuple(modes[i].size for i in order)
        axes = tuple(order.index(i) for i in range(len(modes)))
        return cls(split, axes, prod(m.size for m in layout.spatial_modes))


def _unsigned(bits: int) -> DType:
    dtype = parse_dtype(f"u{bits}")
    assert dtype is not None
    return dtype


@dataclass(slots=True)
class _Expansion:
    stmt: ins.View
    found: list[Stmt] = field(default_factory=list)

    def _new(self, dtype: DType, shape: tuple[int, ...]) -> Value:
        return Value(TileType(dtype, shape), self.stmt.out.name)

    def reshape(self, x: Value, shape: tuple[int, ...], out: Value | None = None) -> Value:
        """The elements in row-major order; -1 is the rest of them."""
        if -1 in shape:
            rest = prod(x.type.shape) // -prod(shape)
            shape = tuple(rest if n == -1 else n for n in shape)
        if out is None and shape == x.type.shape:
            return x
        reshaped = out or self._new(x.type.dtype, shape)
        self.found.append(ins.Reshape(reshaped, x, loc=self.stmt.loc))
        return reshaped

    def transpose(self, x: Value, axes: tuple[int, ...]) -> Value:
        """The axes in another order."""
        if axes == tuple(range(len(axes))):
            return x
        transposed = self._new(x.type.dtype, tuple(x.type.shape[a] for a in axes))
        self.found.append(ins.Transpose(transposed, x, axes, loc=self.stmt.loc))
        return transposed

    def bits(self, x: Value) -> Value:
        """A float's bits as an unsigned integer; integers as they are."""
        return self.seen(x, _unsigned(x.type.dtype.bits)) if x.type.dtype.is_float else x

    def seen(self, x: Value, dtype: DType) -> Value:
        """The bits of each element as another type's."""
        made = self._new(dtype, x.type.shape)
        self.found.append(ins.View(made, x, loc=self.stmt.loc))
        return made

    def codes(self, x: Value) -> Value:
        """Integers' bits as u32."""
        bits = x.type.dtype.bits
        wide = self._cast(x, U32)
        return self._masked(wide, bits) if x.type.dtype.is_signed else wide

    def regroup(self, x: Value, old: int, new: int) -> Value:
        """Rows of codes of `old` bits, cut into codes of `new` bits."""
        if old == new:
            return x
        period = lcm(old, new)
        rows, count = x.type.shape
        groups = count * old // period
        grouped = self.reshape(x, (rows, groups, period // old))
        parts = [self._part(grouped, j, old, new) for j in range(period // new)]
        shaped = [self.reshape(p, (rows, groups, 1)) for p in parts]
        if len(shaped) == 1:
            return self.reshape(shaped[0], (rows, groups))
        regrouped = self._new(U32, (rows, groups, len(shaped)))
        self.found.append(ins.Concat(regrouped, tuple(shaped), 2, loc=self.stmt.loc))
        return self.reshape(regrouped, (rows, -1))

    def _part(self, x: Value, number: int, old: int, new: int) -> Value:
        """One code of each period: the pieces of those that it overlaps."""
        first, found = number * new, None
        for i in range(first // old, -(-(first + new) // old)):
            piece = self._extract(x, i)
            shift = i * old - first
            if shift:
                op = "shl" if shift > 0 else "shr"
                piece = self._with_number(op, piece, abs(shift))
            found = piece if found is None else self._binary("or", found, piece)
        assert found is not None
        return self._masked(found, new)

    def _extract(self, x: Value, i: int) -> Value:
        extracted = self._new(U32, x.type.shape[:2])
        self.found.append(ins.Extract(extracted, x, (0, 0, i), (1, 1, 1), (2,), loc=self.stmt.loc))
        return extracted

    def cast_to(self, x: Value, dtype: DType) -> Value:
        """Codes as elements of a type, signed integers by their top bit."""
        if dtype.is_float:
            return self.seen(self._cast(x, _unsigned(dtype.bits)), dtype)
        if not dtype.is_signed or dtype.bits == 32:
            return self._cast(x, dtype)
        top = 1 << (dtype.bits - 1)
        turned = self._with_number("xor", self._cast(x, I32), top)
        return self._cast(self._with_number("sub", turned, top), dtype)

    def _masked(self, x: Value, bits: int) -> Value:
        return x if bits >= 32 else self._with_number("and", x, (1 << bits) - 1)

    def _with_number(self, op: str, x: Value, number: int) -> Value:
        constant = self._new(x.type.dtype, x.type.shape)
        self.found.append(ins.Full(constant, ex.Const(number, x.type.dtype), loc=self.stmt.loc))
        return self._binary(op, x, constant)

    def _binary(self, op: str, x: Value, y: Value) -> Value:
        result = self._new(x.type.dtype, x.type.shape)
        self.found.append(ins.Binary(result, op, x, y, loc=self.stmt.loc))
        return result

    def _cast(self, x: Value, dtype: DType) -> Value:
        if x.type.dtype == dtype:
            return x
        converted = self._new(dtype, x.type.shape)
        self.found.append(ins.Cast(converted, x, loc=self.stmt.loc))
        return converted
