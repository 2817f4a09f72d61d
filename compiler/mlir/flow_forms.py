"""Custom forms of functions, loops and branches."""

from __future__ import annotations

from dslc.compiler.mlir.attributes import INDEX, Integers, Number, Type, type_of
from dslc.compiler.mlir.operations import Operation
from dslc.compiler.mlir.parser import Parser
from dslc.compiler.mlir.values import symbol


def function(p: Parser, op: Operation) -> None:
    """`func.func private @name(...) -> ... attributes {...} {...}`."""
    if p.kind == "word" and p.word in ("private", "public", "nested"):
        op.attributes["sym_visibility"] = p.take("word")
    if p.kind == "symbol":
        op.attributes["sym_name"] = symbol(p.take("symbol"))
    arguments: list[tuple[str, Type]] = []
    if p.words[p.at + 1].startswith("%"):
        arguments = p.arguments()
        kinds = [kind for _, kind in arguments]
    else:
        kinds = p.bracketed_types()
    results = p.result_types() if p.accept("->") else []
    given, back = (", ".join(k.text for k in part) for part in (kinds, results))
    op.attributes["function_type"] = type_of(f"({given}) -> ({back})")
    if p.accept("attributes"):
        op.attributes |= p.dictionary()
    op.regions.append(p.region(arguments, isolated=True) if p.word == "{" else [])


def call(p: Parser, op: Operation) -> None:
    """`func.call @name(%x) : (memref<..>) -> ()`."""
    op.name = "func.call"
    op.attributes["callee"] = symbol(p.take("symbol"))
    p.expect("(")
    op.operands = p.operands()
    p.expect(")")
    attributes(p, op)
    p.expect(":")
    p.bracketed_types()
    p.expect("->")
    op.result_types = p.result_types()


def _ended(op: Operation, name: str) -> None:
    """Regions without a terminator have the one that goes without saying."""
    for region in op.regions:
        for block in region[-1:]:
            last = block.operations[-1] if block.operations else None
            if last is None or last.name not in (name, "scf.condition"):
                block.operations.append(Operation(name, last.line if last else op.line))


def _initial(p: Parser, op: Operation) -> list[str]:
    """`(%x = %y, ...)`: the names inside; what they begin with are operands."""
    p.expect("(")
    names: list[str] = []
    while not p.accept(")"):
        names.append(p.operand())
        p.expect("=")
        op.operands.append(p.operand())
        p.accept(",")
    return names


def for_loop(p: Parser, op: Operation) -> None:
    """`scf.for %i = %a to %b step %c iter_args(%x = %y) -> (type) : i32 {...}`."""
    p.accept("unsigned")
    index = p.operand()
    for word in ("=", "to", "step"):
        p.expect(word)
        op.operands.append(p.operand())
    names: list[str] = []
    if p.accept("iter_args"):
        names = _initial(p, op)
        p.expect("->")
        op.result_types = p.result_types()
    kind = p.type() if p.accept(":") else INDEX
    op.regions.append(p.region([(index, kind), *zip(names, op.result_types, strict=True)]))
    _ended(op, "scf.yield")
    attributes(p, op)


def affine_for(p: Parser, op: Operation) -> None:
    """`affine.for %i = 0 to 8 step 2 {...}` of constant bounds."""
    index = p.operand()
    for word, name in (("=", "lower"), ("to", "upper")):
        p.expect(word)
        op.attributes[name] = Number(p.integer(), "index")
    op.attributes["step"] = Number(p.integer() if p.accept("step") else 1, "index")
    names: list[str] = []
    if p.accept("iter_args"):
        names = _initial(p, op)
        p.expect("->")
        op.result_types = p.result_types()
    op.regions.append(p.region([(index, INDEX), *zip(names, op.result_types, strict=True)]))
    _ended(op, "affine.yield")
    attributes(p, op)


def branch(p: Parser, op: Operation) -> None:
    """`scf.if %c -> (type) {...} else {...}`."""
    op.operands.append(p.operand())
    if p.accept("->"):
        op.result_types = p.result_types()
    op.regions.append(p.region())
    if p.accept("else"):
        op.regions.append(p.region())
    else:
        op.regions.append([])
    _ended(op, "scf.yield")
    attributes(p, op)


def while_loop(p: Parser, op: Operation) -> None:
    """`scf.while (%x = %y) : (type) -> (type) {...} do {...}`."""
    names = _initial(p, op) if p.word == "(" else []
    p.expect(":")
    kinds = p.bracketed_types()
    p.expect("->")
    op.result_types = p.result_types()
    op.regions.append(p.region(list(zip(names, kinds, strict=True))))
    p.expect("do")
    op.regions.append(p.region())
    _ended(op, "scf.yield")
    attributes(p, op)


def switch(p: Parser, op: Operation) -> None:
    """`scf.index_switch %v -> type case 0 {...} default {...}`; the default's region is the first."""
    op.operands.append(p.operand())
    attributes(p, op)
    if p.accept("->"):
        op.result_types = p.result_types()
    values: list[int] = []
    cases = []
    while p.accept("case"):
        values.append(p.integer())
        cases.append(p.region())
    p.expect("default")
    op.regions = [p.region(), *cases]
    _ended(op, "scf.yield")
    op.attributes["cases"] = Integers(tuple(values), "i64")


def attributes(p: Parser, op: Operation) -> None:
    """Pass attributes in braces, which may be missing."""
    if p.word == "{":
        op.attributes |= p.dictionary()


FLOW = {
    "affine.for": affine_for,
    "call": call,
    "func.call": call,
    "func.func": function,
    "scf.for": for_loop,
    "scf.if": branch,
    "scf.index_switch": switch,
    "scf.while": while_loop,
}
