"""Products of operands that lack a power of two, which their accumulators make up for.

A cast that only a product reads need not give numbers: fields of codes, brought to the low bits of
halves, are the integers times 2^-24 2^t, a power of two that the place decides; a small float without
its bias is the number times a power of two (`scaled_rules.py`). Products and sums in f32 keep such
a factor exactly. So the instructions of each factor add up in registers of their own, and these are
multiplied once when they are added to the accumulators: an FMA an accumulator in place of a
subtraction, multiplication or shift a word of weights. Where a loop does nothing with an accumulator
but this, that is after the loop.

The larger operand of an instruction has rows of two kinds in a thread, eight apart, and so has the
result: each kind may lack a power of its own. A *pattern* is the classes of the two, or their one.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from dslc.codegen.c_family.casts.bits import Bits
from dslc.codegen.c_family.casts.extraction import hexadecimal
from dslc.codegen.c_family.casts.scaled_rules import (
    Scaled,
    class_counts,
    exact_shifts,
    scaled_rule_for,
)
from dslc.codegen.c_family.casts.word_loops import emit_words, indexed
from dslc.codegen.c_family.emission import Deferred, Emission
from dslc.codegen.c_family.products.instruction_operands import Plan, Step
from dslc.codegen.c_family.products.instructions import Call, emit_calls
from dslc.codegen.c_family.registers import Tile
from dslc.codegen.c_family.unrolling import linear_loops
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Var

_MOST_REGISTERS = 128  # of sums beside the accumulators
_PRODUCT = 4  # instructions that a matrix instruction takes the time of

Pattern = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Meetings in which the same registers of the scaled operand take part: one iteration of k each."""

    steps: tuple[tuple[Step, ...], ...]  # [k][meeting]

    @property
    def accumulators(self) -> tuple[int, ...]:
        """The registers of the result, one instruction's after another's."""
        return tuple(r for step in self.steps[0] for r in step.c)

    @property
    def rows(self) -> tuple[int, ...]:
        """Of which kind of rows each of these is."""
        return tuple(row for step in self.steps[0] for row in _rows(step))


@dataclass(frozen=True, slots=True)
class Choice:
    """The rule for an operand, and the class of each of its registers."""

    scaled: Scaled
    classes: tuple[int, ...]


def groups_of(found: Plan, left: bool) -> list[Group]:
    """The steps of a plan by the scaled operand's rows; `left` where it is the instruction's a."""
    width = next(
        (i for i, s in enumerate(found.steps) if i and s.c == found.steps[0].c), len(found.steps)
    )
    iterations = [found.steps[i : i + width] for i in range(0, len(found.steps), width)]
    keys: dict[tuple[int, ...], list[int]] = {}
    for j, step in enumerate(iterations[0]):
        keys.setdefault(step.a if left else step.b, []).append(j)
    return [
        Group(tuple(tuple(iteration[j] for j in js) for iteration in iterations))
        for js in keys.values()
    ]


def choose(deferred: Deferred, to: Value, found: Plan, left: bool, *, once: bool) -> Choice | None:
    """The rule that takes the fewest instructions and fits in registers; None where exact casts do.

    `once` says that accumulators are added to after the loop.
    """
    if (found.gather_a if left else found.gather_b) is not None:
        return None
    words = deferred.bits.at.reshape(-1, 2, deferred.dtype.bits)
    groups = groups_of(found, left)
    best, least = None, len(words) + exact_shifts(deferred.dtype, to.type.dtype, words)
    for count in class_counts(deferred.dtype):
        scaled = scaled_rule_for(deferred.dtype, to.type.dtype, count)
        if scaled is None:
            continue
        classes = tuple(scaled.of(at) for at in words)
        if any(_pattern(step, left, classes) is None for step in found.steps):
            continue
        sums = [len(g.accumulators) * len(_used(g, left, classes)) for g in groups]
        registers = sum(sums) if once else max(sums)
        if count > 1 and registers > _MOST_REGISTERS:
            continue
        if scaled.offset and (once or not left or len(words) > _MOST_REGISTERS):
            continue  # what takes it away is added to the sums of one iteration
        cost = (0 if once else sum(sums)) + scaled.shifts(words)
        if scaled.offset:
            cost += _PRODUCT * sum(map(len, _offset_steps(groups, classes).values()))
        if cost < least:
            best, least = Choice(scaled, classes), cost
    return best


def _used(group: Group, left: bool, classes: tuple[int, ...]) -> set[Pattern]:
    """The patterns of all steps of a group: each adds up in registers of its own."""
    patterns = (_pattern(step, left, classes) for iteration in group.steps for step in iteration)
    return {p for p in patterns if p is not None}


def _pattern(step: Step, left: bool, classes: tuple[int, ...]) -> Pattern | None:
    """The classes of a step's rows; None where one kind of rows has several."""
    words = [classes[i] for i in dict.fromkeys(i // 2 for i in (step.a if left else step.b))]
    kinds = [words[::2], words[1::2]] if left and len(set(words)) > 1 else [words]
    return tuple(k[0] for k in kinds) if all(len(set(k)) == 1 for k in kinds) else None


def _rows(step: Step) -> tuple[int, ...]:
    """Of which kind of rows each register of a step's result is: pairs of columns take turns."""
    return tuple(i // 2 % 2 for i in range(len(step.c)))


def added_after_loop(e: Emission, s: ins.Dot) -> bool:
    """Whether the loop around a product carries its accumulator for it and other products alone."""
    if not e.frames or s.acc is None:
        return False
    loop = e.frames[-1].loop
    return any(
        s in chain and chain[-1].out is c.yielded
        for c in loop.carried
        if (chain := _chain(e, loop, c.inner)) and e.readers.get(chain[-1].out) == [loop]
    )


def _chain(e: Emission, loop: ins.For, name: Value | Var) -> list[ins.Dot]:
    """The products of a loop's own body, each the only reader of the one before, that add to a tile."""
    dots: list[ins.Dot] = []
    while isinstance(name, Value) and (dot := _added_to(e, loop, name)) is not None:
        dots.append(dot)
        name = dot.out
    return dots


def _added_to(e: Emission, loop: ins.For, value: Value) -> ins.Dot | None:
    """The product in a loop's own body that alone reads a tile, as its accumulator."""
    readers = e.readers.get(value, [])
    if len(readers) != 1 or readers[0] not in loop.body:
        return None
    dot = readers[0]
    return dot if isinstance(dot, ins.Dot) and dot.acc is value else None


def emit_scaled(
    e: Emission, call: Call, found: Plan, choice: Choice, bits: Bits, left: bool, *, once: bool
) -> None:
    """The words of the operand, then the instructions and what they add to the result."""
    operand: Tile = call.a if left else call.b
    e.out.line(f"{operand.declaration};")
    emit_words(e.out, bits, operand.name, 2, indexed(choice.scaled.rule))
    if once:
        _through_loop(e, call, found, choice, left)
        return
    groups = groups_of(found, left)
    offsets = _emit_offsets(e, call, groups, choice) if choice.scaled.offset else {}
    for group in groups:
        with e.out.block(""):
            sums = _sums(call, group, choice, left, e.out.name(f"{call.c.name}_part"), offsets)
            e.out.line(sums.declaration)
            sums.multiply(e, call)
            sums.add(e, call)


# Meetings that lack the same: the pattern of a, and the registers of b, one iteration of k after
# another.
_Offset = tuple[Pattern, tuple[tuple[int, ...], ...]]


def _offset_of(group: Group, j: int, pattern: Pattern, classes: tuple[int, ...]) -> _Offset:
    """The offset of a group's meeting number j, for its steps of one pattern."""
    iterations = (iteration[j] for iteration in group.steps)
    return pattern, tuple(s.b for s in iterations if _pattern(s, True, classes) == pattern)


def _offset_steps(groups: Sequence[Group], classes: tuple[int, ...]) -> dict[_Offset, list[Step]]:
    """The steps that give each offset once; those of all tiles of columns are the same."""
    steps: dict[_Offset, list[Step]] = {}
    for group in groups:
        for pattern in sorted(_used(group, True, classes)):
            for j in range(len(group.steps[0])):
                iterations = [iteration[j] for iteration in group.steps]
                own = [s for s in iterations if _pattern(s, True, classes) == pattern]
                steps.setdefault(_offset_of(group, j, pattern, classes), own)
    return steps


def _emit_offsets(
    e: Emission, call: Call, groups: Sequence[Group], choice: Choice
) -> dict[_Offset, list[str]]:
    """Products of b by what takes the offsets away: to be added to the sums of an iteration.

    The sums do not begin with them, since a chain of products would wait for another.
    """
    wanted = _offset_steps(groups, choice.classes)
    name, minus = e.out.name(f"{call.c.name}_offset"), e.out.name("minus")
    wide = len(groups[0].steps[0][0].c)
    count = len(groups[0].steps[0][0].a)
    patterns = sorted({pattern for pattern, _ in wanted})
    words = [
        hexadecimal(choice.scaled.minus_offset(p[r % len(p)]))
        for p in patterns
        for r in range(count)
    ]
    e.out.line(f"const unsigned {minus}[{len(words)}] = {{{', '.join(words)}}};")
    e.out.line(f"float {name}[{len(wanted) * wide}] = {{}};")
    steps, begin = [], {}
    for i, (key, own) in enumerate(wanted.items()):
        first = patterns.index(key[0]) * count
        a = tuple(call.per * r for r in range(first, first + count))
        c = tuple(range(i * wide, (i + 1) * wide))
        steps += [Step(a, s.b, c) for s in own]
        begin[key] = [f"{name}[{r}]" for r in c]
    into = call.c.renamed(name)
    emit_calls(e.out, Call(call.function, call.a.renamed(minus), call.b, into, call.per), steps)
    return begin


def _through_loop(e: Emission, call: Call, found: Plan, choice: Choice, left: bool) -> None:
    """Onto registers of each factor that live as long as the loop; its other products use them too."""
    frame, count = e.frames[-1], call.c.count
    by_pattern: dict[Pattern, list[Step]] = {}
    for step in found.steps:
        pattern = _pattern(step, left, choice.classes)
        assert pattern is not None
        by_pattern.setdefault(pattern, []).append(step)
    for pattern, steps in sorted(by_pattern.items()):
        factors = choice.scaled.of_rows(pattern)
        key = (call.c.name, factors)
        if key not in frame.sums:
            name = frame.sums[key] = e.out.name(f"{call.c.name}_part")
            e.before_loop(f"float {name}[{count}] = {{}};")
            rows = {r: row for s in found.steps for r, row in zip(s.c, _rows(s), strict=True)}
            every = [(r, r, rows[r]) for r in range(count)]
            frame.after.append(functools.partial(_add, e, call, name, every, factors))
        into = call.c.renamed(frame.sums[key])
        emit_calls(e.out, Call(call.function, call.a, call.b, into, call.per), steps)


def _add(
    e: Emission,
    call: Call,
    part: str,
    registers: Sequence[tuple[int, int, int]],
    factors: tuple[float, ...],
) -> None:
    """Registers of the result += the factor of their rows times those of a part.

    `registers` are those of the result, of the part, and the kind of their rows.
    """
    for kind, factor in enumerate(factors):
        own = [[r, i] for r, i, row in registers if row % len(factors) == kind]
        for register, i in linear_loops(e.out, own):
            to = f"{call.c.name}[{register}]"
            e.out.line(f"{to} = fmaf({part}[{i}], {factor!r}f, {to});")


@dataclass(frozen=True, slots=True)
class _Sums:
    """The registers in which the products of each factor add up."""

    name: str
    group: Group
    factors: tuple[tuple[float, ...], ...]  # of those patterns that there are
    steps: tuple[Step, ...]  # onto these registers
    offsets: tuple[tuple[int, str], ...]  # what is added to them in the end

    @property
    def declaration(self) -> str:
        return f"float {self.name}[{len(self.factors) * len(self.group.accumulators)}] = {{}};"

    def multiply(self, e: Emission, call: Call) -> None:
        into = call.c.renamed(self.name)
        emit_calls(e.out, Call(call.function, call.a, call.b, into, call.per), self.steps)

    def add(self, e: Emission, call: Call) -> None:
        for i, offset in self.offsets:
            e.out.line(f"{self.name}[{i}] += {offset};")
        sums, rows = self.group.accumulators, self.group.rows
        for number, factors in enumerate(self.factors):
            first = number * len(sums)
            every = [(r, first + i, row) for i, (r, row) in enumerate(zip(sums, rows, strict=True))]
            _add(e, call, self.name, every, factors)


def _sums(
    call: Call,
    group: Group,
    choice: Choice,
    left: bool,
    name: str,
    offsets: dict[_Offset, list[str]],
) -> _Sums:
    count = len(group.accumulators)
    place = {r: i for i, r in enumerate(group.accumulators)}
    used = sorted(_used(group, left, choice.classes))
    steps = []
    for step in (s for iteration in group.steps for s in iteration):
        pattern = _pattern(step, left, choice.classes)
        assert pattern is not None
        first = used.index(pattern) * count
        steps.append(Step(step.a, step.b, tuple(first + place[r] for r in step.c)))
    added = (
        value
        for pattern in (used if offsets else ())
        for j in range(len(group.steps[0]))
        for value in offsets[_offset_of(group, j, pattern, choice.classes)]
    )
    factors = tuple(map(choice.scaled.of_rows, used))
    return _Sums(name, group, factors, tuple(steps), tuple(enumerate(added)))
