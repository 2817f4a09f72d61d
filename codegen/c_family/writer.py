"""Text with indentation, and names that no two things share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from dslc.codegen.line_marks import marked
from dslc.codegen.quoting import C_WORDS, ascii_name
from dslc.compiler.diagnostics import Loc


class Writer:
    """Lines of C, indented by blocks."""

    def __init__(self, indent: int = 0) -> None:
        self.lines: list[str] = []
        self.loc: Loc | None = None  # of the statement that is written
        self._indent = indent
        self._names: dict[str, int] = {}

    def line(self, text: str) -> None:
        """Add one line."""
        self.lines.append(marked("  " * self._indent + text if text else "", self.loc, "//"))

    def insert(self, at: int, text: str) -> None:
        """Add a line before line number `at`, one level further out than here."""
        self.lines.insert(at, "  " * (self._indent - 1) + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """`head {`, the lines inside, `}`."""
        self.line(f"{head} {{" if head else "{")
        self._indent += 1
        yield
        self._indent -= 1
        self.line("}")

    @contextmanager
    def loop(self, var: str, count: int, *, unroll: bool = True) -> Iterator[None]:
        """A counted loop, unrolled; one iteration needs no loop."""
        if count == 1:
            with self.block(""):
                self.line(f"const int {var} = 0;")
                yield
            return
        if unroll:
            self.line("#pragma unroll")
        with self.block(f"for (int {var} = 0; {var} < {count}; ++{var})"):
            yield

    def reserve(self, names: Iterable[str]) -> None:
        """Names that `name` never gives."""
        for name in names:
            self._names.setdefault(name, 1)

    def name(self, hint: str) -> str:
        """A C identifier like the hint that was not given before."""
        stem = ascii_name(hint) or "t"
        if stem[0].isdigit():
            stem = f"t{stem}"
        count = self._names.get(stem, 0)
        self._names[stem] = count + 1
        if count or stem in C_WORDS:
            return self.name(f"{stem}_{count + (stem in C_WORDS)}")
        return stem

    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines) + "\n"
