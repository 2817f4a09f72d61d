"""Libraries of device functions, of which a kernel's text gets those that it names.

A file holds functions between blank lines, each with the comments before it. `functions.h` has those
that are plain C on every machine; a machine's own file has the others, and what these call in turn may
be of either.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from importlib.resources import files

_NAME = re.compile(r"\b(\w+)\s*\([^;{]*\)\s*\{")
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")


def functions_of(text: str) -> dict[str, str]:
    """Every function of a library's text by name, in its order."""
    functions = {}
    for part in text.split("\n\n"):
        code = "\n".join(line for line in part.split("\n") if not line.startswith("//"))
        if match := _NAME.search(code):
            functions[match[1]] = part.strip()
    return functions


def library(package: str, *names: str) -> dict[str, str]:
    """The functions of these files of a package by name, in their order."""
    texts = (files(package).joinpath(name).read_text(encoding="utf-8") for name in names)
    return {name: code for text in texts for name, code in functions_of(text).items()}


@functools.cache
def shared_functions() -> dict[str, str]:
    """Those of functions.h."""
    return library("dslc.codegen.c_family", "functions.h")


def used(text: str, known: Mapping[str, str]) -> str:
    """The functions that a text names, each after those that it names itself, else in their order."""
    wanted: set[str] = set()
    todo = [text]
    while todo:
        named = [w for w in _named(todo.pop(), known) if w not in wanted]
        wanted.update(named)
        todo += [known[name] for name in named]
    written: dict[str, str] = {}

    def write(name: str) -> None:
        if name in written or name not in wanted:
            return
        wanted.discard(name)  # one that names itself is written once
        for other in _named(known[name], known):
            write(other)
        written[name] = known[name]

    for name in known:
        write(name)
    return "\n\n".join(written.values())


def _named(text: str, known: Mapping[str, str]) -> list[str]:
    return [w for w in dict.fromkeys(_WORD.findall(text)) if w in known]
