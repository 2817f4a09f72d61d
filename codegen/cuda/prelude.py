"""The functions of prelude.cuh, mma.py and wgmma.py, of which a kernel gets those that it names."""

from __future__ import annotations

import functools
import re
from importlib.resources import files

from dslc.codegen.cuda import mma, wgmma

_NAME = re.compile(r"\b(\w+)\s*\([^;{]*\)\s*\{")
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")


@functools.cache
def functions() -> dict[str, str]:
    """Every function of the prelude by name, in file order."""
    text = files("dslc.codegen.cuda").joinpath("prelude.cuh").read_text(encoding="utf-8")
    found = {}
    for part in text.split("\n\n"):
        code = "\n".join(line for line in part.split("\n") if not line.startswith("//"))
        if match := _NAME.search(code):
            found[match[1]] = part.strip()
    return found | mma.functions() | wgmma.functions()


def used(text: str) -> str:
    """The functions that a text names, and what these name in turn, in file order."""
    known = functions()
    wanted: set[str] = set()
    todo = [text]
    while todo:
        for word in _WORD.findall(todo.pop()):
            if word in known and word not in wanted:
                wanted.add(word)
                todo.append(known[word])
    return "\n\n".join(code for name, code in known.items() if name in wanted)
