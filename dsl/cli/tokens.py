"""Texts as tokens, for the commands that take texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dslc.compiler.diagnostics import error

if TYPE_CHECKING:
    from dslc.runtime.elements import Array

_SEQUENCE = 512


def tokenizer_of(model: Path) -> Any:
    """The model's tokenizer; DSL0789 where there is none, or not the package that reads it."""
    path = (model if model.is_dir() else model.parent) / "tokenizer.json"
    if not path.is_file():
        hint = "give tokens instead: --ids, or a calibration of .npy"
        raise error("DSL0789", f"there is no {path} to read a text by", hint=hint)
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise error(
            "DSL0789", "texts need the package tokenizers", hint="pip install 'dslc[models]'"
        ) from None
    try:
        return Tokenizer.from_file(str(path))
    except Exception as problem:  # the package raises Exception itself
        raise error("DSL0789", f"{path} is no tokenizer: {str(problem)[:200]}") from None


def texts_of(file: Path) -> tuple[str, ...]:
    """The lines of a file that have something in them; DSL0789 where it cannot be read."""
    try:
        return tuple(line for line in file.read_text(encoding="utf-8").splitlines() if line)
    except (OSError, ValueError) as problem:
        raise error("DSL0789", f"{file} cannot be read: {str(problem)[:200]}") from None


def sequences_of(file: Path, model: Path, limit: int) -> Array:
    """The first tokens of a text, or of a .npy of them, up to `limit`: sequences [n, length].

    They are of 512 tokens, or one of what a shorter text has; what is left over goes. DSL0789 where
    there are none, or the file cannot be read.
    """
    import numpy as np

    try:
        if file.suffix == ".npy":
            ids = np.load(file, allow_pickle=False).reshape(-1)
        else:
            text = file.read_text(encoding="utf-8")
            ids = np.array(tokenizer_of(model).encode(text).ids, np.int64)
    except (OSError, ValueError, EOFError) as problem:
        raise error("DSL0789", f"{file} cannot be read: {str(problem)[:200]}") from None
    ids = ids[:limit]
    length = min(len(ids), _SEQUENCE)
    if not length or ids.dtype.kind not in "iu":
        raise error("DSL0789", f"{file} has no tokens", hint="a text, or integers in .npy")
    count = len(ids) // length
    sequences: Array = ids[: count * length].reshape(count, length)
    return sequences
