"""The part of the builder that reaches memory."""

from __future__ import annotations

from dslc.compiler.dtypes import DType, parse_dtype
from dslc.compiler.vector import memory_instructions as mem
from dslc.compiler.vector.building.registers import Given, RegisterBuilder, vector_type
from dslc.compiler.vector.types import POINTER, Type, VectorType
from dslc.compiler.vector.values import Constant, Operand, Register, index


class AccessBuilder(RegisterBuilder):
    """Addresses are a pointer and an offset in bytes, a number or a scalar of dtype index."""

    def advance(self, pointer: Operand, offset: Given) -> Operand:
        """The pointer so many bytes further on."""
        offset = self.offset(offset)
        if offset == index(0):
            return pointer
        return self.append_result(mem.Advance(Register(POINTER), pointer, offset, loc=self.loc))

    def allocate(self, size: int, align: int = 64) -> Operand:
        """Memory of the function's own."""
        return self.append_result(mem.Allocate(Register(POINTER), size, align, loc=self.loc))

    def table(self, data: Constant) -> Operand:
        """A pointer to constant numbers."""
        return self.append_result(mem.Table(Register(POINTER), data, loc=self.loc))

    def load(
        self,
        pointer: Operand,
        offset: Given,
        type_: Type,
        *,
        mask: Operand | None = None,
        fill: Operand | None = None,
        align: int = 1,
        nontemporal: bool = False,
        name: str = "",
    ) -> Operand:
        """Consecutive elements."""
        at = self.offset(offset)
        out = Register(type_, name)
        return self.append_result(
            mem.Load(out, pointer, at, mask, fill, align, nontemporal, loc=self.loc)
        )

    def load_packed(
        self, pointer: Operand, offset: Given, type_: VectorType, *, align: int = 1
    ) -> Operand:
        """Codes of fewer than 8 bits, bit by bit."""
        at = self.offset(offset)
        return self.append_result(mem.LoadPacked(Register(type_), pointer, at, align, loc=self.loc))

    def load_strided(
        self,
        pointer: Operand,
        offset: Given,
        stride: Given,
        type_: VectorType,
        *,
        mask: Operand | None = None,
        fill: Operand | None = None,
        align: int = 1,
    ) -> Operand:
        """Elements `stride` bytes apart."""
        at, by = (self.offset(x) for x in (offset, stride))
        out = Register(type_)
        return self.append_result(
            mem.LoadStrided(out, pointer, at, by, mask, fill, align, loc=self.loc)
        )

    def gather(
        self,
        pointer: Operand,
        offset: Given,
        at: Operand,
        dtype: DType,
        *,
        scale: int,
        mask: Operand | None = None,
        fill: Operand | None = None,
        align: int = 1,
    ) -> Operand:
        """Elements at offset + at[i] * scale bytes."""
        start, out = self.offset(offset), Register(vector_type(at).of(dtype))
        return self.append_result(
            mem.Gather(out, pointer, start, at, mask, fill, scale, align, loc=self.loc)
        )

    def store(
        self,
        pointer: Operand,
        offset: Given,
        value: Operand,
        *,
        mask: Operand | None = None,
        align: int = 1,
        nontemporal: bool = False,
    ) -> None:
        """Consecutive elements."""
        at = self.offset(offset)
        self.append(mem.Store(pointer, at, value, mask, align, nontemporal, loc=self.loc))

    def store_packed(
        self, pointer: Operand, offset: Given, value: Operand, *, align: int = 1
    ) -> None:
        """Codes of fewer than 8 bits, bit by bit."""
        at = self.offset(offset)
        self.append(mem.StorePacked(pointer, at, value, align, loc=self.loc))

    def store_strided(
        self,
        pointer: Operand,
        offset: Given,
        stride: Given,
        value: Operand,
        *,
        mask: Operand | None = None,
        align: int = 1,
    ) -> None:
        """Elements `stride` bytes apart."""
        at, by = (self.offset(x) for x in (offset, stride))
        self.append(mem.StoreStrided(pointer, at, by, value, mask, align, loc=self.loc))

    def scatter(
        self,
        pointer: Operand,
        offset: Given,
        at: Operand,
        value: Operand,
        *,
        scale: int,
        mask: Operand | None = None,
        align: int = 1,
    ) -> None:
        """Elements to offset + at[i] * scale bytes."""
        start = self.offset(offset)
        self.append(mem.Scatter(pointer, start, at, value, mask, scale, align, loc=self.loc))

    def prefetch(
        self, pointer: Operand, offset: Given, *, write: bool = False, locality: int = 3
    ) -> None:
        """A hint that a cache line will be used."""
        at = self.offset(offset)
        self.append(mem.Prefetch(pointer, at, write, locality, loc=self.loc))

    def atomic(
        self, op: str, pointer: Operand, offset: Given, value: Operand, order: str = "relaxed"
    ) -> Operand:
        """The scalar in memory before it becomes op(it, value)."""
        at = self.offset(offset)
        out = Register(value.type)
        return self.append_result(
            mem.AtomicUpdate(out, op, pointer, at, value, order, loc=self.loc)
        )

    def compare_exchange(
        self,
        pointer: Operand,
        offset: Given,
        expected: Operand,
        value: Operand,
        order: str = "relaxed",
    ) -> Operand:
        """The scalar in memory before it becomes `value`, where it has the bits of what is expected."""
        at, type_ = self.offset(offset), value.type
        assert isinstance(type_, VectorType)
        unsigned = parse_dtype(f"u{type_.dtype.bits}")
        assert unsigned is not None
        bits = type_.of(unsigned)
        old, new = self.bitcast(expected, bits), self.bitcast(value, bits)
        exchange = mem.CompareExchange(Register(bits), pointer, at, old, new, order, loc=self.loc)
        return self.bitcast(self.append_result(exchange), type_)
