"""The files of several kernels as one that compiles: what more than one of them begins with once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

# What stands before it are definitions, apart by empty lines. A header opens a block.
_KERNEL = re.compile(r'extern "C" (?!\{)')
_NAME = re.compile(r"^(\w+)\(", re.MULTILINE)


def one_file(texts: Sequence[str]) -> str:
    """One text of several; each begins with remarks on its kernel and the definitions that it uses.

    Of equal kernels one is kept; others that share a name are numbered, from the second on. Texts of
    other kinds are put one after another.
    """
    if len(texts) < 2 or not all(_KERNEL.search(text) for text in texts):
        return "\n".join(text.rstrip("\n") + "\n" for text in texts)
    definitions: dict[str, None] = {}
    kernels: dict[str, None] = {}
    for text in texts:
        remarks = ""
        for part in (x.strip("\n") for x in text.split("\n\n") if x.strip("\n")):
            if _KERNEL.search(part):
                kernels[remarks + part] = None
            elif all(line.startswith("//") for line in part.splitlines()):
                remarks = f"{part}\n"
            else:
                definitions[part] = None
    return "\n\n".join([*definitions, *_told_apart(kernels)]) + "\n"


def _told_apart(kernels: Iterable[str]) -> Iterator[str]:
    names: Counter[str] = Counter()
    for kernel in kernels:
        match = _NAME.search(kernel)
        name = match[1] if match else ""
        names[name] += 1
        yield kernel if names[name] == 1 else _NAME.sub(rf"\1_{names[name]}(", kernel, count=1)
