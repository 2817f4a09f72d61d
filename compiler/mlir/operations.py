"""Operations, blocks and regions as they were read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dslc.compiler.mlir.attributes import Integers, Number, Opaque, Type, Word


class MlirError(Exception):
    """A text is not MLIR of the operations that are known; `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message, self.line = message, line


@dataclass(slots=True)
class Block:
    """A block: its label (empty for one that has none), its arguments, its operations."""

    label: str = ""
    arguments: list[tuple[str, Type]] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)


@dataclass(slots=True)
class Operation:
    """One operation. Values are named as the text names them, with the %; `%x:2` is %x#0 and %x#1.

    Attributes are values of attributes.py, texts, lists and dicts; `successors` are labels with the
    values that they are given, which are the last operands too.
    """

    name: str
    line: int
    results: tuple[str, ...] = ()
    operands: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    types: list[Type] = field(default_factory=list)
    result_types: list[Type] = field(default_factory=list)
    regions: list[list[Block]] = field(default_factory=list)
    successors: list[tuple[str, list[str]]] = field(default_factory=list)

    @property
    def body(self) -> list[Operation]:
        """The operations of the first block of the first region."""
        return self.regions[0][0].operations if self.regions and self.regions[0] else []

    @property
    def type(self) -> Type:
        """The type of the first result."""
        return self.result_types[0]

    def walk(self) -> Iterator[Operation]:
        """This and every operation inside."""
        yield self
        for region in self.regions:
            for block in region:
                for inner in block.operations:
                    yield from inner.walk()

    def integer(self, name: str, default: int | None = None) -> int:
        """An attribute that is an integer; MlirError where it is none and there is no default."""
        value = self.attributes.get(name)
        if isinstance(value, bool):
            return int(value)
        if isinstance(value, Number) and isinstance(value.value, int):
            return value.value
        if value is None and default is not None:
            return default
        raise MlirError(f"{self.name} has no integer {name}", self.line)

    def text(self, name: str, default: str | None = None) -> str:
        """An attribute that is a text, a symbol or a case of an enumeration, however it is spelled."""
        value = self.attributes.get(name)
        if isinstance(value, Opaque):
            value = value.value  # `#vector.kind<add>`
        if isinstance(value, str):
            return str(value)
        if isinstance(value, Number) and name in ENUMERATIONS:
            cases = ENUMERATIONS[name]
            if isinstance(value.value, int) and 0 <= value.value < len(cases):
                return cases[value.value]
        if value is None and default is not None:
            return default
        raise MlirError(f"{self.name} has no {name}", self.line)

    def flag(self, name: str) -> bool:
        """An attribute that is true, or present without a value."""
        value = self.attributes.get(name)
        if isinstance(value, Number):
            return bool(value.value)
        return value is True or value == Word("unit")

    def integers(self, name: str) -> list[int]:
        """An attribute that is a list of integers; none where it is missing."""
        value = self.attributes.get(name, [])
        if isinstance(value, Integers):
            return list(value.values)
        if not isinstance(value, list) or any(not isinstance(n, Number) for n in value):
            raise MlirError(f"{name} of {self.name} is no list of integers", self.line)
        return [int(n.value) for n in value]

    def fields(self, name: str) -> Any:
        """What a dialect's attribute holds: a dict or a list; None where it is missing."""
        value = self.attributes.get(name)
        return value.value if isinstance(value, Opaque) else value


_DIRECTIONS = ("S2MM", "MM2S")
_BUNDLES = (
    "Core",
    "DMA",
    "FIFO",
    "South",
    "West",
    "North",
    "East",
    "PLIO",
    "NOC",
    "Trace",
    "Ctrl",
    "TileControl",
)
# The cases of enumerations by the attribute that holds them: in the generic form they are numbers.
ENUMERATIONS: dict[str, tuple[str, ...]] = {
    "channel_dir": _DIRECTIONS,
    "direction": _DIRECTIONS,
    "action": ("Acquire", "Release", "AcquireGreaterEqual"),
    "blocking": ("NonBlocking", "Blocking"),
    "port": ("Produce", "Consume"),
    "bundle": _BUNDLES,
    "source_bundle": _BUNDLES,
    "dest_bundle": _BUNDLES,
    "device": (
        "",
        "xcvc1902",
        "xcve2302",
        "xcve2802",
        "npu1",
        "npu1_1col",
        "npu1_2col",
        "npu1_3col",
        "npu2",
        "npu2_1col",
        "npu2_2col",
        "npu2_3col",
        "npu2_4col",
        "npu2_5col",
        "npu2_6col",
        "npu2_7col",
    ),
    "predicate": ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"),
}
FLOAT_PREDICATES = (
    "false",
    "oeq",
    "ogt",
    "oge",
    "olt",
    "ole",
    "one",
    "ord",
    "ueq",
    "ugt",
    "uge",
    "ult",
    "ule",
    "une",
    "uno",
    "true",
)
