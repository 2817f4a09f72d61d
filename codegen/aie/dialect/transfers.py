"""What the host's sequence says, in the aiex dialect."""

from __future__ import annotations

from dslc.codegen.aie.dialect.channels import ShimDmaAllocationOp
from dslc.codegen.aie.dialect.fifos import ObjectFifoOp
from dslc.codegen.aie.dialect.tiles import device_of, tile_of
from dslc.compiler.targets.aie import NPU2_ARRAY
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    IntegerAttr,
    MemRefType,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

_LOOPS = 4


@irdl_op_definition
class DmaMemcpyNdOp(IRDLOperation):
    """A transfer between an argument and a FIFO: four loops in elements, outermost first."""

    name = "aiex.npu.dma_memcpy_nd"
    memory = operand_def(MemRefType)
    offsets = prop_def(ArrayAttr[IntegerAttr])
    sizes = prop_def(ArrayAttr[IntegerAttr])
    strides = prop_def(ArrayAttr[IntegerAttr])
    metadata = prop_def(SymbolRefAttr)
    id = prop_def(IntegerAttr)
    issue_token = opt_prop_def(BoolAttr)

    @classmethod
    def parse(cls, parser: Parser) -> DmaMemcpyNdOp:
        """`(%x[offsets][sizes][strides]) {id = 0 : i64, metadata = @x} : memref<...>`."""

        def number() -> IntegerAttr:
            return IntegerAttr(parser.parse_integer(), i64)

        with parser.in_parens():
            memory = parser.parse_unresolved_operand()
            square = parser.Delimiter.SQUARE
            lists = [parser.parse_comma_separated_list(square, number) for _ in range(3)]
        properties = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(memory, parser.parse_type())
        for name, values in zip(("offsets", "sizes", "strides"), lists, strict=True):
            properties[name] = ArrayAttr(values)
        return cls(operands=[operand], properties=properties)

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        with printer.in_parens():
            printer.print_operand(self.memory)
            for values in (self.offsets, self.sizes, self.strides):
                printer.print_string(f"[{', '.join(str(v.value.data) for v in values.data)}]")
        own = ("offsets", "sizes", "strides")
        printer.print_op_attributes({k: v for k, v in self.properties.items() if k not in own})
        printer.print_string(" : ")
        printer.print_attribute(self.memory.type)

    def verify_(self) -> None:
        """Four loops within the argument, a descriptor of the shim, and a FIFO that ends there."""
        lists = [[v.value.data for v in a.data] for a in (self.offsets, self.sizes, self.strides)]
        if any(len(values) != _LOOPS for values in lists):
            raise VerifyException(f"a transfer has {_LOOPS} loops")
        offsets, sizes, strides = lists
        if min(sizes) < 1 or min(strides) < 0 or min(offsets) < 0:
            raise VerifyException("loops take steps, forwards")
        first = sum(o * s for o, s in zip(offsets, strides, strict=True))
        last = first + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
        assert isinstance(self.memory.type, MemRefType)
        if last >= self.memory.type.element_count():
            raise VerifyException(f"element {last} of {self.memory.type.element_count()}")
        if not 0 <= self.id.value.data < NPU2_ARRAY.shim.descriptors:
            raise VerifyException(f"a shim has no descriptor {self.id.value.data}")
        find_end(self, self.metadata)


@irdl_op_definition
class DmaWaitOp(IRDLOperation):
    """The host waits for a token of a FIFO's channel."""

    name = "aiex.npu.dma_wait"
    symbol = prop_def(SymbolRefAttr)

    @classmethod
    def parse(cls, parser: Parser) -> DmaWaitOp:
        """`{symbol = @x}`."""
        return cls(properties=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        printer.print_op_attributes(self.properties)

    def verify_(self) -> None:
        """The FIFO ends in a shim."""
        find_end(self, self.symbol)


def find_end(op: Operation, symbol: SymbolRefAttr) -> None:
    """Whatever has that name in the device and ends in a shim; VerifyException where nothing does."""
    name = symbol.root_reference.data
    for other in device_of(op).body.block.ops:
        sym_name = getattr(other, "sym_name", None)
        if sym_name is None or sym_name.data != name:
            continue
        if isinstance(other, ObjectFifoOp):
            ends = [tile_of(t) for t in (other.producer, *other.consumers)]
            if not any(row == 0 for _, row in ends):
                break
        elif not isinstance(other, ShimDmaAllocationOp):
            break
        return
    raise VerifyException(f"@{name} does not end in a shim tile")
