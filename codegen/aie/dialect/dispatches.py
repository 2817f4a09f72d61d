"""What a dispatch says: which device the array is configured for, and which sequences of it run."""

from __future__ import annotations

from dslc.codegen.aie.dialect.tiles import DeviceOp, RuntimeSequenceOp, device_of
from xdsl.dialects.builtin import MemRefType, ModuleOp, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class ConfigureOp(IRDLOperation):
    """The array becomes another device; its sequences run in the region."""

    name = "aiex.configure"
    symbol = prop_def(SymbolRefAttr)
    body = region_def("single_block")
    traits = traits_def(NoTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> ConfigureOp:
        """`aiex.configure @device { ... }`."""
        symbol = SymbolRefAttr(parser.parse_symbol_name())
        return cls(properties={"symbol": symbol}, regions=[parser.parse_region()])

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        printer.print_string(f" @{self.symbol.root_reference.data} ")
        printer.print_region(self.body)

    def verify_(self) -> None:
        """The device is one of the module's, of the same kind, and another; it is run."""
        own, device = device_of(self), self.target
        if device is own or device.device != own.device:
            raise VerifyException(f"@{device.sym_name} is not another device of the same kind")
        if not isinstance(self.parent_op(), RuntimeSequenceOp):
            raise VerifyException("the array is configured in a sequence")
        if any(not isinstance(op, RunOp) for op in self.body.block.ops):
            raise VerifyException("a configuration holds runs")

    @property
    def target(self) -> DeviceOp:
        """The device that it names."""
        module: Operation | None = device_of(self).parent_op()
        assert isinstance(module, ModuleOp)
        name = self.symbol.root_reference
        for op in module.body.block.ops:
            if isinstance(op, DeviceOp) and op.sym_name == name:
                return op
        raise VerifyException(f"there is no device @{name.data}")


@irdl_op_definition
class RunOp(IRDLOperation):
    """A sequence of the configured device runs, over these memories."""

    name = "aiex.run"
    symbol = prop_def(SymbolRefAttr)
    memories = var_operand_def(MemRefType)

    @classmethod
    def parse(cls, parser: Parser) -> RunOp:
        """`aiex.run @sequence(%x, ...) : (memref<...>, ...)`."""
        symbol = SymbolRefAttr(parser.parse_symbol_name())
        given = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        operands = parser.resolve_operands(given, types, parser.pos)
        return cls(operands=[operands], properties={"symbol": symbol})

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        printer.print_string(f" @{self.symbol.root_reference.data}")
        with printer.in_parens():
            printer.print_list(self.memories, printer.print_operand)
        printer.print_string(" : ")
        with printer.in_parens():
            printer.print_list([m.type for m in self.memories], printer.print_attribute)

    def verify_(self) -> None:
        """The device has that sequence, for memories of these types."""
        parent = self.parent_op()
        if not isinstance(parent, ConfigureOp):
            raise VerifyException("a sequence runs in a configuration")
        name = self.symbol.root_reference
        for op in parent.target.body.block.ops:
            if isinstance(op, RuntimeSequenceOp) and op.sym_name == name:
                wanted = [a.type for a in op.body.block.args]
                if wanted != [m.type for m in self.memories]:
                    raise VerifyException(f"@{name.data} has arguments of other types")
                return
        raise VerifyException(f"the device has no sequence @{name.data}")
