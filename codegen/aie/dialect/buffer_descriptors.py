"""The programs of DMAs: channels that are started, buffer descriptors and their chains."""

from __future__ import annotations

from math import prod

from dslc.codegen.aie.dialect.tiles import is_compute, tile_of
from dslc.codegen.aie.dialect.types import LoopAttr
from dslc.compiler.targets.aie import NPU2_ARRAY
from xdsl.dialects.builtin import (
    ArrayAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block
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
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

_DIRECTIONS = ("S2MM", "MM2S")


def verify_channel(tile: tuple[int, int], direction: str, number: int) -> None:
    """Whether the tile has a channel of that number in that direction."""
    kind = NPU2_ARRAY.kind(tile[1])
    limit = kind.inputs if direction == "S2MM" else kind.outputs
    if direction not in _DIRECTIONS or not 0 <= number < limit:
        raise VerifyException(f"a {kind.name} tile has no channel {direction} {number}")


def number_of(parser: Parser) -> IntegerAttr:
    """A number of the text, of 32 bits."""
    return IntegerAttr(parser.parse_integer(), i32)


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
    started = result_def(i1)
    traits = traits_def(IsTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> DmaStartOp:
        """`aie.dma_start(S2MM, 0, ^bb1, ^bb3)`."""
        blocks: list[Block] = []
        with parser.in_parens():
            direction = StringAttr(parser.parse_identifier())
            parser.parse_punctuation(",")
            channel = number_of(parser)
            for _ in range(2):
                parser.parse_punctuation(",")
                blocks.append(parser.parse_successor())
        properties = {"direction": direction, "channel": channel}
        return cls(properties=properties, successors=blocks, result_types=[i1])

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
        verify_channel(tile_of(parent.tile), self.direction.data, self.channel.value.data)


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
        """`aie.dma_bd(%x : memref<...> offset = 0 len = 64 sizes = [8, 8] strides = [1, 8])`."""
        with parser.in_parens():
            buffer = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            operand = parser.resolve_operand(buffer, parser.parse_type())
            properties: dict[str, Attribute] = {}
            for name in ("offset", "len"):
                parser.parse_keyword(name)
                parser.parse_punctuation("=")
                properties[name] = number_of(parser)
            lists: list[list[int]] = []
            for name in ("sizes", "strides"):
                if parser.parse_optional_keyword(name) is not None:
                    parser.parse_punctuation("=")
                    square = parser.Delimiter.SQUARE
                    lists.append(parser.parse_comma_separated_list(square, parser.parse_integer))
        if lists:
            sizes, strides = lists
            pairs = zip(sizes, strides, strict=True)
            properties["loops"] = ArrayAttr([LoopAttr(IntAttr(n), IntAttr(s)) for n, s in pairs])
        return cls(operands=[operand], properties=properties)

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        with printer.in_parens():
            printer.print_operand(self.buffer)
            printer.print_string(" : ")
            printer.print_attribute(self.buffer.type)
            numbers = self.offset.value.data, self.len.value.data
            printer.print_string(" offset = {} len = {}".format(*numbers))
            if self.loops is not None:
                sizes = ", ".join(str(loop.size.data) for loop in self.loops.data)
                strides = ", ".join(str(loop.stride.data) for loop in self.loops.data)
                printer.print_string(f" sizes = [{sizes}] strides = [{strides}]")

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
