"""Locks, flows and DMA programs of the aie dialect: what object FIFOs stand for."""

from __future__ import annotations

from math import prod

from dslc.codegen.aie.dialect.tiles import is_compute, tile_of
from dslc.codegen.aie.dialect.types import LoopAttr, parse_loop, print_loops
from dslc.compiler.targets.aie import NPU2_ARRAY
from xdsl.dialects.builtin import (
    ArrayAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    successor_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

_ACTIONS = ("AcquireGreaterEqual", "Acquire", "Release")
_DIRECTIONS = ("S2MM", "MM2S")


def _number(parser: Parser) -> IntegerAttr:
    return IntegerAttr(parser.parse_integer(), i32)


@irdl_op_definition
class LockOp(IRDLOperation):
    """A lock of a tile, by its number."""

    name = "aie.lock"
    tile = operand_def(IndexType())
    number = prop_def(IntegerAttr)
    init = opt_prop_def(IntegerAttr)
    sym_name = prop_def(StringAttr)
    lock = result_def(IndexType())
    traits = traits_def(SymbolOpInterface())

    @classmethod
    def parse(cls, parser: Parser) -> LockOp:
        """`aie.lock(%tile, 0) {init = 2 : i32, sym_name = "x"}`."""
        with parser.in_parens():
            tile = parser.parse_operand(IndexType())
            parser.parse_punctuation(",")
            number = _number(parser)
        properties = {**parser.parse_optional_attr_dict(), "number": number}
        return cls(operands=[tile], properties=properties, result_types=[IndexType()])

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        with printer.in_parens():
            printer.print_operand(self.tile)
            printer.print_string(f", {self.number.value.data}")
        own = {k: v for k, v in self.properties.items() if k != "number"}
        printer.print_op_attributes(own)

    def verify_(self) -> None:
        """The tile has that lock, and it counts so far."""
        kind = NPU2_ARRAY.kind(tile_of(self.tile)[1])
        if not 0 <= self.number.value.data < kind.locks:
            raise VerifyException(f"a {kind.name} tile has no lock {self.number.value.data}")
        value = self.init.value.data if self.init is not None else 0
        if not 0 <= value <= NPU2_ARRAY.lock_value:
            raise VerifyException(f"a lock begins at {value}")


@irdl_op_definition
class UseLockOp(IRDLOperation):
    """A core or a channel waits for a lock, or releases it."""

    name = "aie.use_lock"
    lock = operand_def(IndexType())
    amount = operand_def(i32)
    action = prop_def(StringAttr)

    @classmethod
    def parse(cls, parser: Parser) -> UseLockOp:
        """`aie.use_lock(%lock, AcquireGreaterEqual, %amount)`."""
        with parser.in_parens():
            lock = parser.parse_operand(IndexType())
            parser.parse_punctuation(",")
            action = StringAttr(parser.parse_identifier())
            parser.parse_punctuation(",")
            amount = parser.parse_operand(i32)
        return cls(operands=[lock, amount], properties={"action": action})

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        with printer.in_parens():
            printer.print_operand(self.lock)
            printer.print_string(f", {self.action.data}, ")
            printer.print_operand(self.amount)

    def verify_(self) -> None:
        """It is a lock, and an action."""
        if not isinstance(self.lock.owner, LockOp):
            raise VerifyException("what is used is no lock")
        if self.action.data not in _ACTIONS:
            raise VerifyException(f"{self.action.data} is nothing to do with a lock")


@irdl_op_definition
class FlowOp(IRDLOperation):
    """A stream from a channel to a channel."""

    name = "aie.flow"
    source = operand_def(IndexType())
    target = operand_def(IndexType())
    source_channel = prop_def(IntegerAttr)
    target_channel = prop_def(IntegerAttr)

    @classmethod
    def parse(cls, parser: Parser) -> FlowOp:
        """`aie.flow(%tile, DMA : 0, %tile, DMA : 1)`."""
        with parser.in_parens():
            source, source_channel = cls._end(parser)
            parser.parse_punctuation(",")
            target, target_channel = cls._end(parser)
        properties = {"source_channel": source_channel, "target_channel": target_channel}
        return cls(operands=[source, target], properties=properties)

    @staticmethod
    def _end(parser: Parser) -> tuple[SSAValue, IntegerAttr]:
        tile = parser.parse_operand(IndexType())
        parser.parse_punctuation(",")
        parser.parse_keyword("DMA")
        parser.parse_punctuation(":")
        return tile, _number(parser)

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        with printer.in_parens():
            printer.print_operand(self.source)
            printer.print_string(f", DMA : {self.source_channel.value.data}, ")
            printer.print_operand(self.target)
            printer.print_string(f", DMA : {self.target_channel.value.data}")

    def verify_(self) -> None:
        """The tiles have the channels."""
        _verify_channel(tile_of(self.source), "MM2S", self.source_channel.value.data)
        _verify_channel(tile_of(self.target), "S2MM", self.target_channel.value.data)


def _verify_channel(tile: tuple[int, int], direction: str, number: int) -> None:
    kind = NPU2_ARRAY.kind(tile[1])
    limit = kind.inputs if direction == "S2MM" else kind.outputs
    if direction not in _DIRECTIONS or not 0 <= number < limit:
        raise VerifyException(f"a {kind.name} tile has no channel {direction} {number}")


@irdl_op_definition
class ShimDmaAllocationOp(IRDLOperation):
    """A name for a shim's channel, which the sequence uses."""

    name = "aie.shim_dma_allocation"
    tile = operand_def(IndexType())
    sym_name = prop_def(StringAttr)
    direction = prop_def(StringAttr)
    channel = prop_def(IntegerAttr)
    traits = traits_def(SymbolOpInterface())

    @classmethod
    def parse(cls, parser: Parser) -> ShimDmaAllocationOp:
        """`aie.shim_dma_allocation @x(%tile, MM2S, 0)`."""
        name = parser.parse_symbol_name()
        with parser.in_parens():
            tile = parser.parse_operand(IndexType())
            parser.parse_punctuation(",")
            direction = StringAttr(parser.parse_identifier())
            parser.parse_punctuation(",")
            channel = _number(parser)
        properties = {"sym_name": name, "direction": direction, "channel": channel}
        return cls(operands=[tile], properties=properties)

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        printer.print_string(f" @{self.sym_name.data}")
        with printer.in_parens():
            printer.print_operand(self.tile)
            printer.print_string(f", {self.direction.data}, {self.channel.value.data}")

    def verify_(self) -> None:
        """It is a channel of a shim."""
        tile = tile_of(self.tile)
        if tile[1] != 0:
            raise VerifyException("an allocation is of a shim tile")
        _verify_channel(tile, self.direction.data, self.channel.value.data)


class _DmaProgramOp(IRDLOperation):
    """The channels of a tile's DMA: starts, and blocks of descriptors."""

    tile = operand_def(IndexType())
    body = region_def()

    @classmethod
    def parse(cls, parser: Parser) -> _DmaProgramOp:
        """`aie.mem(%tile) { ... }`."""
        with parser.in_parens():
            tile = parser.parse_operand(IndexType())
        return cls(operands=[tile], regions=[parser.parse_region()])

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        with printer.in_parens():
            printer.print_operand(self.tile)
        printer.print_string(" ")
        printer.print_region(self.body)


@irdl_op_definition
class MemOp(_DmaProgramOp):
    """Of a compute tile."""

    name = "aie.mem"

    def verify_(self) -> None:
        """It is of a compute tile."""
        if not is_compute(tile_of(self.tile)):
            raise VerifyException("aie.mem is of a compute tile")


@irdl_op_definition
class MemTileDmaOp(_DmaProgramOp):
    """Of a memory tile."""

    name = "aie.memtile_dma"

    def verify_(self) -> None:
        """It is of a memory tile."""
        if tile_of(self.tile)[1] != 1:
            raise VerifyException("aie.memtile_dma is of a memory tile")


@irdl_op_definition
class DmaStartOp(IRDLOperation):
    """A channel begins with one block; the program goes on with another."""

    name = "aie.dma_start"
    direction = prop_def(StringAttr)
    channel = prop_def(IntegerAttr)
    first = successor_def()
    following = successor_def()
    started = result_def(IndexType())
    traits = traits_def(IsTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> DmaStartOp:
        """`aie.dma_start(S2MM, 0, ^bb1, ^bb3)`."""
        blocks: list[Block] = []
        with parser.in_parens():
            direction = StringAttr(parser.parse_identifier())
            parser.parse_punctuation(",")
            channel = _number(parser)
            for _ in range(2):
                parser.parse_punctuation(",")
                blocks.append(parser.parse_successor())
        properties = {"direction": direction, "channel": channel}
        return cls(properties=properties, successors=blocks, result_types=[IndexType()])

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        with printer.in_parens():
            printer.print_string(f"{self.direction.data}, {self.channel.value.data}, ")
            printer.print_block_name(self.first)
            printer.print_string(", ")
            printer.print_block_name(self.following)

    def verify_(self) -> None:
        """The tile has the channel."""
        parent = self.parent_op()
        if not isinstance(parent, _DmaProgramOp):
            raise VerifyException("a channel starts in a DMA's program")
        _verify_channel(tile_of(parent.tile), self.direction.data, self.channel.value.data)


@irdl_op_definition
class DmaBdOp(IRDLOperation):
    """A buffer descriptor: so many elements of a buffer, by loops."""

    name = "aie.dma_bd"
    buffer = operand_def(MemRefType)
    len = prop_def(IntegerAttr)
    offset = prop_def(IntegerAttr)
    loops = opt_prop_def(ArrayAttr[LoopAttr])

    @classmethod
    def parse(cls, parser: Parser) -> DmaBdOp:
        """`aie.dma_bd(%x : memref<...>) {dimensions = ..., len = 64 : i32, offset = 0 : i32}`."""
        with parser.in_parens():
            buffer = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            operand = parser.resolve_operand(buffer, parser.parse_type())
        properties: dict[str, Attribute] = {}

        def option() -> None:
            name = parser.parse_identifier()
            parser.parse_punctuation("=")
            if name != "dimensions":
                properties[name] = parser.parse_attribute()
                return
            parser.parse_characters("#aie")
            with parser.in_angle_brackets():
                parser.parse_keyword("bd_dim_layout_array")
                square = parser.Delimiter.SQUARE
                found = parser.parse_comma_separated_list(square, lambda: parse_loop(parser))
            properties["loops"] = ArrayAttr(found)

        parser.parse_comma_separated_list(parser.Delimiter.BRACES, option)
        return cls(operands=[operand], properties=properties)

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        with printer.in_parens():
            printer.print_operand(self.buffer)
            printer.print_string(" : ")
            printer.print_attribute(self.buffer.type)
        printer.print_string(" {")
        if self.loops is not None:
            printer.print_string("dimensions = #aie<bd_dim_layout_array")
            print_loops(printer, self.loops.data)
            printer.print_string(">, ")
        numbers = self.len.value.data, self.offset.value.data
        printer.print_string("len = {} : i32, offset = {} : i32}}".format(*numbers))

    def verify_(self) -> None:
        """It lies within its buffer, and its loops pass its length."""
        assert isinstance(self.buffer.type, MemRefType)
        end = self.offset.value.data + self.len.value.data
        if self.len.value.data < 1 or self.offset.value.data < 0:
            raise VerifyException("a descriptor moves elements")
        if end > self.buffer.type.element_count():
            raise VerifyException(f"{end} elements of {self.buffer.type.element_count()}")
        if self.loops is not None:
            total = prod(loop.size.data for loop in self.loops.data)
            if total != self.len.value.data:
                raise VerifyException(f"loops of {total} steps, {self.len.value.data} elements")


@irdl_op_definition
class NextBdOp(IRDLOperation):
    """The block that a channel goes on with."""

    name = "aie.next_bd"
    following = successor_def()
    traits = traits_def(IsTerminator())
    assembly_format = "$following attr-dict"


OPERATIONS: tuple[type[Operation], ...] = (
    LockOp, UseLockOp, FlowOp, ShimDmaAllocationOp, MemOp, MemTileDmaOp, DmaStartOp, DmaBdOp,
    NextBdOp,
)  # fmt: skip
