"""Object FIFOs of the aie dialect: their declaration, links, and what cores do with objects."""

from __future__ import annotations

from dslc.codegen.aie.dialect.tiles import core_tile, device_of, tile_of
from dslc.codegen.aie.dialect.types import (
    LoopAttr,
    ObjectFifoType,
    SubviewType,
    parse_loop,
    print_loops,
)
from xdsl.dialects.builtin import (
    ArrayAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    i32,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

_PORTS = ("Produce", "Consume")


@irdl_op_definition
class ObjectFifoOp(IRDLOperation):
    """Objects from a producer tile to consumer tiles."""

    name = "aie.objectfifo"
    producer = operand_def(IndexType())
    consumers = var_operand_def(IndexType())
    sym_name = prop_def(StringAttr)
    depth = prop_def(IntegerAttr)
    kind = prop_def(ObjectFifoType)
    loops = opt_prop_def(ArrayAttr[LoopAttr])
    repeat_count = opt_prop_def(IntegerAttr)
    traits = traits_def(SymbolOpInterface())

    @classmethod
    def parse(cls, parser: Parser) -> ObjectFifoOp:
        """`@x(%tile dimensionsToStream [...], {%tile, ...}, 2 : i32) : !aie.objectfifo<...>`."""
        name = parser.parse_symbol_name()
        properties: dict[str, Attribute] = {"sym_name": name}
        with parser.in_parens():
            producer = parser.parse_operand(IndexType())
            if parser.parse_optional_keyword("dimensionsToStream"):
                square = parser.Delimiter.SQUARE
                loops = parser.parse_comma_separated_list(square, lambda: parse_loop(parser))
                properties["loops"] = ArrayAttr(loops)
            parser.parse_punctuation(",")
            braces = parser.Delimiter.BRACES
            consumers = parser.parse_comma_separated_list(
                braces, lambda: parser.parse_operand(IndexType())
            )
            parser.parse_punctuation(",")
            properties["depth"] = IntegerAttr(parser.parse_integer(), i32)
            parser.parse_punctuation(":")
            parser.parse_type()
        properties |= parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        properties["kind"] = parser.parse_type()
        return cls(operands=[producer, consumers], properties=properties)

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            printer.print_operand(self.producer)
            if self.loops is not None:
                printer.print_string(" dimensionsToStream ")
                print_loops(printer, self.loops.data)
            printer.print_string(", ")
            with printer.in_braces():
                printer.print_list(self.consumers, printer.print_operand)
            printer.print_string(f", {self.depth.value.data} : i32")
        if self.repeat_count is not None:
            printer.print_string(f" {{repeat_count = {self.repeat_count.value.data} : i32}}")
        printer.print_string(" : ")
        printer.print_attribute(self.kind)

    def verify_(self) -> None:
        """It has consumers and objects, and loops that pass each element once."""
        if not self.consumers or self.depth.value.data < 1:
            raise VerifyException("a FIFO has consumers and objects")
        places = [tile_of(t) for t in (self.producer, *self.consumers)]
        if len(set(places)) != len(places):
            raise VerifyException("the ends of a FIFO are different tiles")
        if self.loops is not None:
            total = 1
            for loop in self.loops.data:
                total *= loop.size.data
            panels = self.repeat_count is not None and total % self.elements == 0
            if total != self.elements and not panels:
                raise VerifyException(f"loops of {total} steps over objects of {self.elements}")

    @property
    def elements(self) -> int:
        """How many an object has."""
        assert isinstance(self.kind.element, MemRefType)
        return self.kind.element.element_count()


def find_fifo(op: Operation, symbol: SymbolRefAttr) -> ObjectFifoOp:
    """The FIFO of a name in the same device."""
    name = symbol.root_reference.data
    for other in device_of(op).body.block.ops:
        if isinstance(other, ObjectFifoOp) and other.sym_name.data == name:
            return other
    raise VerifyException(f"there is no FIFO @{name}")


@irdl_op_definition
class LinkOp(IRDLOperation):
    """FIFOs that meet in a memory tile."""

    name = "aie.objectfifo.link"
    inputs = prop_def(ArrayAttr[SymbolRefAttr])
    outputs = prop_def(ArrayAttr[SymbolRefAttr])
    joined = prop_def(ArrayAttr[IntegerAttr])
    parted = prop_def(ArrayAttr[IntegerAttr])

    @classmethod
    def parse(cls, parser: Parser) -> LinkOp:
        """`[@x] -> [@y, @z] ([] [0, 64])`."""
        square = parser.Delimiter.SQUARE

        def symbol() -> SymbolRefAttr:
            return SymbolRefAttr(parser.parse_symbol_name())

        def number() -> IntegerAttr:
            return IntegerAttr(parser.parse_integer(), i32)

        inputs = parser.parse_comma_separated_list(square, symbol)
        parser.parse_punctuation("->")
        outputs = parser.parse_comma_separated_list(square, symbol)
        with parser.in_parens():
            joined = parser.parse_comma_separated_list(square, number)
            parted = parser.parse_comma_separated_list(square, number)
        return cls(
            properties={
                "inputs": ArrayAttr(inputs),
                "outputs": ArrayAttr(outputs),
                "joined": ArrayAttr(joined),
                "parted": ArrayAttr(parted),
            }
        )

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        sides = [
            ", ".join(f"@{s.root_reference.data}" for s in side.data)
            for side in (self.inputs, self.outputs)
        ]
        offsets = [
            ", ".join(str(n.value.data) for n in part.data) for part in (self.joined, self.parted)
        ]
        text = f" [{sides[0]}] -> [{sides[1]}] ([{offsets[0]}] [{offsets[1]}])"
        printer.print_string(text)

    def verify_(self) -> None:
        """One side is one FIFO; they meet in one memory tile."""
        inputs = [find_fifo(self, s) for s in self.inputs.data]
        outputs = [find_fifo(self, s) for s in self.outputs.data]
        if min(len(inputs), len(outputs)) != 1:
            raise VerifyException("a link parts one FIFO, or joins to one")
        places = {tile_of(f.producer) for f in outputs}
        meets = all(places <= {tile_of(c) for c in f.consumers} for f in inputs)
        if len(places) != 1 or not meets or next(iter(places))[1] != 1:
            raise VerifyException("the FIFOs of a link meet in one memory tile")
        parts = inputs if len(inputs) > 1 else outputs
        offsets = self.joined if len(inputs) > 1 else self.parted
        if len(parts) > 1 and len(offsets.data) != len(parts):
            raise VerifyException("every part has an offset")


@irdl_op_definition
class AcquireOp(IRDLOperation):
    """A core waits until it holds so many objects."""

    name = "aie.objectfifo.acquire"
    fifo = prop_def(SymbolRefAttr)
    port = prop_def(StringAttr)
    count = prop_def(IntegerAttr)
    view = result_def(SubviewType)

    @classmethod
    def parse(cls, parser: Parser) -> AcquireOp:
        """`@x(Consume, 1) : !aie.objectfifosubview<...>`."""
        properties = _parse_port(parser)
        parser.parse_punctuation(":")
        return cls(properties=properties, result_types=[parser.parse_type()])

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        _print_port(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.view.type)

    def verify_(self) -> None:
        """The core is at that end, and the FIFO has the objects."""
        fifo = _verify_port(self)
        assert isinstance(self.view.type, SubviewType)
        if self.view.type.element != fifo.kind.element:
            raise VerifyException(f"objects of @{fifo.sym_name.data} are of another type")
        if not 1 <= self.count.value.data <= fifo.depth.value.data:
            raise VerifyException(
                f"{self.count.value.data} objects of @{fifo.sym_name.data}, which has "
                f"{fifo.depth.value.data}"
            )


@irdl_op_definition
class ReleaseOp(IRDLOperation):
    """A core gives its oldest objects on, or back."""

    name = "aie.objectfifo.release"
    fifo = prop_def(SymbolRefAttr)
    port = prop_def(StringAttr)
    count = prop_def(IntegerAttr)

    @classmethod
    def parse(cls, parser: Parser) -> ReleaseOp:
        """`@x(Consume, 1)`."""
        return cls(properties=_parse_port(parser))

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        _print_port(printer, self)

    def verify_(self) -> None:
        """The core is at that end."""
        _verify_port(self)


@irdl_op_definition
class AccessOp(IRDLOperation):
    """One of the objects that a core holds."""

    name = "aie.objectfifo.subview.access"
    view = operand_def(SubviewType)
    number = prop_def(IntegerAttr)
    object = result_def(MemRefType)

    @classmethod
    def parse(cls, parser: Parser) -> AccessOp:
        """`%view[0] : !aie.objectfifosubview<memref<...>> -> memref<...>`."""
        view = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            number = IntegerAttr(parser.parse_integer(), i32)
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        parser.parse_punctuation("->")
        operand = parser.resolve_operand(view, kind)
        properties = {"number": number}
        return cls(operands=[operand], properties=properties, result_types=[parser.parse_type()])

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        printer.print_string(" ")
        printer.print_operand(self.view)
        printer.print_string(f"[{self.number.value.data}] : ")
        printer.print_attribute(self.view.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.object.type)

    def verify_(self) -> None:
        """It is one of those that were acquired."""
        taken = self.view.owner
        if isinstance(taken, AcquireOp) and self.number.value.data >= taken.count.value.data:
            raise VerifyException(f"object {self.number.value.data} was not acquired")
        assert isinstance(self.view.type, SubviewType)
        if self.view.type.element != self.object.type:
            raise VerifyException("an object is of its FIFO's type")


def _parse_port(parser: Parser) -> dict[str, StringAttr | SymbolRefAttr | IntegerAttr]:
    fifo = SymbolRefAttr(parser.parse_symbol_name())
    with parser.in_parens():
        port = parser.parse_identifier()
        parser.parse_punctuation(",")
        count = IntegerAttr(parser.parse_integer(), i32)
    return {"fifo": fifo, "port": StringAttr(port), "count": count}


def _print_port(printer: Printer, op: AcquireOp | ReleaseOp) -> None:
    name, count = op.fifo.root_reference.data, op.count.value.data
    printer.print_string(f" @{name}({op.port.data}, {count})")


def _verify_port(op: AcquireOp | ReleaseOp) -> ObjectFifoOp:
    fifo = find_fifo(op, op.fifo)
    if op.port.data not in _PORTS:
        raise VerifyException(f"a port is Produce or Consume, not {op.port.data}")
    ends = (fifo.producer,) if op.port.data == "Produce" else tuple(fifo.consumers)
    if core_tile(op) not in [tile_of(t) for t in ends]:
        raise VerifyException(f"the core is not at this end of @{fifo.sym_name.data}")
    return fifo
