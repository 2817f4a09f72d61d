"""What the language has: its functions with signatures and texts, its statements, its dtypes."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass

from dslc.compiler.dtypes import DType, all_dtypes, parse_dtype

_STATEMENTS = {
    "kernel": "`kernel NAME(x: f16[M, N], y: out f16[M, N]):` a kernel, whose turns run at once.",
    "program": "`program NAME(...):` several kernels, one dispatch.",
    "def": "`def NAME(x):` a function, inlined where it is called.",
    "const": "`const NAME = value`: a number, dtype or layout that is known at compile time.",
    "tune": "`tune NAME = a | b | c`: choices; a call names one, or the compiler takes one.",
    "require": "`require condition`: checked at the call; the compiler may rely on it.",
    "from": "`from FILE import NAME, ...`: kernels, functions and consts of another file.",
    "for": "`for i in range(...):` a loop; `for m, n in parallel(range(...), ...):` the turns.",
    "while": "`while condition:` a loop, on scalars.",
    "if": "`if condition:` a branch, on scalars.",
    "elif": "`elif condition:`",
    "else": "`else:`",
    "assert": '`assert condition, "text"`: checked by the interpreter and on NVIDIA GPUs.',
    "return": "`return value`, last in a function.",
    "pass": "`pass`: nothing.",
    "out": "`y: out f16[M, N]`: written by the kernel, never read.",
    "inout": "`y: inout f16[M, N]`: read and written.",
    "packed": "`w: u4[K, N] packed row`: compact, row by row.",
    "strides": "`x: f16[M, K] strides (sm, 1)`: element [i, j] at i * sm + j.",
}
STATEMENTS = tuple(_STATEMENTS)


@dataclass(frozen=True)
class Described:
    """A function of the language: `parameters` as they are written in a signature."""

    name: str
    parameters: tuple[str, ...]
    text: str

    @property
    def signature(self) -> str:
        """`name(parameters)`."""
        return f"{self.name}({', '.join(self.parameters)})"


@functools.cache
def functions() -> dict[str, Described]:
    """The functions of the language by name, those on layouts too."""
    from dslc import lang
    from dslc.checker.calls import FUNCTIONS
    from dslc.compiler.layout import LAYOUT_FUNCTIONS

    described = {}
    for name in sorted({*FUNCTIONS, *LAYOUT_FUNCTIONS, "range", "parallel", "print", "grid"}):
        function = getattr(lang, name, None)
        if name == "range":
            parameters: tuple[str, ...] = (
                "start",
                "stop=None",
                "step=1",
                "*",
                "stages=None",
                "unroll=None",
                "split=None",
                "atomic=False",
            )
            text = (
                "The iterations of a sequential loop. `stages`: how many iterations' loads are in "
                "flight. `unroll`: how many are written out. `split`: among how many program "
                "instances the reduction may be divided. `atomic`: these may add their parts to the "
                "result themselves."
            )
        elif function is None:
            continue
        else:
            parameters = _parameters(function)
            text = inspect.getdoc(function) or ""
        described[name] = Described(name, parameters, text)
    return described


def _parameters(function: object) -> tuple[str, ...]:
    try:
        signature = inspect.signature(function)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ("...",)
    words: list[str] = []
    for p in signature.parameters.values():
        star = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        if p.kind is p.KEYWORD_ONLY and "*" not in words and not any(w[0] == "*" for w in words):
            words.append("*")
        default = "" if p.default is p.empty else f"={p.default!r}"
        words.append(f"{star}{p.name}{default}")
    return tuple(words)


def statement_text(word: str) -> str | None:
    """What a keyword means."""
    return _STATEMENTS.get(word)


def dtype_text(name: str) -> str | None:
    """What a dtype is: its bits, and the range of its values."""
    dtype = parse_dtype(name)
    return None if dtype is None else _described(dtype)


def _described(dtype: DType) -> str:
    from dslc.compiler.dtypes import Kind

    bits = f"{dtype.bits} bit{'' if dtype.bits == 1 else 's'}"
    match dtype.kind:
        case Kind.INT:
            half = 1 << dtype.bits - 1
            return f"a signed integer of {bits}: {-half} to {half - 1}"
        case Kind.UINT:
            return f"an unsigned integer of {bits}: 0 to {(1 << dtype.bits) - 1}"
        case Kind.FLOAT:
            parts = f"{dtype.exponent} of exponent, {dtype.mantissa} of mantissa"
            return f"a float of {bits}: {parts}"
        case _:
            return f"the dtype {dtype}"


def dtypes() -> list[str]:
    """Every dtype by name."""
    return [d.name for d in all_dtypes()]
