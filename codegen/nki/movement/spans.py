"""What a transfer takes of a tensor in HBM: slices of its axes, or a pattern of strides.

Starts are known when the kernel is traced, or lie in a register. No arithmetic of registers is
documented: what is added to one is a slice of its own, or the offset of the pattern.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dslc.codegen.nki.bounds import is_not_negative
from dslc.codegen.nki.emission import Emission
from dslc.codegen.nki.movement.strides import row_major, total
from dslc.codegen.nki.tile_values import PARTITIONS, TileValue
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import AxisSlice, Memory
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.passes.dynamic_values.dynamic_slices import is_counted


@dataclass(frozen=True, slots=True)
class Span:
    """What a transfer takes of one axis of a memory.

    `first` and `end` count elements of the tile's axis: from 0 up to its extent where nothing is
    clipped. `axis` is the tile's, None for one that is dropped.
    """

    axis: int | None
    start: ex.Expr
    step: int
    first: str
    end: str
    size: int | str
    clipped: bool


def span_of(
    e: Emission, a: AxisSlice, axis: int | None, start: ex.Expr, size: int | str, extent: ex.Expr
) -> Span:
    """One axis of a transfer, with the clip that it needs written out."""
    if a.checked and not e.beyond.isdisjoint(ex.free_vars(start)):
        return Span(axis, start, a.step, "0", "0", size, clipped=True)
    if e.is_dynamic(start) and not is_counted(start, e.dynamic):
        start = _registered(e, a, start)
    if not a.checked or e.is_dynamic(start):
        return Span(axis, start, a.step, "0", str(size), size, clipped=False)
    left = simplify(ex.Binary("sub", extent, start, INDEX))
    if is_not_negative(e, start):
        end = e.out.name("end")
        room = e.scalar(left)
        if a.step > 1:
            room = f"-(-({room}) // {a.step})"
        e.out.line(f"{end} = min({size}, {room})")
        return Span(axis, start, a.step, "0", end, size, clipped=True)
    e.needs.add("clipped")
    first, end = e.out.name("first"), e.out.name("end")
    e.out.line(f"{first}, {end} = clipped({e.scalar(start)}, {size}, {a.step}, {e.scalar(extent)})")
    return Span(axis, start, a.step, first, end, size, clipped=True)


def _registered(e: Emission, a: AxisSlice, start: ex.Expr) -> ex.Expr:
    """A start that is computed on the machine, in a register."""
    from dslc.codegen.nki.arithmetic.dynamic_scalars import register

    if a.checked:
        raise error(
            "DSL0590",
            "a slice that begins at a number read from a tile may reach out of its tensor, and a "
            "NeuronCore has no clip for it",
            hint="gather reads rows by numbers that may be out of range",
        )
    return registered(e, register(e, start, "start"))


def registered(e: Emission, name: str) -> ex.Var:
    """The number in a register of the emitted program."""
    var = ex.Var(f"${name}", INDEX)
    e.names[var] = name
    e.dynamic.add(var)
    return var


def count(span: Span) -> str:
    """How many elements of the axis there are."""
    return span.end if span.first == "0" else f"{span.end} - {span.first}"


def slices(e: Emission, memory: Memory, spans: list[Span]) -> str:
    """The elements as slices; what is added to a register is a slice of its own before that."""
    base = e.memories[memory]
    pairs = [split_start(e, s.start) for s in spans]
    if any(not _is_zero(rest) for register, rest in pairs if register is not None):
        shifted = [
            f"{e.scalar(ex.index(0) if register is None else rest)}:{e.scalar(extent)}"
            for (register, rest), extent in zip(pairs, memory.shape, strict=True)
        ]
        base = f"{base}[{', '.join(shifted)}]"
        spans = [
            s if register is None else replace(s, start=register)
            for s, (register, _) in zip(spans, pairs, strict=True)
        ]
    return f"{base}[{', '.join(slice_of(e, s) for s in spans)}]"


def split_start(e: Emission, start: ex.Expr) -> tuple[ex.Var | None, ex.Expr]:
    """The register of a start, and what is added to it: no arithmetic of registers is documented."""
    register = next((v for v in ex.free_vars(start) if v in e.dynamic), None)
    if register is None:
        return None, start
    return register, simplify(ex.Binary("sub", start, register, INDEX))


def _is_zero(x: ex.Expr) -> bool:
    return isinstance(x, ex.Const) and x.value == 0


def slice_of(e: Emission, span: Span) -> str:
    """The subscript of one axis of a memory."""
    if span.axis is None:
        return e.scalar(span.start)
    if e.is_dynamic(span.start):
        return f"nl.ds({e.scalar(span.start)}, {span.size})"
    first = _moved(e, span, span.first)
    if span.step == 1:
        return f"{first}:{_moved(e, span, span.end)}"
    last = _moved(e, span, span.end, back=span.step - 1)
    return f"{first}:{last}:{span.step}"


def _moved(e: Emission, span: Span, by: str, back: int = 0) -> str:
    """start + by * step - back."""
    if by.isdigit():
        return e.scalar(simplify(plus(span.start, ex.index(int(by)), span.step, back)))
    start = e.scalar(simplify(plus(span.start, ex.index(0), 1, back)))
    moved = by if span.step == 1 else f"{by} * {span.step}"
    if " if " in start or " or " in start or " and " in start:  # they bind less than a sum
        start = f"({start})"
    return moved if start == "0" else f"{start} + {moved}"


def _word(text: str) -> ex.Expr:
    return ex.index(int(text)) if text.lstrip("-").isdigit() else ex.Var(f"${text}", INDEX)


def _scalar_with(e: Emission, expr: ex.Expr) -> str:
    for var in ex.free_vars(expr):
        if var not in e.names and var.name.startswith("$"):
            e.names[var] = var.name[1:]
    return e.scalar(expr)


def pattern(e: Emission, memory: Memory, held: TileValue, spans: list[Span]) -> str:
    """The elements in the order of the tile's partitions: strides and counts."""
    strides = row_major(memory)
    by_axis: dict[int | None, str] = {}
    offset: ex.Expr = ex.index(0)
    registers: dict[int, str] = {}
    for number, (span, stride) in enumerate(zip(spans, strides, strict=True)):
        register, rest = split_start(e, span.start)
        if register is not None:
            registers[number] = e.names[register]
        start = simplify(plus(rest, _word(span.first), span.step))
        offset = total(offset, ex.Binary("mul", start, stride, INDEX))
        if span.axis is not None:
            step = simplify(ex.Binary("mul", stride, ex.index(span.step), INDEX))
            by_axis[span.axis] = f"[{_scalar_with(e, step)}, {count(span)}]"
    along = held.place.axis
    pairs = [f"[0, {PARTITIONS}]" if along is None else by_axis[along]]
    pairs += [by_axis[i] for i in held.free if i != along] or ["[1, 1]"]
    at = _scalar_with(e, simplify(offset))
    text = f", offset={at}" if at != "0" else ""
    base = e.memories[memory]
    if len(registers) == 1:
        ((number, name),) = registers.items()
        text += f", scalar_offset={name}, indirect_dim={number}"
    elif registers:  # a pattern has one offset that the machine knows: the view begins there
        places = [
            f"nl.ds({registers[i]}, 1)" if i in registers else f"0:{e.scalar(extent)}"
            for i, extent in enumerate(memory.shape)
        ]
        base = f"{base}[{', '.join(places)}]"
    return f"{base}.ap(pattern=[{', '.join(pairs)}]{text})"


def plus(x: ex.Expr, y: ex.Expr, times: int, minus: int = 0) -> ex.Expr:
    """x + y * times - minus."""
    moved = total(x, ex.Binary("mul", y, ex.index(times), INDEX))
    return moved if minus == 0 else ex.Binary("sub", moved, ex.index(minus), INDEX)
