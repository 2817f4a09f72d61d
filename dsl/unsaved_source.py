"""Sources of functions that are in no file: of `exec`, of `python -c`, of a prompt, of a script on the
standard input.

Python keeps none of these texts, but they often are still somewhere in the process. A candidate is
taken only where it compiles to the very code of the function: names, constants, instructions and lines.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import stat
import sys
import types
from collections.abc import Iterator

_LARGEST = 1 << 20  # characters of a candidate
_MOST_LINES = 400  # of a prompt's history that are looked through
_FUTURES = 0x1FE0000  # the flags of `from __future__ import ...` (Include/cpython/compile.h)


def keep_unsaved_source(fn: types.FunctionType) -> None:
    """Find the source of a function that was just defined, and keep it where Python looks for it.

    Afterwards `inspect.findsource` knows it, and so does everything that shows source lines. Nothing
    happens where it is known already or is nowhere. To be called by a decorator: the callers' frames
    are looked through.
    """
    code = fn.__code__
    if linecache.getlines(code.co_filename, fn.__globals__):
        return
    for text in _candidates(code):
        if _defines(text, code):
            name = f"{code.co_filename[:-1]} {id(code):x}>"
            fn.__code__ = code.replace(co_filename=name)
            lines = text.splitlines(keepends=True)
            linecache.cache[name] = (len(text), None, lines, name)
            return


def _candidates(code: types.CodeType) -> Iterator[str]:
    """Texts that may hold the source, the likeliest first."""
    if code.co_filename == "<string>":
        yield from _given_to_python()
    if code.co_filename == "<stdin>":
        yield from _standard_input()
        yield from _history(code.co_name)
    frame = inspect.currentframe()
    while frame is not None:
        for values in (frame.f_locals, frame.f_globals):
            for value in list(values.values()):
                if isinstance(value, str) and _may_define(value, code.co_name):
                    yield value
        for value in frame.f_code.co_consts:
            if isinstance(value, str) and _may_define(value, code.co_name):
                yield value
        frame = frame.f_back


def _may_define(text: str, name: str) -> bool:
    return len(text) <= _LARGEST and f"def {name}" in text


def _given_to_python() -> Iterator[str]:
    """The program of `python -c`."""
    words = sys.orig_argv[1:]
    if "-c" in words[:-1]:
        yield words[words.index("-c") + 1]


def _standard_input() -> Iterator[str]:
    """A script on the standard input, where that is a file."""
    try:
        status = os.fstat(0)
        if stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST:
            with open(os.dup(0), "rb", closefd=True) as stream:
                yield os.pread(stream.fileno(), status.st_size, 0).decode()
    except (OSError, UnicodeDecodeError):
        return


def _history(name: str) -> Iterator[str]:
    """What was typed last, from the definition of that name on."""
    readline = sys.modules.get("readline")
    if readline is None:
        return
    last = readline.get_current_history_length()
    typed: list[str] = []
    for number in range(last, max(0, last - _MOST_LINES), -1):
        line = readline.get_history_item(number)
        if line is None:
            continue
        typed.insert(0, line)
        if line.lstrip().startswith(("@", f"def {name}")):
            yield "\n".join(typed) + "\n"


def _defines(text: str, code: types.CodeType) -> bool:
    """Whether a text compiles to the function's code."""
    flags = code.co_flags & _FUTURES
    try:
        tree = ast.parse(text)
        module = compile(tree, code.co_filename, "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(own == code for own in _codes(module))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield value
            yield from _codes(value)
