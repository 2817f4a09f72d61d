"""Where the elements of a thread lie: the digits of layouts as C index arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import prod

from dslc.codegen.c_family.writer import Writer
from dslc.compiler.layout import Layout, Mode
from dslc.compiler.layout.mode import with_weights


def thread_digit(mode: Mode, weight: int, threads: int, tid: str) -> str:
    """One digit of the thread's number."""
    text = tid if weight == 1 else f"{tid} / {weight}"
    return text if weight * mode.size >= threads else f"{text} % {mode.size}"


class ThreadBases:
    """For each layout and axis, the index of the thread's first element, computed once a kernel."""

    def __init__(self, head: Writer, tid: str) -> None:
        self._head = head
        self._tid = tid
        self._names: dict[str, str] = {}

    def base(self, layout: Layout, axis: int) -> str:
        """A C expression (a name, or 0) for the part of an axis' index that the thread decides."""
        parts = []
        for mode, weight in with_weights(layout.spatial_modes):
            if mode.axis == axis:
                digit = thread_digit(mode, weight, layout.threads, self._tid)
                parts.append(digit if mode.stride == 1 else f"({digit}) * {mode.stride}")
        if not parts:
            return "0"
        return self.named("at", " + ".join(parts))

    def named(self, hint: str, text: str) -> str:
        """The name of an expression of the thread's number."""
        if text not in self._names:
            name = self._head.name(hint)
            self._head.line(f"const int {name} = {text};")
            self._names[text] = name
        return self._names[text]

    def counter(self, hint: str) -> str:
        """The name of the kernel's one counter of that name, which begins at 0."""
        if hint not in self._names:
            self._names[hint] = self._head.name(hint)
            self._head.line(f"int {self._names[hint]} = 0;")
        return self._names[hint]


@dataclass(frozen=True, slots=True)
class Digit:
    """A loop over one local digit: `var` counts, the element number grows by `weight` an iteration."""

    mode: Mode
    weight: int
    var: str
    size: int


@dataclass(frozen=True, slots=True)
class Chunks:
    """The elements of a thread in runs of `width` neighbours along the fastest local digit."""

    layout: Layout
    width: int
    digits: tuple[Digit, ...]

    @property
    def element(self) -> str:
        """The number of a chunk's first element."""
        return _sum([_times(d.var, d.weight) for d in self.digits])

    def offset(self, axis: int) -> str:
        """The part of an axis' index that the loop counters decide."""
        return _sum([_times(d.var, d.mode.stride) for d in self.digits if d.mode.axis == axis])

    @property
    def count(self) -> int:
        """How many chunks a thread has."""
        return prod(d.size for d in self.digits)


def fastest_run(layout: Layout, axis: int) -> int:
    """How many neighbours along an axis a thread holds one after another."""
    if not layout.local_modes:
        return 1
    last = layout.local_modes[-1]
    return last.size if last.axis == axis and last.stride == 1 else 1


def chunks(layout: Layout, width: int, writer: Writer) -> Chunks:
    """Split the local digits into loops over runs of `width`, which divides the fastest run."""
    digits = []
    for mode, weight in with_weights(layout.local_modes):
        if weight == 1 and width > 1:
            if mode.size > width:
                outer = Mode(mode.size // width, mode.axis, mode.stride * width)
                digits.append(Digit(outer, width, writer.name("i"), outer.size))
        else:
            digits.append(Digit(mode, weight, writer.name("i"), mode.size))
    return Chunks(layout, width, tuple(digits))


@contextmanager
def loops(writer: Writer, found: Chunks) -> Iterator[None]:
    """The unrolled loops over chunks."""
    with ExitStack() as stack:
        for digit in found.digits:
            writer.line("#pragma unroll")
            head = f"for (int {digit.var} = 0; {digit.var} < {digit.size}; ++{digit.var})"
            stack.enter_context(writer.block(head))
        if not found.digits:
            stack.enter_context(writer.block(""))
        yield


def _times(text: str, factor: int) -> str:
    return text if factor == 1 else f"{text} * {factor}"


def _sum(parts: list[str]) -> str:
    return " + ".join(parts) if parts else "0"


def add(*parts: str) -> str:
    """A sum without its zeros."""
    return _sum([p for p in parts if p != "0"])
