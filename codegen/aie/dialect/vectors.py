"""Operations of cores that xDSL lacks, or has of scalars alone: products, casts of shape, lanes."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    IntegerType,
    StringAttr,
    VectorType,
    i1,
)
from xdsl.ir import Attribute
from xdsl.irdl import AnyAttr, IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class ShapeCastOp(IRDLOperation):
    """The same elements as a vector of another shape."""

    name = "vector.shape_cast"
    source = operand_def(VectorType)
    result = result_def(VectorType)
    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"

    def verify_(self) -> None:
        """It keeps the number and type of elements."""
        a, b = self.source.type, self.result.type
        assert isinstance(a, VectorType)
        assert isinstance(b, VectorType)
        if prod(a.get_shape()) != prod(b.get_shape()) or a.element_type != b.element_type:
            raise VerifyException("a shape cast keeps the elements")


@irdl_op_definition
class TransposeOp(IRDLOperation):
    """A matrix transposed."""

    name = "vector.transpose"
    source = operand_def(VectorType)
    result = result_def(VectorType)

    @classmethod
    def parse(cls, parser: Parser) -> TransposeOp:
        """`%x, [1, 0] : vector<8x4xf32> to vector<4x8xf32>`."""
        source = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        order = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        if order != [1, 0]:
            parser.raise_error("a matrix is transposed by [1, 0]")
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(source, parser.parse_type())
        parser.parse_keyword("to")
        return cls(operands=[operand], result_types=[parser.parse_type()])

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        printer.print_string(" ")
        printer.print_operand(self.source)
        printer.print_string(", [1, 0] : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" to ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        """Rows become columns."""
        a, b = self.source.type, self.result.type
        assert isinstance(a, VectorType)
        assert isinstance(b, VectorType)
        if tuple(a.get_shape())[::-1] != tuple(b.get_shape()) or a.element_type != b.element_type:
            raise VerifyException("a transposed matrix has rows for columns")


@irdl_op_definition
class SelectOp(IRDLOperation):
    """x where the condition holds, else y; of vectors lane by lane."""

    name = "arith.select"
    condition = operand_def(AnyAttr())
    x = operand_def(AnyAttr())
    y = operand_def(AnyAttr())
    result = result_def(AnyAttr())

    @classmethod
    def parse(cls, parser: Parser) -> SelectOp:
        """`%c, %x, %y : vector<16xi1>, vector<16xf32>`, or the type alone of scalars."""
        condition = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        x = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        y = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        kind: Attribute = parser.parse_type()
        flags: Attribute = i1
        if parser.parse_optional_punctuation(","):
            flags, kind = kind, parser.parse_type()
        operands = [
            parser.resolve_operand(v, t) for v, t in ((condition, flags), (x, kind), (y, kind))
        ]
        return cls(operands=operands, result_types=[kind])

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        printer.print_string(" ")
        printer.print_list((self.condition, self.x, self.y), printer.print_operand)
        printer.print_string(" : ")
        if isinstance(self.condition.type, VectorType):
            printer.print_attribute(self.condition.type)
            printer.print_string(", ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        """A vector of conditions has the lanes of what it chooses from."""
        flags, kind = self.condition.type, self.result.type
        if isinstance(flags, VectorType) and (
            not isinstance(kind, VectorType) or flags.get_shape() != kind.get_shape()
        ):
            raise VerifyException("conditions have as many lanes as values")


@irdl_op_definition
class ContractOp(IRDLOperation):
    """A product of matrices in registers, added to a third."""

    name = "vector.contract"
    lhs = operand_def(VectorType)
    rhs = operand_def(VectorType)
    acc = operand_def(VectorType)
    indexing_maps = prop_def(ArrayAttr[AffineMapAttr])
    iterator_types = prop_def(ArrayAttr[StringAttr])
    kind = prop_def(Attribute)
    result = result_def(VectorType)

    @classmethod
    def parse(cls, parser: Parser) -> ContractOp:
        """`{indexing_maps = ..., ...} %a, %b, %c : type, type into type`."""
        properties = parser.parse_optional_attr_dict()
        names = [parser.parse_unresolved_operand()]
        for _ in range(2):
            parser.parse_punctuation(",")
            names.append(parser.parse_unresolved_operand())
        parser.parse_punctuation(":")
        a = parser.parse_type()
        parser.parse_punctuation(",")
        b = parser.parse_type()
        parser.parse_keyword("into")
        c = parser.parse_type()
        pairs = zip(names, (a, b, c), strict=True)
        operands = [parser.resolve_operand(n, t) for n, t in pairs]
        return cls(operands=operands, properties=properties, result_types=[c])

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        printer.print_op_attributes(self.properties)
        printer.print_string(" ")
        printer.print_list((self.lhs, self.rhs, self.acc), printer.print_operand)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)
        printer.print_string(", ")
        printer.print_attribute(self.rhs.type)
        printer.print_string(" into ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        """m x k times k x n into m x n."""
        shapes = []
        for value in (self.lhs, self.rhs, self.acc):
            assert isinstance(value.type, VectorType)
            shapes.append(tuple(value.type.get_shape()))
        (m, k), (k2, n), result = shapes
        if k != k2 or result != (m, n) or self.acc.type != self.result.type:
            raise VerifyException(f"a product of {m} x {k} and {k2} x {n} into {result}")


class _LaneCastOp(IRDLOperation):
    """Numbers of another type, of a vector lane by lane."""

    x = operand_def(AnyAttr())
    result = result_def(AnyAttr())
    assembly_format = "$x attr-dict `:` type($x) `to` type($result)"

    def verify_(self) -> None:
        """It keeps the lanes, and goes the way that its name says."""
        a, b = self.x.type, self.result.type
        lanes = [tuple(t.get_shape()) if isinstance(t, VectorType) else () for t in (a, b)]
        before, after = (t.element_type if isinstance(t, VectorType) else t for t in (a, b))
        if lanes[0] != lanes[1] or not self._goes(before, after):
            raise VerifyException(f"{self.name} from {a} to {b}")

    def _goes(self, before: Attribute, after: Attribute) -> bool:
        """Whether the operation is from one type to the other."""
        whole = isinstance(before, IntegerType), isinstance(after, IntegerType)
        word = self.name.partition(".")[2]
        if word in ("sitofp", "uitofp"):
            return whole == (True, False)
        if word in ("fptosi", "fptoui"):
            return whole == (False, True)
        if not (isinstance(before, IntegerType) and isinstance(after, IntegerType)):
            return False
        shorter = after.width.data < before.width.data
        return before != after and shorter == (word == "trunci")


@irdl_op_definition
class ExtUIOp(_LaneCastOp):
    """An integer made longer with zeros."""

    name = "arith.extui"


@irdl_op_definition
class ExtSIOp(_LaneCastOp):
    """An integer made longer with its sign."""

    name = "arith.extsi"


@irdl_op_definition
class TruncIOp(_LaneCastOp):
    """An integer without its upper bits."""

    name = "arith.trunci"


@irdl_op_definition
class SIToFPOp(_LaneCastOp):
    """A float of an integer."""

    name = "arith.sitofp"


@irdl_op_definition
class UIToFPOp(_LaneCastOp):
    """A float of an unsigned integer."""

    name = "arith.uitofp"


@irdl_op_definition
class FPToSIOp(_LaneCastOp):
    """An integer of a float."""

    name = "arith.fptosi"


@irdl_op_definition
class FPToUIOp(_LaneCastOp):
    """An unsigned integer of a float."""

    name = "arith.fptoui"


class _CompareOp(IRDLOperation):
    """A comparison by its predicate: one i1, or one a lane."""

    predicate = prop_def(StringAttr)
    x = operand_def(AnyAttr())
    y = operand_def(AnyAttr())
    result = result_def(AnyAttr())

    @classmethod
    def parse(cls, parser: Parser) -> _CompareOp:
        """`slt, %x, %y : vector<16xi32>`."""
        predicate = StringAttr(parser.parse_identifier())
        names = []
        for _ in range(2):
            parser.parse_punctuation(",")
            names.append(parser.parse_unresolved_operand())
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        operands = [parser.resolve_operand(n, kind) for n in names]
        flags: Attribute = VectorType(i1, kind.get_shape()) if isinstance(kind, VectorType) else i1
        return cls(operands=operands, properties={"predicate": predicate}, result_types=[flags])

    def print(self, printer: Printer) -> None:
        """As it is parsed."""
        printer.print_string(f" {self.predicate.data}, ")
        printer.print_list((self.x, self.y), printer.print_operand)
        printer.print_string(" : ")
        printer.print_attribute(self.x.type)


@irdl_op_definition
class CmpiOp(_CompareOp):
    """Of integers."""

    name = "arith.cmpi"

    def verify_(self) -> None:
        """The predicate is one of integers."""
        known = ("eq", "ne", *(s + p for s in "su" for p in ("lt", "le", "gt", "ge")))
        if self.predicate.data not in known:
            raise VerifyException(f"{self.predicate.data} compares no integers")


@irdl_op_definition
class CmpfOp(_CompareOp):
    """Of floats: ordered ones are false on NaN."""

    name = "arith.cmpf"

    def verify_(self) -> None:
        """The predicate is one of floats."""
        known = [s + p for s in "ou" for p in ("eq", "ne", "lt", "le", "gt", "ge")]
        if self.predicate.data not in (*known, "ord", "uno"):
            raise VerifyException(f"{self.predicate.data} compares no floats")
