"""One walk over a function: registers become those of native dtypes, instructions what a machine has.

%x = load %p[0] : f8e4m3x16           %x = load %p[0] : u8x16
%y = mul %x, %x : f8e4m3x16           ... %x as f32, by its bits: %w
%z = mul %w, %w : f32x16
... %z rounded to a code, by its bits
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dslc.compiler.dtypes import BOOL, TF32, U8, DType, Kind
from dslc.compiler.ir.expr import COMPARE_OPS
from dslc.compiler.vector import instructions as ins
from dslc.compiler.vector import memory_instructions as mem
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.function import Block, For, Function, If, Module, Parameter, Stmt, While
from dslc.compiler.vector.legal import integers
from dslc.compiler.vector.legal.accesses import MEMORY_RULES, exchanged
from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.legal.capabilities import Capabilities
from dslc.compiler.vector.legal.containers import (
    contained,
    contained_constant,
    container,
    masked,
    wrapped,
)
from dslc.compiler.vector.legal.conversions import converted
from dslc.compiler.vector.legal.fused import fused
from dslc.compiler.vector.legal.packed import load_packed, store_packed, unpacked
from dslc.compiler.vector.legal.rules import REGISTER_RULES, halved
from dslc.compiler.vector.legal.small_floats import from_number, to_number
from dslc.compiler.vector.legal.unrolling import unroll
from dslc.compiler.vector.traverse import shape, with_operands
from dslc.compiler.vector.types import PointerType
from dslc.compiler.vector.values import Constant, Operand, Register

_RULES = {**REGISTER_RULES, **MEMORY_RULES}


def legalise(module: Module, capabilities: Capabilities) -> Module:
    """The module with the same results, in instructions that a machine of these capabilities has."""
    own: dict[str, Function] = {}
    functions = [Legaliser(f, capabilities, own).run() for f in module.functions]
    return Module((*own.values(), *functions))


def _is_held_otherwise(dtype: DType) -> bool:
    """Whether the container's operations are not those of the dtype."""
    return container(dtype) != dtype or dtype == TF32


def vector_dtype(x: Operand) -> DType | None:
    """The dtype of an operand; None of a pointer."""
    return None if isinstance(x.type, PointerType) else x.type.dtype


class Legaliser:
    """Legalises one function; `held` are the operands that stand for its registers."""

    def __init__(
        self, function: Function, capabilities: Capabilities, own: dict[str, Function]
    ) -> None:
        self.function = function
        self.held: dict[Register, Operand] = {}
        self.copying = False  # whether the body under way is written more than once
        self.b = LegalBuilder(function.name, capabilities, _RULES, function.exported)
        self.b.own_functions = own

    def run(self) -> Function:
        """The function, legal."""
        params = tuple(self.parameter(p) for p in self.function.params)
        self.body(self.function.body)
        return replace(self.function, params=params, body=self.b.whole_body())

    def parameter(self, parameter: Parameter) -> Parameter:
        """A parameter in its container."""
        return replace(parameter, register=self.renewed(parameter.register))

    def renewed(self, register: Register) -> Register:
        """A register of its container for it; itself where that is the same and written once."""
        new = self.own(register)
        self.held[register] = new
        return new

    def own(self, register: Register) -> Register:
        """What an instruction over containers writes in its place."""
        type_ = contained(register.type)
        if type_ == register.type and not self.copying:
            return register
        return Register(type_, register.name)

    def read(self, x: Operand) -> Operand:
        """What stands for an operand."""
        return contained_constant(x) if isinstance(x, Constant) else self.held[x]

    def reads(self, xs: Sequence[Operand]) -> tuple[Operand, ...]:
        """What stands for several."""
        return tuple(map(self.read, xs))

    def body(self, stmts: Sequence[Stmt]) -> None:
        """Append statements, one after another."""
        for stmt in stmts:
            self.b.loc = stmt.loc
            self.statement(stmt)

    def block(self, block: Block) -> Block:
        """A block, apart from the body under way."""
        self.b.bodies.append([])
        self.body(block.body)
        yields = self.reads(block.yields)
        return Block(tuple(self.b.bodies.pop()), yields)

    def statement(self, stmt: Any) -> None:
        """Append a statement."""
        match stmt:
            case For() | While() | If():
                self.control(stmt)
                return
            case mem.StorePacked():
                pointer, offset, x = self.reads((stmt.pointer, stmt.offset, stmt.value))
                dtype = vector_type(stmt.value).dtype
                store_packed(self.b, pointer, offset, x, dtype, stmt.align)
                return
        found = self.special(stmt)
        if found is None:
            found = self.plain(stmt)
        if found is not None:
            self.held[stmt.out] = found

    def control(self, stmt: For | While | If) -> None:
        """Append a loop or a branch."""
        if isinstance(stmt, For) and stmt.unroll > 1:
            unroll(self, stmt)
            return
        new: dict[str, Any] = {}
        if isinstance(stmt, If):
            new["condition"] = self.read(stmt.condition)
            new |= {"then": self.block(stmt.then), "otherwise": self.block(stmt.otherwise)}
        else:
            new["starts"] = self.reads(stmt.starts)
            if isinstance(stmt, For):
                new |= {"begin": self.read(stmt.begin), "end": self.read(stmt.end)}
                new["var"] = self.renewed(stmt.var)
            new["carried"] = tuple(map(self.renewed, stmt.carried))
            if isinstance(stmt, While):
                new["test"] = self.block(stmt.test)
            new["block"] = self.block(stmt.block)
        new["outs"] = tuple(map(self.renewed, stmt.outs))
        self.b.append(replace(stmt, **new))

    def plain(self, stmt: Any) -> Operand | None:
        """The instruction over containers, which the builder's rules legalise."""
        new: Any = with_operands(stmt, self.read)
        if not shape(type(stmt)).has_result:
            if isinstance(stmt, _STORES) and vector_dtype(stmt.value) == BOOL:
                new = replace(new, value=self.b.convert(new.value, U8))
            if (rule := MEMORY_RULES.get(type(stmt))) is not None and rule(self.b, new) is not None:
                return None
            self.b.append(new)
            return None
        out = self.own(stmt.out)
        if out is not stmt.out:
            new = replace(new, out=out)
        return self.b.folded(new) if isinstance(new, _FOLDABLE) else self.b.append_result(new)

    # Instructions whose meaning the container does not tell

    def special(self, stmt: Any) -> Operand | None:
        """The result of an instruction over a dtype that its container is not; else None."""
        match stmt:
            case ins.Convert() if not stmt.in_range:
                return self.convert(stmt)
            case ins.Convert():
                dst = vector_type(stmt.out).dtype
                x = to_number(self.b, self.read(stmt.x), vector_type(stmt.x).dtype)
                return wrapped(self.b, self.b.convert(x, container(dst), in_range=True), dst)
            case ins.Nearest():
                dst = vector_type(stmt.out).dtype
                x = to_number(self.b, self.read(stmt.x), vector_type(stmt.x).dtype)
                return self.b.nearest(x, container(dst))
            case ins.Dot():
                return self.dot(stmt)
            case mem.LoadPacked():
                pointer, offset = self.reads((stmt.pointer, stmt.offset))
                return load_packed(self.b, pointer, offset, vector_type(stmt.out), stmt.align)
            case mem.AtomicUpdate():
                return self.atomic(stmt)
        if not shape(type(stmt)).has_result or isinstance(stmt.out.type, PointerType):
            return None
        operand = getattr(stmt, "x", stmt.out)
        if isinstance(operand.type, PointerType):
            return None
        dtype = vector_type(operand).dtype
        match stmt:
            case ins.Bitcast():
                return self.bitcast(stmt)
            case ins.Unary() if _is_held_otherwise(dtype):
                return self.unary(stmt.op, self.read(stmt.x), dtype)
            case ins.Binary() if _is_held_otherwise(dtype):
                return self.binary(stmt.op, self.read(stmt.x), self.read(stmt.y), dtype)
            case ins.Fma() if _is_held_otherwise(dtype):
                return self.fma(stmt, dtype)
            case ins.Reduce() if _is_held_otherwise(dtype):
                x = self.read(stmt.x)
                return halved(self.b, x, lambda p, q: self.binary(stmt.op, p, q, dtype))
        return self.loaded(stmt, dtype)

    def convert(self, stmt: ins.Convert) -> Operand:
        """Of every dtype."""
        src, dst = vector_type(stmt.x).dtype, vector_type(stmt.out).dtype
        return converted(self.b, self.read(stmt.x), src, dst, stmt.saturate)

    def bitcast(self, stmt: ins.Bitcast) -> Operand:
        """Bits above a code do not stay."""
        dtype = vector_type(stmt.out).dtype
        if dtype.bits < 8 and vector_type(stmt.x).count != vector_type(stmt.out).count:
            return unpacked(self.b, self.read(stmt.x), vector_type(stmt.out))
        found = self.b.bitcast(self.read(stmt.x), vector_type(stmt.out).of(container(dtype)))
        return masked(self.b, found, dtype)

    def dot(self, stmt: ins.Dot) -> Operand:
        """Operands of bf16 are bits again."""
        a, b = (self.b.bitcast(self.read(x), vector_type(x)) for x in (stmt.a, stmt.b))
        acc = None if stmt.acc is None else self.read(stmt.acc)
        return self.b.append_result(ins.Dot(self.own(stmt.out), stmt.atom, a, b, acc, loc=stmt.loc))

    def atomic(self, stmt: mem.AtomicUpdate) -> Operand | None:
        """Floats that are not of a machine's, and their minima, by a loop."""
        dtype = vector_type(stmt.value).dtype
        held = container(dtype)
        if not dtype.is_float or (held == dtype and stmt.op == "add") or stmt.op == "exchange":
            return None
        new: Any = with_operands(stmt, self.read)
        return exchanged(self.b, new, held, lambda old: self.binary(stmt.op, old, new.value, dtype))

    def loaded(self, stmt: Any, dtype: DType) -> Operand | None:
        """Loads of codes of fewer than 8 bits: the bits above are of no meaning."""
        if not isinstance(stmt, _LOADS) or not (dtype.is_low_bit or dtype == BOOL):
            return None
        if dtype == BOOL:
            return self.loaded_bools(stmt)
        found = self.plain(stmt)
        assert found is not None
        return masked(self.b, found, dtype)

    def loaded_bools(self, stmt: mem.Load | mem.LoadStrided | mem.Gather) -> Operand:
        """Bytes that are not 0."""
        new: Any = with_operands(stmt, self.read)
        fill = None if new.fill is None else self.b.convert(new.fill, U8)
        new = replace(new, out=Register(vector_type(stmt.out).of(U8)), fill=fill)
        return self.b.binary("ne", self.b.append_result(new), 0)

    def unary(self, op: str, x: Operand, dtype: DType) -> Operand:
        """op(x) of a dtype that its container is not."""
        b = self.b
        if dtype.is_integer:
            return wrapped(b, b.unary(op, x), dtype)
        if op in ("neg", "abs") and dtype.kind is Kind.FLOAT and dtype != TF32:
            sign = 1 << (dtype.bits - 1)
            return b.binary("xor", x, sign) if op == "neg" else b.binary("and", x, sign - 1)
        return from_number(b, b.unary(op, to_number(b, x, dtype)), dtype)

    def binary(self, op: str, x: Operand, y: Operand, dtype: DType) -> Operand:
        """op(x, y) of such a dtype."""
        b = self.b
        if dtype.is_float:
            found = b.binary(op, to_number(b, x, dtype), to_number(b, y, dtype))
            return found if op in COMPARE_OPS else from_number(b, found, dtype)
        if op in COMPARE_OPS:
            return b.binary(op, x, y)
        if op in ("shl", "shr"):
            return wrapped(b, integers.shift(b, op, x, y, dtype.bits), dtype)
        return wrapped(b, b.binary(op, x, y), dtype)

    def fma(self, stmt: ins.Fma, dtype: DType) -> Operand:
        """x * y + z of such a dtype, rounded once."""
        x, y, z = (self.read(a) for a in (stmt.x, stmt.y, stmt.z))
        if dtype.is_integer:
            return wrapped(self.b, self.b.add(self.b.mul(x, y), z), dtype)
        x, y, z = (to_number(self.b, a, dtype) for a in (x, y, z))
        return fused(self.b, x, y, z, dtype)


_FOLDABLE = (ins.Unary, ins.Binary, ins.Select, ins.Shuffle, ins.Extract, ins.Bitcast, ins.Reduce)
_STORES = (mem.Store, mem.StoreStrided, mem.Scatter)
_LOADS = (mem.Load, mem.LoadStrided, mem.Gather)
