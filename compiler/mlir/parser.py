"""Reading MLIR: operations in the generic form, attributes, types, regions.

The custom forms are tables (forms.py, dialect_forms.py, upstream_forms.py) and the few functions of
special_forms.py. What a text names is not checked here beyond what it takes to read on: whoever uses
the operations knows what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dslc.compiler.mlir.attributes import Type, type_of
from dslc.compiler.mlir.generic_names import settle
from dslc.compiler.mlir.operations import Block, MlirError, Operation
from dslc.compiler.mlir.values import ValueReader, unquoted

Form = Callable[["Parser", Operation], None]


class Parser(ValueReader):
    """A text, how far it was read, and the types of the values up to there."""

    def __init__(self, text: str, forms: Mapping[str, Form]) -> None:
        super().__init__(text)
        self.types: dict[str, Type] = {}
        self._forms = forms

    def region(
        self, arguments: list[tuple[str, Type]] | None = None, *, isolated: bool = False
    ) -> list[Block]:
        """Pass a region; the first block has the arguments that are given.

        One that is isolated sees no values of those around it.
        """
        self.expect("{")
        known = self.types
        self.types = {} if isolated else dict(known)
        for name, kind in arguments or ():
            self.types[name] = kind
        blocks: list[Block] = []
        current = Block("", list(arguments or ()))
        while not self.accept("}"):
            if self.kind == "label":
                if blocks or current.operations or current.arguments or current.label:
                    blocks.append(current)
                current = Block(self.take("label"))
                if self.word == "(":
                    current.arguments = self.arguments()
                    self.types.update(current.arguments)
                self.expect(":")
            else:
                current.operations.append(self.operation())
        blocks.append(current)
        self.types = known
        return blocks

    def arguments(self) -> list[tuple[str, Type]]:
        """Pass `(%a: type, %b: type)`."""
        self.expect("(")
        declared: list[tuple[str, Type]] = []
        while not self.accept(")"):
            name = self.operand()
            self.expect(":")
            declared.append((name, self.type()))
            if self.word == "{":
                self.dictionary()
            self._location()
            self.accept(",")
        return declared

    def operation(self) -> Operation:
        """Pass an operation in the generic or a custom form."""
        line = self.line
        results = self._results() if self.kind == "value" else ()
        if self.kind == "string":
            op = Operation(unquoted(self.take("string")), line, results)
            self._generic(op)
        else:
            op = Operation(self.take("word"), line, results)
            form = self._forms.get(op.name)
            if form is None:
                raise MlirError(f"{op.name} is not known", line)
            form(self, op)
        self._location()
        if len(op.results) > len(op.result_types):
            given = len(op.results)
            raise MlirError(f"{op.name} gives {len(op.result_types)} results, not {given}", line)
        known = self.types
        for name, kind in zip(op.results, op.result_types, strict=False):
            if name in known:
                raise MlirError(f"{name} is defined twice", line)
            known[name] = kind
        op.types = [known[n] if n in known else type_of("?") for n in op.operands]
        return op

    def _results(self) -> tuple[str, ...]:
        names: list[str] = []
        while True:
            name = self.operand()
            if self.accept(":"):
                names += [f"{name}#{n}" for n in range(self.integer())]
            else:
                names.append(name)
            if not self.accept(","):
                break
        self.expect("=")
        return tuple(names)

    def _generic(self, made: Operation) -> None:
        self.expect("(")
        made.operands = self.operands()
        self.expect(")")
        if self.accept("["):
            while not self.accept("]"):
                made.successors.append(self.successor())
                self.accept(",")
        if self.accept("<"):
            made.attributes |= self.dictionary()
            self.expect(">")
        if self.accept("("):
            while not self.accept(")"):
                made.regions.append(self.region())
                self.accept(",")
        if self.word == "{":
            made.attributes |= self.dictionary()
        self.expect(":")
        self.bracketed_types()
        self.expect("->")
        made.result_types = self.result_types()
        settle(made)

    def successor(self) -> tuple[str, list[str]]:
        """Pass `^block` or `^block(%x : type)`."""
        label = self.take("label")
        given: list[str] = []
        if self.accept("("):
            given = self.operands()
            if self.accept(":"):
                self.type_list()
            self.expect(")")
        return label, given

    def _location(self) -> None:
        if self.word == "loc" and self.words[self.at + 1] == "(":
            self.at += 1
            self.balanced()

    def top_level(self) -> list[Operation]:
        """All operations of the text; definitions of aliases stand before them."""
        operations: list[Operation] = []
        while self.kind != "end":
            if self.kind in ("attribute", "type") and self.words[self.at + 1] == "=":
                kind, name = self.kind, self.word[1:]
                self.at += 2
                if kind == "type":
                    self.type_aliases[name] = self.type()
                elif self.word == "loc":
                    self._location()
                else:
                    self.attribute_aliases[name] = self.attribute()
            else:
                operations.append(self.operation())
        return operations
