"""MLIR text as operations: one a line as it is printed, with the regions that they open.

%x:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(...) -> (...) {     head and body of one operation
  ...
} {attributes}                                                         its trailer
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from dslc.runtime.aie_simulator.errors import AieFault

_HEAD = re.compile(
    r"(?:(?P<results>%[\w$.]+(?::\d+)?(?:,\s*%[\w$.]+(?::\d+)?)*)\s*=\s*)?"
    r"(?P<name>[A-Za-z_][\w.]*|\^\w+)(?P<rest>.*)",
    re.DOTALL,
)
_ALIAS = re.compile(r"#(\w+)\s*=\s*(.*)")


@dataclass(slots=True)
class Operation:
    """One operation: the names of its results, the text after its name, and its regions.

    `rest` ends before the brace that opens a region; `trailer` is what follows the last region.
    """

    name: str
    results: tuple[str, ...]
    rest: str
    line: int
    regions: list[list[Operation]] = field(default_factory=list)
    trailer: str = ""

    def walk(self) -> Iterator[Operation]:
        """This and every operation inside."""
        yield self
        for region in self.regions:
            for inner in region:
                yield from inner.walk()

    def match(self, pattern: str) -> re.Match[str]:
        """The parts of the rest; AieFault where it is not of that form."""
        found = re.fullmatch(pattern, self.rest.strip(), re.DOTALL)
        if found is None:
            raise AieFault(
                "syntax", f"{self.name}{self.rest} is not of the form known", line=self.line
            )
        return found

    def attribute(self, name: str) -> str | None:
        """The text of an attribute in braces, in the rest or the trailer."""
        found = re.search(rf"\b{name}\s*=\s*([^,}}]+)", self.rest) or re.search(
            rf"\b{name}\s*=\s*([^,}}]+)", self.trailer
        )
        return found[1].strip() if found else None


def read(text: str) -> Operation:
    """The module of a text, affine maps by alias left out."""
    lines = list(_logical_lines(text))
    body: list[Operation] = []
    at = 0
    while at < len(lines):
        if _ALIAS.fullmatch(lines[at][1]):
            at += 1
            continue
        operation, at = _operation(lines, at)
        body.append(operation)
    modules = [o for o in body if o.name == "module"]
    if len(modules) != 1 or len(body) != 1:
        raise AieFault("syntax", "a text is one module")
    return modules[0]


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments, joined while a bracket is open."""
    pending, first = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.sub(r"(?<!:)//.*", "", raw).strip()
        if not line:
            continue
        first = first or number
        pending = f"{pending} {line}" if pending else line
        if _is_open(pending):
            continue
        yield first, pending
        pending, first = "", 0
    if pending:
        raise AieFault("syntax", "a bracket is never closed", line=first)


def _is_open(text: str) -> bool:
    depth = 0
    for char in text:
        depth += (char in "([") - (char in ")]")
    return depth > 0


def _operation(lines: list[tuple[int, str]], at: int) -> tuple[Operation, int]:
    number, line = lines[at]
    opens = line.endswith("{")
    text = line[:-1].rstrip() if opens else line
    found = _HEAD.fullmatch(text)
    if found is None:
        raise AieFault("syntax", f"no operation begins as {text!r} does", line=number)
    operation = Operation(found["name"], _results(found["results"]), found["rest"], number)
    at += 1
    while opens:
        region: list[Operation] = []
        while True:
            if at == len(lines):
                raise AieFault(
                    "syntax", f"the region of {operation.name} is never closed", line=number
                )
            if lines[at][1].startswith("}"):
                break
            inner, at = _operation(lines, at)
            region.append(inner)
        operation.regions.append(region)
        closing = lines[at][1][1:].strip()
        opens = closing.endswith("{") and closing.startswith(("else", "do"))
        if not opens:
            operation.trailer = closing
        at += 1
    return operation, at


def _results(text: str | None) -> tuple[str, ...]:
    """The names of results; `%x:2` stands for %x#0 and %x#1."""
    found: list[str] = []
    for part in (text or "").split(","):
        name, _, count = part.strip().partition(":")
        if count:
            found += [f"{name}#{i}" for i in range(int(count))]
        elif name:
            found.append(name)
    return tuple(found)


def integers(text: str) -> tuple[int, ...]:
    """The integers of a comma-separated list."""
    return tuple(int(n) for n in re.findall(r"-?\d+", text))


def strided(text: str) -> tuple[tuple[int, int], ...]:
    """The loops of `<size = 8, stride = 64>, ...`, outermost first."""
    found = re.findall(r"<\s*size\s*=\s*(\d+)\s*,\s*stride\s*=\s*(-?\d+)\s*>", text)
    return tuple((int(size), int(stride)) for size, stride in found)
