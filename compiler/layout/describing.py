"""A layout in words: its measures, how it meets a memory, and how two of them differ."""

from __future__ import annotations

from itertools import product

from dslc.compiler.layout.access import bits_per_thread, vector_width
from dslc.compiler.layout.banks import BankModel, bank_conflicts
from dslc.compiler.layout.conversions import conversion
from dslc.compiler.layout.division import divide, divisible
from dslc.compiler.layout.inversion import locate
from dslc.compiler.layout.layout import Layout
from dslc.compiler.layout.printing import format_modes

_WAYS = {
    "none": "none: they are one layout",
    "registers": "within each thread's registers",
    "shuffle": "by shuffles within each warp of {warp} threads",
    "shared": "through shared memory",
}


def describe(
    layout: Layout,
    *,
    bits: int = 16,
    memory: Layout | None = None,
    banks: BankModel | None = None,
    max_bits: int = 128,
) -> str:
    """What a layout is, a line each: shape, threads, elements, canonical text and modes.

    With a memory layout also the widest access of at most `max_bits` for elements of `bits` bits, and
    with banks the conflicts of that access.
    """
    lines = [
        ("layout", str(layout)),
        ("modes", format_modes(layout)),
        ("shape", " x ".join(map(str, layout.shape))),
        ("threads", str(layout.threads)),
        ("elements", f"{layout.locals} per thread, {bits_per_thread(layout, bits)} bits"),
    ]
    if layout.replication > 1:
        lines.append(("copies", f"each element is in {layout.replication} threads"))
    width = vector_width(layout, memory, bits, max_bits)
    where = f"memory {memory}" if memory is not None else "row-major memory"
    lines.append(("access", f"{width} elements, {width * bits} bits at once, in {where}"))
    if memory is not None and banks is not None:
        for name, store in (("load", False), ("store", True)):
            conflicts = bank_conflicts(layout, memory, bits, banks, store=store)
            free = (
                "free of bank conflicts"
                if conflicts.ways == 1
                else f"{conflicts.ways}-way conflicts"
            )
            lines.append((name, f"{free}: {conflicts.cycles} cycles for {conflicts.phases} phases"))
    return "".join(f"{name:<10}{text}\n" for name, text in lines)


def compare(a: Layout, b: Layout, warp_size: int = 32) -> str:
    """How two layouts differ: measures, quotients, the first element that moves, the conversion."""
    lines = [
        ("first", _measures(a)),
        ("second", _measures(b)),
        ("equal", "yes" if a == b else "no"),
    ]
    for name, f, g in (("first / second", a, b), ("second / first", b, a)):
        if a != b and divisible(f, g):
            lines.append((name, str(divide(f, g))))
    if a.shape != b.shape:
        lines.append(("conversion", "none exists: the tiles have different shapes"))
    else:
        moved = _first_moved(a, b)
        if moved is not None:
            lines.append(("differ at", moved))
        way = conversion(a, b, warp_size).value
        lines.append(("conversion", _WAYS[way].format(warp=warp_size)))
    return "".join(f"{name:<16}{text}\n" for name, text in lines)


def _measures(layout: Layout) -> str:
    shape = " x ".join(map(str, layout.shape))
    return f"{layout}: {shape}, {layout.threads} threads with {layout.locals} elements"


def _first_moved(a: Layout, b: Layout) -> str | None:
    for index in product(*map(range, a.shape)):
        here, there = locate(a, index), locate(b, index)
        if here != there:
            return f"{index} is {_holders(*here)}, then {_holders(*there)}"
    return None


def _holders(threads: tuple[int, ...], number: int) -> str:
    named = ", ".join(map(str, threads[:4])) + (", .." if len(threads) > 4 else "")
    return f"element {number} of thread{'s' if len(threads) > 1 else ''} {named}"
