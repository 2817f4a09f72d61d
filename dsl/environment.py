"""The environment variables that a user sets, read strictly.

DSLC_TARGET      the target where none is named
DSLC_CACHE       on or off; the folder is DSLC_CACHE_DIR
DSLC_JIT         on, or error: then no call compiles anything
DSLC_TRACEBACK   full, or short: then errors leave out the compiler's own frames

DSLC_CACHE_MAX_SIZE   what the folder may take, as in 500M (5G where it is not set), or none

DSLC_SHARED_CACHE         a second-level cache, any URL of fsspec
DSLC_SHARED_CACHE_WRITE   on, or off: then it is only read
DSLC_SHARED_CACHE_SECRET  entries are taken from those alone who know it
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from dslc.amounts import SIZES, amount
from dslc.compiler.diagnostics import error

_MAX_SIZE = "5G"
_ON = ("on", "1", "yes", "true")
_OFF = ("off", "0", "no", "false")


def default_target() -> str:
    """What `DSLC_TARGET` says, else the fastest machine that is here: its GPU, else its CPU.

    DSL0901 where there is no target for this CPU either.
    """
    from dslc.machines.registry import fastest_target

    return os.environ.get("DSLC_TARGET") or fastest_target()


def cache_is_on() -> bool:
    """What `DSLC_CACHE` says, else True; DSL0916 for anything but on and off."""
    hint = "the folder of the cache is DSLC_CACHE_DIR"
    return _word("DSLC_CACHE", (*_ON, *_OFF), "on or off", hint) not in _OFF


def cache_max_bytes() -> int | None:
    """What `DSLC_CACHE_MAX_SIZE` says in bytes, else 5 GiB; None for none. DSL0916 for other words."""
    text = os.environ.get("DSLC_CACHE_MAX_SIZE", "").strip() or _MAX_SIZE
    if text.lower() == "none":
        return None
    size = amount(text, SIZES)
    if size is None:
        raise error("DSL0916", f"DSLC_CACHE_MAX_SIZE is a size such as 500M or none, not {text!r}")
    return int(size)


def calls_compile() -> bool:
    """Whether a call may compile its kernel: not with `DSLC_JIT=error`. DSL0916 for other words."""
    return _word("DSLC_JIT", (*_ON, "error"), "on or error") != "error"


def tracebacks_are_full() -> bool:
    """Whether errors keep the compiler's own frames: with `DSLC_TRACEBACK=full`.

    Other words count as `short`: what shows an error is no place for another.
    """
    return os.environ.get("DSLC_TRACEBACK", "").strip().lower() == "full"


def shared_cache_url() -> str | None:
    """What `DSLC_SHARED_CACHE` says; None where it is not set."""
    return os.environ.get("DSLC_SHARED_CACHE", "").strip() or None


def shared_cache_is_written() -> bool:
    """What `DSLC_SHARED_CACHE_WRITE` says, else True; DSL0916 for anything but on and off."""
    return _word("DSLC_SHARED_CACHE_WRITE", (*_ON, *_OFF), "on or off") not in _OFF


def shared_cache_secret() -> bytes:
    """What `DSLC_SHARED_CACHE_SECRET` says, empty where it is not set."""
    return os.environ.get("DSLC_SHARED_CACHE_SECRET", "").encode()


def _word(name: str, known: Sequence[str], said: str, hint: str | None = None) -> str:
    """The variable's word in small letters, empty where it is not set."""
    value = os.environ.get(name, "")
    word = value.strip().lower()
    if word and word not in known:
        raise error("DSL0916", f"{name} is {said}, not {value!r}", hint=hint)
    return word
