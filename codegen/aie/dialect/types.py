"""Types and attributes of the aie dialect: object FIFOs, and the loops of buffer descriptors."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, MemRefType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


class _OfMemref(ParametrizedAttribute, TypeAttribute):
    """A type `<memref<...>>` of objects whose size is known."""

    element: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """`<memref<...>>`."""
        with parser.in_angle_brackets():
            return [parser.parse_type()]

    def print_parameters(self, printer: Printer) -> None:
        """As it is parsed."""
        with printer.in_angle_brackets():
            printer.print_attribute(self.element)

    def verify(self) -> None:
        """Its parameter is a memref."""
        kind = self.element
        if not isinstance(kind, MemRefType) or any(n <= 0 for n in kind.get_shape()):
            raise VerifyException(f"{self.name} is of memrefs of known size")


@irdl_attr_definition
class ObjectFifoType(_OfMemref):
    """The objects of a FIFO."""

    name = "aie.objectfifo"


@irdl_attr_definition
class SubviewType(_OfMemref):
    """Objects that a core holds."""

    name = "aie.objectfifosubview"


@irdl_attr_definition
class LoopAttr(ParametrizedAttribute):
    """One loop of a buffer descriptor: `<size = 8, stride = 64>`, in elements."""

    name = "aie.bd_dim_layout"
    size: IntAttr
    stride: IntAttr

    def verify(self) -> None:
        """It takes steps."""
        if self.size.data < 1 or self.stride.data < 0:
            raise VerifyException(f"a loop of {self.size.data} steps of {self.stride.data}")


def parse_loop(parser: AttrParser) -> LoopAttr:
    """One loop as it stands in lists."""
    with parser.in_angle_brackets():
        parser.parse_keyword("size")
        parser.parse_punctuation("=")
        size = parser.parse_integer()
        parser.parse_punctuation(",")
        parser.parse_keyword("stride")
        parser.parse_punctuation("=")
        stride = parser.parse_integer()
    return LoopAttr(IntAttr(size), IntAttr(stride))


def print_loops(printer: Printer, loops: Sequence[LoopAttr]) -> None:
    """A list of loops."""
    text = ", ".join(f"<size = {p.size.data}, stride = {p.stride.data}>" for p in loops)
    printer.print_string(f"[{text}]")
