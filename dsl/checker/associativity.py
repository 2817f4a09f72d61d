"""Functions that scan and reduce apply, tried on samples: a warning where one is not associative.

    def apart(a, b):
        return a - b             # (5 - 2) - 1 is 2, 5 - (2 - 1) is 4

Both groupings are elaborated over a tile of samples, as the function would be, and interpreted. Samples
are positive: what is associative for the states that a program has (a count that is above 0, say) need
not be so for all others, and is not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias

from dslc.checker.context import Context
from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Loc, Severity
from dslc.compiler.dtypes import BOOL, DType
from dslc.compiler.ir import Kernel, Memory, Role, TileType, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.regions import whole

if TYPE_CHECKING:
    from dslc.compiler.dtypes.storage import Array

State: TypeAlias = tuple[Value, ...]
"""Tiles of one shape that are scanned or reduced together."""
Combine: TypeAlias = Callable[[State, State], State]

_SAMPLES = 64
_LEAST, _MOST = 0.25, 4.0  # of floats; integers are 1 to 6
_ULPS = 64  # that both groupings of floats may lie apart: a function rounds several times

_warnings: ContextVar[list[Diagnostic] | None] = ContextVar("warnings", default=None)


@contextmanager
def warned() -> Iterator[list[Diagnostic]]:
    """Try the functions of what is elaborated meanwhile: the warnings (DSL0237), each once."""
    warnings: list[Diagnostic] = []
    token = _warnings.set(warnings)
    try:
        yield warnings
    finally:
        _warnings.reset(token)


def try_function(c: Context, combine: Combine, like: State, name: str, loc: Loc) -> None:
    """Try a function of states like this one, where warnings are asked for."""
    warnings = _warnings.get()
    if warnings is None or any(w.loc == loc for w in warnings):
        return
    with suppress(DiagnosticError):  # where it takes no other shapes it is not tried
        text = _counterexample(c, combine, [x.type.dtype for x in like], name)
        if text is not None:
            hint = "elements are grouped in any way: where their order matters, write a loop"
            warnings.append(Diagnostic("DSL0237", text, loc, hint, severity=Severity.WARNING))


def _counterexample(c: Context, combine: Combine, dtypes: Sequence[DType], name: str) -> str | None:
    """What both groupings give where they differ; None where they agree on all samples."""
    import numpy as np
    from dslc.compiler.dtypes import decode, encode, storage_dtype
    from dslc.compiler.interpreter import Options, run

    memories: list[Memory] = []

    def memory(dtype: DType, role: Role) -> Memory:
        memories.append(Memory(f"m{len(memories)}", dtype, (ex.index(_SAMPLES),), role))
        return memories[-1]

    with c.emit.nested() as block:
        states: list[State] = []
        for _ in range(3):
            tiles = tuple(Value(TileType(d, (_SAMPLES,))) for d in dtypes)
            for tile in tiles:
                source = whole(memory(tile.type.dtype, Role.IN), (_SAMPLES,))
                c.emit.emit(ins.Load(tile, source))
            states.append(tiles)
        a, b, d = states
        for results in (combine(combine(a, b), d), combine(a, combine(b, d))):
            for tile in results:
                c.emit.emit(ins.Store(whole(memory(tile.type.dtype, Role.OUT), (_SAMPLES,)), tile))
    rng = np.random.default_rng(0)
    arrays = {}
    for m in memories:
        drawn = _drawn(rng.random(_SAMPLES), m.dtype)
        arrays[m.name] = (
            encode(drawn, m.dtype)
            if m.role is Role.IN
            else np.zeros(_SAMPLES, storage_dtype(m.dtype))
        )
    run(Kernel("groupings", tuple(memories), (), (), tuple(block)), arrays, Options(check=False))
    values = [decode(arrays[m.name], m.dtype) for m in memories]
    count = len(dtypes)
    first, second = values[3 * count : 4 * count], values[4 * count :]
    differ = np.logical_or.reduce(
        [_differ(x, y, t) for x, y, t in zip(first, second, dtypes, strict=True)]
    )
    if not differ.any():
        return None
    at = int(np.argmax(differ))
    shown = [_shown([v[at] for v in values[k * count : (k + 1) * count]]) for k in range(5)]
    given = ", ".join(f"{n} = {v}" for n, v in zip("abc", shown, strict=False))
    return (
        f"{name} is not associative: {name}({name}(a, b), c) is {shown[3]} and "
        f"{name}(a, {name}(b, c)) is {shown[4]} for {given}"
    )


def _drawn(uniform: Array, dtype: DType) -> Array:
    """Samples of a type from numbers between 0 and 1."""
    if dtype == BOOL:
        return uniform < 0.5
    if dtype.is_float:
        return _LEAST + (_MOST - _LEAST) * uniform
    return 1 + (uniform * 6).astype(int)


def _differ(x: Array, y: Array, dtype: DType) -> Array:
    """Where two results are not one number; of floats that are not finite nothing is said."""
    import numpy as np

    if not dtype.is_float:
        differing: Array = x != y
        return differing
    wide, other = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(invalid="ignore"):
        most = np.maximum(np.maximum(np.abs(wide), np.abs(other)), 1)
        apart: Array = np.abs(wide - other) > _ULPS * 2.0**-dtype.mantissa * most
    return apart & np.isfinite(wide) & np.isfinite(other)


def _shown(values: Sequence[object]) -> str:
    texts = [f"{float(v):.4g}" for v in values]  # type: ignore[arg-type]  # numbers of NumPy
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
