"""Launch options: choices that are not the kernel's own, such as how many warps run a turn.

They are given where tune choices are: `lib.gemm(a, b, c, BM=64, warps=8)`. A kernel that has a
parameter, tune or dim of that name means that. The interpreter has no use for them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dslc.compiler.diagnostics import error

OPTIONS = {
    "warps": "how many warps of 32 threads run a turn together",
    "stages": "how many iterations of a loop have their loads under way, this one included",
    "cluster": "how many blocks share what they read in common, or add up the parts of a split sum",
    "producers": "whether warps of their own copy what a loop multiplies: 1 where they can, 0 nowhere",
}
_LEAST = {"producers": 0}  # of others 1
_MOST = {"warps": 32, "stages": 16, "cluster": 8, "producers": 1}


def as_option(name: str, value: object) -> int:
    """The value of a launch option; DSL0758 where it is no whole number in its range."""
    least, most = _LEAST.get(name, 1), _MOST[name]
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    text = f"{name} is a whole number from {least} to {most}, not {value!r}"
    raise error("DSL0758", text, hint=OPTIONS[name])


def split(
    config: Mapping[str, object], tunes: Collection[str]
) -> tuple[dict[str, object], dict[str, int]]:
    """The choices of a kernel's tunes, and the launch options beside them."""
    options = {n: as_option(n, v) for n, v in config.items() if n in OPTIONS and n not in tunes}
    return {n: v for n, v in config.items() if n not in options}, options
