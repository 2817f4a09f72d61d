"""Cascade streams of the aie dialect: between neighbouring cores, 512 bits at a time."""

from __future__ import annotations

from math import prod

from dslc.codegen.aie.dialect.tiles import core_tile, device_of, is_compute, tile_of
from xdsl.dialects.builtin import FixedBitwidthType, IndexType, VectorType
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

_BITS = 512


@irdl_op_definition
class CascadeFlowOp(IRDLOperation):
    """The stream from a core to its neighbour south or east."""

    name = "aie.cascade_flow"
    source = operand_def(IndexType())
    target = operand_def(IndexType())

    @classmethod
    def parse(cls, parser: Parser) -> CascadeFlowOp:
        """`(%above, %below)`."""
        with parser.in_parens():
            source = parser.parse_operand(IndexType())
            parser.parse_punctuation(",")
            target = parser.parse_operand(IndexType())
        return cls(operands=[source, target])

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        with printer.in_parens():
            printer.print_list((self.source, self.target), printer.print_operand)

    def verify_(self) -> None:
        """Its ends are neighbouring cores."""
        (x, y), (u, v) = (tile_of(t) for t in (self.source, self.target))
        if not (is_compute((x, y)) and is_compute((u, v)) and (u - x, y - v) in ((1, 0), (0, 1))):
            raise VerifyException("a cascade leads from a core to its neighbour south or east")


@irdl_op_definition
class PutCascadeOp(IRDLOperation):
    """A core passes a vector on."""

    name = "aie.put_cascade"
    value = operand_def(VectorType)

    @classmethod
    def parse(cls, parser: Parser) -> PutCascadeOp:
        """`(%x : vector<16xf32>)`."""
        with parser.in_parens():
            value = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            operand = parser.resolve_operand(value, parser.parse_type())
        return cls(operands=[operand])

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        with printer.in_parens():
            printer.print_operand(self.value)
            printer.print_string(" : ")
            printer.print_attribute(self.value.type)

    def verify_(self) -> None:
        """It fills the stream, which begins here."""
        _verify_width(self.value.type)
        _verify_end(self, sends=True)


@irdl_op_definition
class GetCascadeOp(IRDLOperation):
    """A core takes a vector."""

    name = "aie.get_cascade"
    value = result_def(VectorType)

    @classmethod
    def parse(cls, parser: Parser) -> GetCascadeOp:
        """`() : vector<16xf32>`."""
        parser.parse_punctuation("(")
        parser.parse_punctuation(")")
        parser.parse_punctuation(":")
        return cls(result_types=[parser.parse_type()])

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        printer.print_string("() : ")
        printer.print_attribute(self.value.type)

    def verify_(self) -> None:
        """It fills the stream, which ends here."""
        _verify_width(self.value.type)
        _verify_end(self, sends=False)


def _verify_width(kind: Attribute) -> None:
    assert isinstance(kind, VectorType)
    element = kind.element_type
    assert isinstance(element, FixedBitwidthType)
    if prod(kind.get_shape()) * element.bitwidth != _BITS:
        raise VerifyException(f"a cascade passes {_BITS} bits at a time")


def _verify_end(op: Operation, *, sends: bool) -> None:
    flows = [o for o in device_of(op).body.block.ops if isinstance(o, CascadeFlowOp)]
    ends = [tile_of(f.source if sends else f.target) for f in flows]
    if core_tile(op) not in ends:
        raise VerifyException("no cascade begins or ends at this core")


OPERATIONS = (CascadeFlowOp, PutCascadeOp, GetCascadeOp)
