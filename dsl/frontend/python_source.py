"""Where a Python function was defined: its file, its lines and its `ast` node."""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Sequence

from dslc.compiler.diagnostics import Loc, error


class Source:
    """The text that an `ast` was made of, for places: `ast` counts columns in UTF-8 bytes."""

    def __init__(self, lines: Sequence[str], file: str) -> None:
        self.lines = lines
        self.file = file

    def loc(self, node: ast.AST) -> Loc:
        """The place of a node that has one."""
        line, end_line = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)
        start = self._column(line, getattr(node, "col_offset", 0))
        end = self._column(end_line, getattr(node, "end_col_offset", 0))
        return Loc(self.file, line, start, end_line, end)

    def text(self, loc: Loc) -> str:
        """The source at a place, on one line."""
        lines = list(self.lines[loc.line - 1 : loc.end_line])
        if not lines:
            return ""
        lines[-1] = lines[-1][: loc.end_col - 1]
        lines[0] = lines[0][loc.col - 1 :]
        return " ".join(" ".join(lines).split())

    def _column(self, line: int, offset: int) -> int:
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        if text.isascii():
            return offset + 1
        return len(text.encode()[:offset].decode(errors="replace")) + 1


def find_definition(fn: object) -> tuple[ast.FunctionDef, Source]:
    """The definition of a plain function and the source that holds it.

    DSL0121 for what is no plain function, DSL0120 where the source cannot be had (a function typed
    into an interpreter or made by `exec`) or is no longer the one that was compiled.
    """
    if not isinstance(fn, types.FunctionType):
        raise error("DSL0121", f"{_described(fn)} is no function written with `def`")
    code = fn.__code__
    place = Loc(code.co_filename, code.co_firstlineno, 1)
    if code.co_name == "<lambda>":
        raise error("DSL0121", "a lambda cannot be a kernel", place, hint="write a `def`")
    outer = fn.__qualname__.split(".")[:-1]
    if outer and outer[-1] != "<locals>":
        hint = "move it out of the class"
        raise error("DSL0121", f"`{fn.__qualname__}` is a method", place, hint=hint)
    try:
        lines, _ = inspect.findsource(fn)
    except (OSError, TypeError):
        raise error(
            "DSL0120",
            f"the source of `{fn.__name__}` cannot be found",
            place,
            hint="put the function into a file: what was typed at a prompt, or given to `exec` from "
            "no variable, leaves no source",
        ) from None
    file = inspect.getsourcefile(fn) or code.co_filename
    definition = _definitions("".join(lines)).get((code.co_name, code.co_firstlineno))
    if definition is None:
        raise error(
            "DSL0120",
            f"`{fn.__name__}` is not where it was when it was loaded: its file has changed",
            place,
            hint="start the program again",
        )
    source = Source([line.rstrip("\n") for line in lines], file)
    if isinstance(definition, ast.AsyncFunctionDef):
        message = f"`{fn.__name__}` is an async function"
        raise error("DSL0121", message, source.loc(definition), hint="write a plain `def`")
    return definition, source


@functools.lru_cache(maxsize=16)
def _definitions(
    text: str,
) -> dict[tuple[str, int], ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions of a source by name and first line (that of their first decorator)."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return {
        (node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)])): node
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def _described(fn: object) -> str:
    name = getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None)
    return f"`{name}` ({type(fn).__name__})" if name else f"a {type(fn).__name__}"
