"""Reading types and attributes."""

from __future__ import annotations

from typing import Any

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
from dslc.compiler.mlir.cursor import Cursor


class ValueReader(Cursor):
    """A text, how far it was read, and the aliases that are defined up to there."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.attribute_aliases: dict[str, Any] = {}
        self.type_aliases: dict[str, Type] = {}

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
            if name in self.type_aliases:
                return self.type_aliases[name]
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
        types: list[Type] = []
        while not self.accept(")"):
            types.append(self.type())
            if self.word == "{":
                self.dictionary()
            self.accept(",")
        return types

    def result_types(self) -> list[Type]:
        """Pass the types of results: one, or several in round brackets."""
        return self.bracketed_types() if self.word == "(" else [self.type()]

    def type_list(self) -> list[Type]:
        """Pass types with commas between."""
        types = [self.type()]
        while self.accept(","):
            types.append(self.type())
        return types

    # Attributes

    def attribute(self) -> Any:
        """Pass an attribute."""
        kind, word = self.kind, self.word
        match kind:
            case "string":
                self.at += 1
                text = unquoted(word)
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
        items: list[Any] = []
        while not self.accept("]"):
            items.append(self.attribute())
            if not self.accept(",") and self.word != "]":
                self.fail(f"',' or ']' is expected, not {self.word!r}")
        return items

    def dictionary(self) -> dict[str, Any]:
        """Pass `{name = value, flag}`."""
        self.expect("{")
        entries: dict[str, Any] = {}
        while not self.accept("}"):
            name = unquoted(self.take("string" if self.kind == "string" else "word"))
            entries[name] = self.attribute() if self.accept("=") else UNIT
            if not self.accept(",") and self.word != "}":
                self.fail(f"',' or '}}' is expected, not {self.word!r}")
        return entries

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
                values.append(unquoted(self.take("string")))
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
            if name not in self.attribute_aliases:
                self.fail(f"#{name} is not defined")
            return self.attribute_aliases[name]
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
            entries: dict[str, Any] = {}
            while True:
                name = self.take("word")
                self.expect("=")
                entries[name] = self.attribute()
                if not self.accept(","):
                    return entries
        values = [self.attribute()]
        while self.accept(","):
            values.append(self.attribute())
        return values[0] if len(values) == 1 else values


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


def unquoted(word: str) -> str:
    """What is between quotes, or a word as it is."""
    if word[:1] != '"':
        return word
    text = word[1:-1]
    return text if "\\" not in text else text.encode().decode("unicode_escape")
