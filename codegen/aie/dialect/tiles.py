"""Devices, tiles, buffers, cores and sequences of the aie dialect."""

from __future__ import annotations

from dslc.compiler.targets.aie import NPU2_ARRAY
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, StringAttr, i32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsTerminator,
    NoTerminator,
    SymbolOpInterface,
    SymbolTable,
)
from xdsl.utils.exceptions import VerifyException

_DEVICES = {"npu2": NPU2_ARRAY}


@irdl_op_definition
class DeviceOp(IRDLOperation):
    """The array, and what is placed on it."""

    name = "aie.device"
    device = prop_def(StringAttr)
    sym_name = opt_prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(NoTerminator(), SymbolTable())

    @classmethod
    def parse(cls, parser: Parser) -> DeviceOp:
        """`aie.device(npu2) @name { ... }`."""
        with parser.in_parens():
            device = parser.parse_identifier()
        properties = {"device": StringAttr(device), **_symbol(parser)}
        return cls(properties=properties, regions=[parser.parse_region()])

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        printer.print_string(f"({self.device.data}) ")
        if self.sym_name is not None:
            printer.print_string(f"@{self.sym_name.data} ")
        printer.print_region(self.body)

    def verify_(self) -> None:
        """The device is known."""
        if self.device.data not in _DEVICES:
            raise VerifyException(f"there is no device {self.device.data}")


def _symbol(parser: Parser) -> dict[str, StringAttr]:
    symbol = parser.parse_optional_symbol_name()
    return {} if symbol is None else {"sym_name": symbol}


@irdl_op_definition
class TileOp(IRDLOperation):
    """A tile by its column and row."""

    name = "aie.tile"
    column = prop_def(IntegerAttr)
    row = prop_def(IntegerAttr)
    tile = result_def(IndexType())

    @classmethod
    def parse(cls, parser: Parser) -> TileOp:
        """`aie.tile(0, 2)`."""
        with parser.in_parens():
            column = parser.parse_integer()
            parser.parse_punctuation(",")
            row = parser.parse_integer()
        properties = {"column": IntegerAttr(column, i32), "row": IntegerAttr(row, i32)}
        return cls(properties=properties, result_types=[IndexType()])

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        printer.print_string(f"({self.place[0]}, {self.place[1]})")

    @property
    def place(self) -> tuple[int, int]:
        """Column and row."""
        return self.column.value.data, self.row.value.data

    def verify_(self) -> None:
        """It lies within the array."""
        rows = NPU2_ARRAY.compute.rows.stop
        if not (0 <= self.place[0] < NPU2_ARRAY.columns and 0 <= self.place[1] < rows):
            raise VerifyException(f"there is no tile {self.place[0]}, {self.place[1]}")


def tile_of(value: SSAValue) -> tuple[int, int]:
    """The place of a tile."""
    if not isinstance(value.owner, TileOp):
        raise VerifyException("an operand is no tile")
    return value.owner.place


def is_compute(place: tuple[int, int]) -> bool:
    """Whether a tile has a core."""
    return place[1] in NPU2_ARRAY.compute.rows


@irdl_op_definition
class BufferOp(IRDLOperation):
    """Memory of a tile."""

    name = "aie.buffer"
    tile = operand_def(IndexType())
    sym_name = opt_prop_def(StringAttr)
    buffer = result_def(MemRefType)
    traits = traits_def(SymbolOpInterface())

    @classmethod
    def parse(cls, parser: Parser) -> BufferOp:
        """`aie.buffer(%tile) {sym_name = "x"} : memref<...>`."""
        with parser.in_parens():
            tile = parser.parse_operand(IndexType())
        properties = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls(operands=[tile], properties=properties, result_types=[parser.parse_type()])

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        with printer.in_parens():
            printer.print_operand(self.tile)
        printer.print_op_attributes(self.properties)
        printer.print_string(" : ")
        printer.print_attribute(self.buffer.type)

    def verify_(self) -> None:
        """A shim tile has no memory."""
        if tile_of(self.tile)[1] == 0:
            raise VerifyException("a shim tile has no buffers")


@irdl_op_definition
class CoreOp(IRDLOperation):
    """The program of a tile's core."""

    name = "aie.core"
    tile = operand_def(IndexType())
    stack_size = opt_prop_def(IntegerAttr)
    body = region_def()

    @classmethod
    def parse(cls, parser: Parser) -> CoreOp:
        """`aie.core(%tile) { ... } {stack_size = 1024 : i32}`."""
        with parser.in_parens():
            tile = parser.parse_operand(IndexType())
        body = parser.parse_region()
        properties = parser.parse_optional_attr_dict()
        return cls(operands=[tile], properties=properties, regions=[body])

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        with printer.in_parens():
            printer.print_operand(self.tile)
        printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_op_attributes(self.properties)

    def verify_(self) -> None:
        """Only compute tiles have cores, one each."""
        if not is_compute(tile_of(self.tile)):
            raise VerifyException("only a compute tile has a core")
        others = [u.operation for u in self.tile.uses if isinstance(u.operation, CoreOp)]
        if len(others) > 1:
            raise VerifyException("a tile has one core")


@irdl_op_definition
class EndOp(IRDLOperation):
    """The end of a core's or a DMA's program."""

    name = "aie.end"
    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict"


@irdl_op_definition
class RuntimeSequenceOp(IRDLOperation):
    """What the host does, over its arguments."""

    name = "aie.runtime_sequence"
    sym_name = opt_prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(NoTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> RuntimeSequenceOp:
        """`aie.runtime_sequence @name(%x: memref<...>, ...) { ... }`."""
        properties = _symbol(parser)
        arguments = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=True)
        )
        return cls(properties=properties, regions=[parser.parse_region(arguments)])

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        block = self.body.block
        if self.sym_name is not None:
            printer.print_string(f" @{self.sym_name.data}")
        with printer.in_parens():
            printer.print_list(block.args, printer.print_block_argument)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


def device_of(op: Operation) -> DeviceOp:
    """The device that an operation is in."""
    parent: Operation | None = op.parent_op()
    while parent is not None and not isinstance(parent, DeviceOp):
        parent = parent.parent_op()
    if parent is None:
        raise VerifyException(f"{op.name} is in no device")
    return parent


def core_tile(op: Operation) -> tuple[int, int]:
    """The tile in whose core an operation stands."""
    parent: Operation | None = op.parent_op()
    while parent is not None and not isinstance(parent, CoreOp):
        parent = parent.parent_op()
    if parent is None:
        raise VerifyException(f"{op.name} is in no core")
    return tile_of(parent.tile)
