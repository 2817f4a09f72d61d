"""Columns as the operands of one instruction: a scale and a bias, or two numbers for each partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from dslc.codegen.nki.arithmetic.elementwise import ALU
from dslc.codegen.nki.emission import At, Emission
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.ir import instructions as ins
from dslc.compiler.passes.trainium.lanes import activations

Scaling: TypeAlias = "dict[str, str | None]"
"""`op`, `scale` and `bias` of an instruction of the scalar engine."""


def activation(
    e: Emission, dst: str, data: str, scaling: Scaling, summed: Mapping[str, str] | None = None
) -> None:
    """One instruction of the scalar engine."""
    op, rest = scaling["op"], {k: v for k, v in scaling.items() if k != "op"}
    e.call("activation", dst=dst, op=op, data=data, **rest, **(summed or {}))


def scalings(
    e: Emission, steps: Sequence[str], columns: Sequence[TileValue], at: At
) -> list[Scaling]:
    """op(x * scale + bias), one after another, that the steps are."""
    pieces = activations(steps)
    assert pieces is not None
    rest = iter(columns)
    return [
        _scaling(e, piece, [next(rest) for s in piece if s in ins.FUSED_OPS], at)
        for piece in pieces
    ]


def _scaling(e: Emission, steps: Sequence[str], columns: Sequence[TileValue], at: At) -> Scaling:
    words: Scaling = {"op": "nl.copy", "bias": None, "scale": None}
    rest = iter(columns)
    for step in steps:
        if step == "mul":
            words["scale"] = e.column(next(rest), at)
        elif step in ("add", "sub"):
            words["bias"] = _bias(e, next(rest), at, negated=step == "sub")
        else:
            words["op"] = f"nl.{step}"
    return words


def _bias(e: Emission, held: TileValue, at: At, *, negated: bool) -> str:
    """A column that is added, or a number where the scalar engine takes one."""
    sign = "-" if negated else ""
    if held.constant is not None and e.engines.copies:
        return f"{sign}({held.constant})" if negated else held.constant
    if held.constant is None and not negated:
        return e.column(held, at)
    name = e.out.name("bias")
    e.out.line(f"{name} = {e.tensor(name, at.rows, (1,), 'nl.float32')}")
    if held.constant is not None:
        e.call("memset", dst=name, value=f"{sign}({held.constant})")
    else:
        # By the engine that takes it, which waits for no other one's queue.
        e.call("activation", dst=name, op="nl.copy", data=e.column(held, at), scale=-1.0)
    return name


def columns_text(
    e: Emission, steps: Sequence[str], columns: Sequence[TileValue], at: At
) -> dict[str, str | None]:
    """One or two operations of the vector engine with columns."""
    words: dict[str, str | None] = {}
    for number, (step, held) in enumerate(zip(steps, columns, strict=True)):
        words[f"op{number}"] = ALU[step.removeprefix("r")]
        words[f"operand{number}"] = e.column(held, at)
        words[f"reverse{number}"] = "True" if step == "rsub" else None
    return words
