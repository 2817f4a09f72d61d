"""What registers of warpgroup products (HGMMA and kin) meet in machine code.

A product reads its left operand from registers, and writes its results, until a wait says that it
has ended. `in_flight` finds instructions that touch either meanwhile; `definitions` tells which
instructions the left operand's registers come from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dslc.codegen.cuda.tools.sass import Code, Instruction

_REGISTER = re.compile(r"(?<![U\w])R(\d+)(?:\.(64))?\b")
_SHAPE = re.compile(r"(\d+)x(\d+)x(\d+)")
_WIDTHS = {".64": 2, ".128": 4, ".96": 3, ".WIDE": 2}
_PAIRS = frozenset({"CS2R"})
# what has no register for a result
_WORDS = (
    "ST STG STS STL STSM RED REDG BRA CALL RET EXIT BAR SYNCS UTMALDG UTMASTG LDGSTS WARPSYNC BSSY"
    " BSYNC ISETP FSETP HSETP2 PLOP3 DEPBAR WARPGROUP LDGDEPBAR MEMBAR FENCE NOP UBLKCP USETMAXREG"
)
_SILENT = frozenset(_WORDS.split())


def is_product(i: Instruction) -> bool:
    """Whether a warpgroup multiplies."""
    return i.name in ("HGMMA", "IGMMA", "QGMMA", "BGMMA")


@dataclass(frozen=True, slots=True)
class Flow:
    """Instructions of a function with what follows each."""

    code: Code
    following: tuple[tuple[int, ...], ...]
    before: tuple[tuple[int, ...], ...]
    written: tuple[frozenset[int], ...]


def flow(code: Code) -> Flow:
    """The graph of a function; a call goes on after itself."""
    listed = code.instructions
    at = {i.address: n for n, i in enumerate(listed)}
    following = tuple(
        tuple(x for x in _following(n, i, at) if x < len(listed)) for n, i in enumerate(listed)
    )
    before: list[list[int]] = [[] for _ in listed]
    for n, ways in enumerate(following):
        for x in ways:
            before[x].append(n)
    return Flow(
        code, following, tuple(map(tuple, before)), tuple(frozenset(_written(i)) for i in listed)
    )


def _following(n: int, i: Instruction, at: dict[int, int]) -> list[int]:
    if i.name in ("EXIT", "RET"):
        return [n + 1] if i.predicate else []
    if i.name != "BRA":
        return [n + 1]
    ways = [at[i.target]] if i.target in at else []
    conditional = i.predicate or "P" in i.operands or ".U" in i.opcode
    return [*ways, n + 1] if conditional else ways


def _written(i: Instruction) -> range:
    if i.name in _SILENT:
        return range(0)
    operands = [x.strip() for x in i.operands.split(",")]
    first = next((x for x in operands[:2] if not re.fullmatch(r"U?P(\d|T)", x)), "")
    match = _REGISTER.match(first)
    if match is None:
        return range(0)
    start, width = int(match[1]), 1
    if is_product(i):
        width = _accumulators(i)
    elif i.name == "LDSM":
        width = {"4": 4, "2": 2}.get(i.opcode.rpartition(".")[2], 1)
    elif i.name in _PAIRS or match[2]:
        width = 2
    else:
        width = next((w for mark, w in _WIDTHS.items() if mark in i.opcode), 1)
    return range(start, start + width)


def _accumulators(i: Instruction) -> int:
    shape = _SHAPE.search(i.opcode)
    assert shape is not None, i
    return int(shape[2]) // 2


def left(i: Instruction) -> range:
    """The registers of a product's left operand; none where it lies in memory."""
    match = _REGISTER.fullmatch(i.operands.split(",")[1].strip()) if is_product(i) else None
    return range(int(match[1]), int(match[1]) + 4) if match else range(0)


def definitions(graph: Flow, n: int, register: int) -> set[int]:
    """The instructions whose result instruction `n` may find in the register."""
    found: set[int] = set()
    seen: set[int] = set()
    todo = list(graph.before[n])
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        if register in graph.written[at]:
            found.add(at)
            if not graph.code.instructions[at].predicate:
                continue
        todo += graph.before[at]
    return found


def in_flight(graph: Flow) -> list[str]:
    """Instructions that touch what a product under way reads or writes, as sentences."""
    found = []
    for n, i in enumerate(graph.code.instructions):
        if is_product(i):
            results, held = set(graph.written[n]), set(left(i))
            closed = "gsb0" in i.operands
            for x in _until_waited(graph, n, closed):
                other = graph.code.instructions[x]
                if _touches(graph, x, other, results, held):
                    found.append(f"{other} at {other.address:#x}, while {i} at {i.address:#x} runs")
    return found


def _touches(graph: Flow, x: int, i: Instruction, results: set[int], held: set[int]) -> bool:
    if is_product(i):  # in order, on the same results or on others
        own = set(graph.written[x])
        return bool(own & held) or bool(set(left(i)) & results) or own & results not in (set(), own)
    if graph.written[x] & (results | held):
        return True
    return any(int(m[1]) in results for m in _REGISTER.finditer(i.operands))


def _until_waited(graph: Flow, n: int, closed: bool) -> set[int]:
    """The instructions that may follow before the product's group has ended.

    Groups are counted as they are closed, from the product's own on: a wait that leaves fewer under way
    than have been closed ends it.
    """
    start = int(closed)
    seen: set[tuple[int, int]] = set()
    todo = [(x, start) for x in graph.following[n]]
    while todo:
        at, groups = todo.pop()
        if (at, groups) in seen:
            continue
        seen.add((at, groups))
        i = graph.code.instructions[at]
        if i.opcode.startswith("WARPGROUP.DEPBAR"):
            pending = int(i.operands.rpartition(",")[2].strip(), 16)
            if groups > pending:
                continue
        if is_product(i) and "gsb0" in i.operands:
            groups = min(groups + 1, 8)
        todo += [(x, groups) for x in graph.following[at]]
    return {at for at, _ in seen}
