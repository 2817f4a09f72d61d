"""Reading MLIR: operations in the generic form, attributes, types, regions.

The custom forms are tables (forms.py, dialect_forms.py, upstream_forms.py) and the few functions of
special_forms.py. What a text names is not checked here beyond what it takes to read on: whoever uses the
operations knows what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from dslc.compiler.mlir.attributes import (
    UNIT,
    Dense,
    Integers,
    Number,
    Opaque,
    Symbol,
    Type,
    Word,
    type_of,
)
from dslc.compiler.mlir.lexer import Tokens
from dslc.compiler.mlir.operations import Block, MlirError, Operation

_OPEN, _CLOSE = "<([{", ">)]}"
Form = Callable[["Parser", Operation], None]


class Parser:
    """A place in a text, and what is known up to there: aliases, and the types of values."""

    def __init__(self, text: str, forms: Mapping[str, Form]) -> None:
        self._tokens = Tokens(text)
        self.kinds, self.words = self._tokens.kinds, self._tokens.words
        self.at = 0
        self.types: dict[str, Type] = {}
        self._forms = forms
        self._attributes: dict[str, Any] = {}
        self._types: dict[str, Type] = {}

    # Words

    def fail(self, message: str) -> NoReturn:
        """MlirError at this place."""
        raise MlirError(message, self.line)

    @property
    def line(self) -> int:
        """The line of this place."""
        return self._tokens.line_at(self._tokens.starts[self.at])

    @property
    def word(self) -> str:
        """The word at this place; empty at the end."""
        return self.words[self.at]

    @property
    def kind(self) -> str:
        """The kind of the word at this place."""
        return self.kinds[self.at]

    def accept(self, word: str) -> bool:
        """Whether this is the word, which is passed then."""
        if self.words[self.at] != word or self.kinds[self.at] == "string":
            return False
        self.at += 1
        return True

    def expect(self, word: str) -> None:
        """Pass a word that must be here."""
        if not self.accept(word):
            self.fail(f"{word!r} is expected, not {self.word or 'the end'!r}")

    def take(self, kind: str) -> str:
        """Pass a word of a kind."""
        if self.kinds[self.at] != kind:
            self.fail(f"a {kind} is expected, not {self.word or 'the end'!r}")
        self.at += 1
        return self.words[self.at - 1]

    def operand(self) -> str:
        """Pass the use of a value."""
        return self.take("value")

    def operands(self) -> list[str]:
        """Pass uses of values with commas between; there may be none."""
        found: list[str] = []
        while self.kind == "value":
            found.append(self.operand())
            if not (self.word == "," and self.kinds[self.at + 1] == "value"):
                break
            self.at += 1
        return found

    def balanced(self) -> str:
        """Pass from an opening bracket to its partner; the text between, brackets included."""
        first, depth = self.at, 0
        while True:
            word, kind = self.words[self.at], self.kinds[self.at]
            if kind == "end":
                self.fail("a bracket is never closed")
            if kind == "mark":
                depth += (word in _OPEN) - (word in _CLOSE)
            self.at += 1
            if not depth:
                return self.span(first)

    def span(self, first: int) -> str:
        """The text from a word up to this place."""
        tokens = self._tokens
        return " ".join(tokens.text[tokens.starts[first] : tokens.ends[self.at - 1]].split())

    # Types

    def type(self) -> Type:
        """Pass a type."""
        first, kind = self.at, self.kind
        if self.word == "(":
            return self._function()
        if kind not in ("word", "type"):
            self.fail(f"a type is expected, not {self.word or 'the end'!r}")
        self.at += 1
        if self.word == "<":
            self.balanced()
        elif kind == "type":
            name = self.words[first][1:]
            if name in self._types:
                return self._types[name]
        return type_of(self.span(first))

    def _function(self) -> Type:
        first = self.at
        self.bracketed_types()
        if self.accept("->"):
            self.result_types()
        return type_of(self.span(first))

    def bracketed_types(self) -> list[Type]:
        """Pass types in round brackets, each with attributes of an argument or without."""
        self.expect("(")
        found: list[Type] = []
        while not self.accept(")"):
            found.append(self.type())
            if self.word == "{":
                self.dictionary()
            self.accept(",")
        return found

    def result_types(self) -> list[Type]:
        """Pass the types of results: one, or several in round brackets."""
        return self.bracketed_types() if self.word == "(" else [self.type()]

    def type_list(self) -> list[Type]:
        """Pass types with commas between."""
        found = [self.type()]
        while self.accept(","):
            found.append(self.type())
        return found

    # Attributes

    def attribute(self) -> Any:
        """Pass an attribute."""
        kind, word = self.kind, self.word
        match kind:
            case "string":
                self.at += 1
                text = _unquoted(word)
                if self.word == ":":
                    self.at += 1
                    self.type()
                return text
            case "number":
                return self.number()
            case "symbol":
                self.at += 1
                return symbol(word)
            case "attribute":
                return self._dialect_attribute()
            case "type":
                return self.type()
            case "word":
                return self._named_attribute()
        if word == "[":
            return self.array()
        if word == "{":
            return self.dictionary()
        if word == "(":
            return self.type()
        if word == "<":
            return self._body()
        self.fail(f"an attribute is expected, not {word or 'the end'!r}")

    def number(self) -> Number:
        """Pass a number, with its type where that follows."""
        text = self.take("number")
        value = _number(text)
        if self.word == ":" and self.kinds[self.at + 1] == "word":
            self.at += 1
            return Number(value, self.type().text)
        return Number(value)

    def integer(self) -> int:
        """Pass an integer; a type may follow."""
        value = self.number().value
        if not isinstance(value, int):
            self.fail("an integer is expected")
        return value

    def array(self) -> list[Any]:
        """Pass `[a, b]`."""
        self.expect("[")
        found: list[Any] = []
        while not self.accept("]"):
            found.append(self.attribute())
            if not self.accept(",") and self.word != "]":
                self.fail(f"',' or ']' is expected, not {self.word!r}")
        return found

    def dictionary(self) -> dict[str, Any]:
        """Pass `{name = value, flag}`."""
        self.expect("{")
        found: dict[str, Any] = {}
        while not self.accept("}"):
            name = _unquoted(self.take("string" if self.kind == "string" else "word"))
            found[name] = self.attribute() if self.accept("=") else UNIT
            if not self.accept(",") and self.word != "}":
                self.fail(f"',' or '}}' is expected, not {self.word!r}")
        return found

    def _named_attribute(self) -> Any:
        word = self.word
        if word in ("true", "false"):
            self.at += 1
            return word == "true"
        if word == "dense":
            return self.dense()
        if word == "array" and self.words[self.at + 1] == "<":
            return self._integers()
        if word in ("affine_map", "affine_set", "strided", "distinct", "dense_resource", "sparse"):
            first = self.at
            self.at += 1
            self.balanced()
            return Opaque(word, None, self.span(first))
        if word == "unit":
            self.at += 1
            return UNIT
        if self.words[self.at + 1] == "<" or _is_scalar(word):
            return self.type()
        self.at += 1
        return Word(word)

    def dense(self, kind: Type | None = None) -> Dense:
        """Pass `dense<...> : type`, without the type where it is known from elsewhere."""
        self.expect("dense")
        self.expect("<")
        values: list[Any] = []
        splat = self.word != "["
        while not self.accept(">"):
            if self.kind == "number":
                self.at += 1
                text = self.words[self.at - 1]
                values.append(text if text[:2] == "0x" else _number(text))
            elif self.kind == "string":
                values.append(_unquoted(self.take("string")))
            elif self.word in ("true", "false"):
                values.append(self.take("word") == "true")
            elif self.word in ("[", "]", ",", "-"):
                self.at += 1
            else:
                self.fail(f"an element is expected, not {self.word or 'the end'!r}")
        if kind is None or self.word == ":":
            self.expect(":")
            kind = self.type()
        return Dense(tuple(values), splat, kind)

    def _integers(self) -> Integers:
        self.at += 2
        kind = self.take("word")
        values: list[int] = []
        if self.accept(":"):
            while self.word != ">":
                if self.word in ("true", "false"):
                    values.append(int(self.take("word") == "true"))
                else:
                    values.append(self.integer())
                self.accept(",")
        self.expect(">")
        return Integers(tuple(values), kind)

    def _dialect_attribute(self) -> Any:
        first, name = self.at, self.word[1:]
        self.at += 1
        if self.word != "<":
            if name not in self._attributes:
                self.fail(f"#{name} is not defined")
            return self._attributes[name]
        if "." not in name:  # `#aie<packet_info ...>` is `#aie.packet_info<...>`
            self.expect("<")
            name = f"{name}.{self.take('word')}"
            value = None if self.word == ">" else self._inside()
            self.expect(">")
        else:
            value = self._body()
        return Opaque(name, value, self.span(first))

    def _body(self) -> Any:
        """What a dialect's attribute holds between < and >."""
        self.expect("<")
        value = None if self.word == ">" else self._inside()
        self.expect(">")
        return value

    def _inside(self) -> Any:
        if self.word == "<":
            return self._body()
        if self.kind == "word" and self.words[self.at + 1] == "=":
            found: dict[str, Any] = {}
            while True:
                name = self.take("word")
                self.expect("=")
                found[name] = self.attribute()
                if not self.accept(","):
                    return found
        values = [self.attribute()]
        while self.accept(","):
            values.append(self.attribute())
        return values[0] if len(values) == 1 else values

    # Regions and operations

    def region(self, arguments: list[tuple[str, Type]] | None = None) -> list[Block]:
        """Pass a region; the first block has the arguments that are given."""
        self.expect("{")
        known = dict(self.types)
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
        found: list[tuple[str, Type]] = []
        while not self.accept(")"):
            name = self.operand()
            self.expect(":")
            found.append((name, self.type()))
            if self.word == "{":
                self.dictionary()
            self._location()
            self.accept(",")
        return found

    def operation(self) -> Operation:
        """Pass an operation in the generic or a custom form."""
        line = self.line
        results = self._results() if self.kind == "value" else ()
        if self.kind == "string":
            made = Operation(_unquoted(self.take("string")), line, results)
            self._generic(made)
        else:
            made = Operation(self.take("word"), line, results)
            form = self._forms.get(made.name)
            if form is None:
                raise MlirError(f"{made.name} is not known", line)
            form(self, made)
        self._location()
        if len(made.results) > len(made.result_types):
            given = len(made.results)
            raise MlirError(f"{made.name} gives {len(made.result_types)} results, not {given}", line)
        for name, kind in zip(made.results, made.result_types, strict=False):
            self.types[name] = kind
        known = self.types
        made.types = [known[n] if n in known else type_of("?") for n in made.operands]
        return made

    def _results(self) -> tuple[str, ...]:
        found: list[str] = []
        while True:
            name = self.operand()
            if self.accept(":"):
                found += [f"{name}#{n}" for n in range(self.integer())]
            else:
                found.append(name)
            if not self.accept(","):
                break
        self.expect("=")
        return tuple(found)

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
        found: list[Operation] = []
        while self.kind != "end":
            if self.kind in ("attribute", "type") and self.words[self.at + 1] == "=":
                kind, name = self.kind, self.word[1:]
                self.at += 2
                if kind == "type":
                    self._types[name] = self.type()
                elif self.word == "loc":
                    self._location()
                else:
                    self._attributes[name] = self.attribute()
            else:
                found.append(self.operation())
        return found


_SCALARS = ("index", "none", "bf16", "f16", "f32", "f64", "tf32")


def _is_scalar(word: str) -> bool:
    return word in _SCALARS or (
        word.lstrip("su")[:1] == "i" and word.lstrip("su")[1:].isdigit() and word != "i"
    )


def _number(text: str) -> int | float:
    if text[:2] == "0x":
        return int(text, 16)
    return float(text) if "." in text else int(text)


def symbol(word: str) -> Symbol:
    """The name of `@name` or `@"name"`."""
    return Symbol(word.replace("@", "").replace('"', ""))


def _unquoted(word: str) -> str:
    if word[:1] != '"':
        return word
    text = word[1:-1]
    return text if "\\" not in text else text.encode().decode("unicode_escape")
