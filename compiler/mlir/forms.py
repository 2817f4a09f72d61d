"""Custom forms as data: the words of an operation's text in order, and the types of its results.

A form is a text of steps.

    operand, operands            values
    int:a word:a symbol:a        attributes of the name a
    count:a                      an integer without a type
    attr:a list:a
    amount:a                     an integer or a value (an operand too, and a Use in the attribute)
    entries:a                    a list of such in square brackets
    type, types, type:0          types; that of the first operand
    succ                         a block to go to
    attrs                        a dictionary of attributes, which may be missing
    region, region:aie.end       a region; one that ends with that, written or not
    flags                        fastmath and the like
    [? ... ]?                    what may be missing: it is there if its first word is

All else stands for itself. After `=>` come the types of results: `index`, `i1`, `bool` (of each lane),
`element` of the first type, `t0`, the first type that was passed, `t-1`, the last, or `all`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dslc.compiler.mlir.attributes import I1, INDEX, Number, Opaque, Type, Use, Word, type_of
from dslc.compiler.mlir.operations import Operation
from dslc.compiler.mlir.parser import Form, Parser
from dslc.compiler.mlir.values import symbol

Step = tuple[Any, ...]


def compiled(form: str) -> Form:
    """The function that reads a form."""
    text, _, results = form.partition("=>")
    stack: list[list[Step]] = [[]]
    for word in text.split():
        if word == "[?":
            stack.append([])
        elif word == "]?":
            group = tuple(stack.pop())
            stack[-1].append((_optional, group))
        else:
            stack[-1].append(_step(word))
    return functools.partial(_read, tuple(stack[0]), tuple(results.split()))


def _step(word: str) -> Step:
    """A function and the name that it is given."""
    kind, _, name = word.partition(":")
    if kind in _STEPS and (name or kind in _PLAIN):
        return _STEPS[kind], name
    return _literal, word


def _read(steps: tuple[Step, ...], results: tuple[str, ...], p: Parser, op: Operation) -> None:
    passed: list[Type] = []
    for step, name in steps:
        step(p, op, name, passed)
    for name in results:
        if name == "all":
            op.result_types += passed
            continue
        op.result_types.append(
            _RESULTS[name](passed) if name in _RESULTS else passed[int(name[1:])]
        )


def _lanes(passed: list[Type]) -> Type:
    """A truth for each lane of the operands."""
    shape = passed[-1].shape
    return type_of(f"vector<{'x'.join(map(str, shape))}xi1>") if shape else I1


_RESULTS: dict[str, Callable[[list[Type]], Type]] = {
    "index": lambda _: INDEX,
    "i1": lambda _: I1,
    "bool": _lanes,
    "element": lambda passed: type_of(passed[0].element),
}


def _literal(p: Parser, _: Operation, word: str, __: list[Type]) -> None:
    if p.words[p.at] != word:
        p.expect(word)
    p.at += 1


def _optional(p: Parser, op: Operation, group: Any, passed: list[Type]) -> None:
    if _is_here(group, p):
        for step, name in group:
            step(p, op, name, passed)


def _is_here(group: tuple[Step, ...], p: Parser, ahead: int = 0) -> bool:
    """Whether what may be missing is there: by its first word, and the second where that is a mark."""
    step, name = group[0]
    if step in _KINDS:
        return p.kinds[p.at + ahead] in _KINDS[step]
    if step is _list:
        return p.words[p.at + ahead] == "["
    if step is _attr:
        return p.kinds[p.at + ahead] == "attribute" or p.words[p.at + ahead] == "<"
    if p.words[p.at + ahead] != name:
        return False
    return name not in (",", "(") or len(group) == 1 or _is_here(group[1:], p, ahead + 1)


def _operand(p: Parser, op: Operation, _: str, __: list[Type]) -> None:
    op.operands.append(p.operand())


def _operands(p: Parser, op: Operation, _: str, __: list[Type]) -> None:
    op.operands += p.operands()


def _int(p: Parser, op: Operation, name: str, _: list[Type]) -> None:
    number = p.number()
    op.attributes[name] = number if number.type else Number(number.value, "i32")


def _count(p: Parser, op: Operation, name: str, _: list[Type]) -> None:
    op.attributes[name] = Number(int(p.take("number"), 0), "i32")


def _word(p: Parser, op: Operation, name: str, _: list[Type]) -> None:
    op.attributes[name] = Word(p.take("string" if p.kind == "string" else "word").strip('"'))


def _symbol(p: Parser, op: Operation, name: str, _: list[Type]) -> None:
    op.attributes[name] = symbol(p.take("symbol"))


def _attr(p: Parser, op: Operation, name: str, _: list[Type]) -> None:
    attribute = p.attribute()
    # `<pkt_id = 1>` leaves out the name that the form implies.
    op.attributes[name] = (
        attribute if isinstance(attribute, Opaque) else Opaque("aie.packet_info", attribute, "")
    )


def _list(p: Parser, op: Operation, name: str, _: list[Type]) -> None:
    op.attributes[name] = p.array()


def _amount(p: Parser, op: Operation, name: str, passed: list[Type]) -> None:
    if p.kind == "value":
        op.attributes[name] = use(p, op)
    else:
        _int(p, op, name, passed)


def use(p: Parser, op: Operation) -> Use:
    """Pass a value as an operand and as what an attribute holds."""
    op.operands.append(p.operand())
    return Use(op.operands[-1])


def entries(p: Parser, op: Operation) -> list[int | Use]:
    """Pass `[1, %n, 3]`."""
    p.expect("[")
    items: list[int | Use] = []
    while not p.accept("]"):
        items.append(use(p, op) if p.kind == "value" else p.integer())
        p.accept(",")
    return items


def _entries(p: Parser, op: Operation, name: str, _: list[Type]) -> None:
    items = entries(p, op)
    if name != "_":
        op.attributes[name] = items


def _type(p: Parser, op: Operation, name: str, passed: list[Type]) -> None:
    passed.append(p.type())
    if name:
        value = op.operands[int(name)]
        known = p.types.get(value)
        if known is not None and known is not passed[-1] and known != passed[-1]:
            p.fail(f"{value} is {known}, not {passed[-1]}", back=1)


def _types(p: Parser, _: Operation, __: str, passed: list[Type]) -> None:
    if p.kind in ("word", "type") or p.word == "(":
        passed += p.type_list()


def _succ(p: Parser, op: Operation, _: str, __: list[Type]) -> None:
    op.successors.append(p.successor())
    op.operands += op.successors[-1][1]


def _attrs(p: Parser, op: Operation, _: str, __: list[Type]) -> None:
    if p.word == "{":
        op.attributes |= p.dictionary()


def _region(p: Parser, op: Operation, name: str, _: list[Type]) -> None:
    op.regions.append(p.region())
    if name:  # the terminator that goes without saying
        operations = op.body
        if not operations or operations[-1].name != name:
            op.regions[0][-1].operations.append(Operation(name, op.line))


def _flags(p: Parser, op: Operation, _: str, __: list[Type]) -> None:
    """`fastmath<...>`, `overflow<...>`, `nneg`, `exact`: they promise, and change no number."""
    while p.word in ("fastmath", "overflow"):
        name = p.take("word")
        op.attributes["overflowFlags" if name == "overflow" else name] = Word(p.balanced())
    for word in ("nneg", "exact", "to_nearest_even"):
        p.accept(word)


_STEPS = {
    "operand": _operand,
    "operands": _operands,
    "int": _int,
    "count": _count,
    "word": _word,
    "symbol": _symbol,
    "attr": _attr,
    "list": _list,
    "amount": _amount,
    "entries": _entries,
    "type": _type,
    "types": _types,
    "succ": _succ,
    "attrs": _attrs,
    "region": _region,
    "flags": _flags,
}
_KINDS = {
    _int: ("number",),
    _word: ("word", "string"),
    _symbol: ("symbol",),
    _operand: ("value",),
    _operands: ("value",),
    _succ: ("label",),
    _amount: ("value", "number"),
    _type: ("word", "type"),
    _types: ("word", "type"),
}
_PLAIN = {"operand", "operands", "type", "types", "succ", "attrs", "region", "flags"}
