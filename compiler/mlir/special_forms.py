"""Custom forms that a list of steps cannot say."""

from __future__ import annotations

from typing import Any

from dslc.compiler.mlir.attributes import (
    I1,
    INDEX,
    Dense,
    Integers,
    Number,
    Opaque,
    Type,
    Use,
    Word,
    type_of,
)
from dslc.compiler.mlir.forms import entries, use
from dslc.compiler.mlir.operations import Operation
from dslc.compiler.mlir.parser import Parser, symbol

DIMENSIONS, PADDING = "aie.bd_dim_layout_array", "aie.bd_pad_layout_array"


def module(p: Parser, op: Operation) -> None:
    """`module @name attributes {...} {...}`."""
    op.name = "builtin.module"
    _name(p, op)
    if p.accept("attributes"):
        op.attributes |= p.dictionary()
    op.regions.append(p.region())


def device(p: Parser, op: Operation) -> None:
    """`aie.device(npu2) @name {...}`."""
    p.expect("(")
    op.attributes["device"] = Word(p.take("word"))
    p.expect(")")
    _name(p, op)
    op.regions.append(p.region())
    _attributes(p, op)


def sequence(p: Parser, op: Operation) -> None:
    """`aie.runtime_sequence @name(%x: memref<..>) {...}`; it belonged to aiex until November 2025."""
    op.name = "aie.runtime_sequence"
    _name(p, op)
    op.regions.append(p.region(p.arguments()))
    _attributes(p, op)


def chain(p: Parser, op: Operation) -> None:
    """`aie.bd_chain @name(%x: memref<..>) {...}`."""
    _name(p, op)
    op.regions.append(p.region(p.arguments()))
    _attributes(p, op)


def _name(p: Parser, op: Operation) -> None:
    if p.kind == "symbol":
        op.attributes["sym_name"] = symbol(p.take("symbol"))


def _attributes(p: Parser, op: Operation) -> None:
    if p.word == "{":
        op.attributes |= p.dictionary()


def buffer(p: Parser, op: Operation) -> None:
    """`aie.buffer(%tile) {...} : memref<..> = dense<..>`."""
    p.expect("(")
    op.operands.append(p.operand())
    p.expect(")")
    _attributes(p, op)
    p.expect(":")
    op.result_types.append(p.type())
    if p.accept("="):
        op.attributes["initial_value"] = p.dense(op.type)


def objectfifo(p: Parser, op: Operation) -> None:
    """`aie.objectfifo @name(%tile ..., {%tile ...}, 2 : i32) {...} : !aie.objectfifo<..> = [...]`."""
    _name(p, op)
    p.expect("(")
    op.operands.append(p.operand())
    to = p.array() if p.accept("dimensionsToStream") or p.accept("toStream") else []
    p.expect(",")
    p.expect("{")
    froms: list[Any] = []
    while not p.accept("}"):
        op.operands.append(p.operand())
        given = p.accept("dimensionsFromStream") or p.accept("fromStream")
        froms.append(Opaque(DIMENSIONS, p.array() if given else [], ""))
        p.accept(",")
    p.expect(",")
    op.attributes["elemNumber"] = p.attribute()
    p.expect(")")
    op.attributes["dimensionsToStream"] = Opaque(DIMENSIONS, to, "")
    op.attributes["dimensionsFromStreamPerConsumer"] = Opaque(f"{DIMENSIONS}_array", froms, "")
    _attributes(p, op)
    p.expect(":")
    op.attributes["elemType"] = p.type()
    if p.accept("="):
        kind = op.attributes["elemType"].inner
        p.expect("[")
        values: list[Dense] = []
        while not p.accept("]"):
            values.append(p.dense(kind))
            p.accept(",")
        op.attributes["initValues"] = values


def descriptor(p: Parser, op: Operation) -> None:
    """`aie.dma_bd`: with offset, length and loops by place until 1.3.5, by name from there on."""
    p.expect("(")
    op.operands.append(p.operand())
    p.expect(":")
    p.type()
    for name in ("offset", "len"):
        if p.accept(","):
            op.attributes[name] = Number(p.integer(), "i32")
    for name in (DIMENSIONS, PADDING):
        if p.accept(","):
            op.attributes[_LISTS[name]] = Opaque(name, p.array(), "")
    sizes: list[int | Use] = []
    while not p.accept(")"):
        word = p.take("word")
        if word in ("offset", "len"):
            p.expect("=")
            op.attributes[word] = use(p, op) if p.kind == "value" else Number(p.integer(), "i32")
        elif word == "sizes":
            p.expect("=")
            sizes = entries(p, op)
        elif word == "strides":
            p.expect("=")
            strides = entries(p, op)
            if len(strides) != len(sizes):
                p.fail(f"{len(sizes)} sizes, {len(strides)} strides")
            loops = [
                {"size": _entry(n), "stride": _entry(s)} for n, s in zip(sizes, strides, strict=True)
            ]
            op.attributes["dimensions"] = Opaque(DIMENSIONS, loops, "")
        elif word == "pad":
            p.accept("=")
            op.attributes["pad_dimensions"] = Opaque(PADDING, p.array(), "")
        elif word in ("packet", "iteration", "pad_value"):
            p.expect("=")
            op.attributes[word] = p.attribute()
        else:
            p.fail(f"a descriptor has no {word}")
    _attributes(p, op)


_LISTS = {DIMENSIONS: "dimensions", PADDING: "pad_dimensions"}


def _entry(value: int | Use) -> Number | Use:
    return value if isinstance(value, Use) else Number(value, "i32")


def dma(p: Parser, op: Operation) -> None:
    """`aie.dma(S2MM, 0) {...} [{...}, {...}]`."""
    p.expect("(")
    op.attributes["channel_dir"] = Word(p.take("word"))
    p.expect(",")
    op.attributes["channel_index"] = Number(p.integer(), "i32")
    p.expect(")")
    _attributes(p, op)
    p.expect("[")
    while not p.accept("]"):
        op.regions.append(p.region())
        p.accept(",")
    op.result_types.append(I1)


def memcpy(p: Parser, op: Operation) -> None:
    """`aiex.npu.dma_memcpy_nd(%x[..][..][..], packet = <..>) {...} : memref<..>`.

    Until 2025 two numbers stood before the value, and the innermost stride could be left out.
    """
    p.expect("(")
    while p.kind == "number":
        p.integer()
        p.expect(",")
    op.operands.append(p.operand())
    for name in ("offsets", "sizes", "strides"):
        op.attributes[name] = entries(p, op)
    op.attributes["strides"] += [1] * (4 - len(op.attributes["strides"]))
    if p.accept(","):
        p.expect("packet")
        p.expect("=")
        found = p.attribute()
        op.attributes["packet"] = (
            found if isinstance(found, Opaque) else Opaque("aie.packet_info", found, "")
        )
    p.expect(")")
    _attributes(p, op)
    p.expect(":")
    p.type()


def constant(p: Parser, op: Operation) -> None:
    """`arith.constant 1 : i32`."""
    _attributes(p, op)
    value = p.attribute()
    op.attributes["value"] = value
    if isinstance(value, Dense):
        op.result_types.append(value.type)
    elif isinstance(value, bool):
        op.result_types.append(I1)
    elif isinstance(value, Number) and value.type:
        op.result_types.append(type_of(value.type))
    else:
        p.fail("a constant has a type")


def function(p: Parser, op: Operation) -> None:
    """`func.func private @name(...) -> ... attributes {...} {...}`."""
    if p.kind == "word" and p.word in ("private", "public", "nested"):
        op.attributes["sym_visibility"] = p.take("word")
    _name(p, op)
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
    if p.word == "{":
        op.regions.append(p.region(arguments))


def call(p: Parser, op: Operation) -> None:
    """`func.call @name(%x) : (memref<..>) -> ()`."""
    op.name = "func.call"
    op.attributes["callee"] = symbol(p.take("symbol"))
    p.expect("(")
    op.operands = p.operands()
    p.expect(")")
    _attributes(p, op)
    p.expect(":")
    p.bracketed_types()
    p.expect("->")
    op.result_types = p.result_types()


def memref_global(p: Parser, op: Operation) -> None:
    """`memref.global "private" constant @name : memref<..> = dense<..>`."""
    if p.kind == "string":
        op.attributes["sym_visibility"] = p.attribute()
    if p.accept("constant"):
        op.attributes["constant"] = Word("unit")
    _name(p, op)
    p.expect(":")
    op.attributes["type"] = kind = p.type()
    if p.accept("="):
        op.attributes["initial_value"] = (
            Word(p.take("word")) if p.word == "uninitialized" else p.dense(kind)
        )
    _attributes(p, op)


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
    _attributes(p, op)


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
    _attributes(p, op)


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
    _attributes(p, op)


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
    _attributes(p, op)


def switch(p: Parser, op: Operation) -> None:
    """`scf.index_switch %v -> type case 0 {...} default {...}`; the default's region is the first."""
    op.operands.append(p.operand())
    _attributes(p, op)
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


SPECIAL = {
    "aie.bd_chain": chain,
    "aie.buffer": buffer,
    "aie.device": device,
    "aie.dma": dma,
    "aie.dma_bd": descriptor,
    "aie.objectfifo": objectfifo,
    "aie.runtime_sequence": sequence,
    "aiex.npu.dma_memcpy_nd": memcpy,
    "aiex.runtime_sequence": sequence,
    "affine.for": affine_for,
    "arith.constant": constant,
    "builtin.module": module,
    "call": call,
    "func.call": call,
    "func.func": function,
    "memref.global": memref_global,
    "module": module,
    "scf.for": for_loop,
    "scf.if": branch,
    "scf.index_switch": switch,
    "scf.while": while_loop,
}
