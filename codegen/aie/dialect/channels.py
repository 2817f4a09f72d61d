"""Locks, flows and DMA programs of the aie dialect: what object FIFOs stand for."""

from __future__ import annotations

from dslc.codegen.aie.dialect.buffer_descriptors import (
    DmaBdOp,
    DmaStartOp,
    MemOp,
    MemTileDmaOp,
    NextBdOp,
    number_of,
    verify_channel,
)
from dslc.codegen.aie.dialect.tiles import tile_of
from dslc.compiler.targets.aie import NPU2_ARRAY
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    StringAttr,
    i32,
)
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

_ACTIONS = ("AcquireGreaterEqual", "Acquire", "Release")


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
            number = number_of(parser)
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
        return tile, number_of(parser)

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        with printer.in_parens():
            printer.print_operand(self.source)
            printer.print_string(f", DMA : {self.source_channel.value.data}, ")
            printer.print_operand(self.target)
            printer.print_string(f", DMA : {self.target_channel.value.data}")

    def verify_(self) -> None:
        """The tiles have the channels."""
        verify_channel(tile_of(self.source), "MM2S", self.source_channel.value.data)
        verify_channel(tile_of(self.target), "S2MM", self.target_channel.value.data)


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
            channel = number_of(parser)
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
        verify_channel(tile, self.direction.data, self.channel.value.data)


OPERATIONS: tuple[type[Operation], ...] = (
    LockOp, UseLockOp, FlowOp, ShimDmaAllocationOp, MemOp, MemTileDmaOp, DmaStartOp, DmaBdOp,
    NextBdOp,
)  # fmt: skip
