"""Custom forms that a list of steps cannot say."""

from __future__ import annotations

from typing import Any

from dslc.compiler.mlir.attributes import (
    I1,
    INDEX,
    Dense,
    Number,
    Opaque,
    Use,
    Word,
    type_of,
)
from dslc.compiler.mlir.forms import entries, use
from dslc.compiler.mlir.operations import Operation
from dslc.compiler.mlir.parser import Parser
from dslc.compiler.mlir.values import symbol

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
    op.regions.append(p.region(isolated=True))
    _attributes(p, op)


def sequence(p: Parser, op: Operation) -> None:
    """`aie.runtime_sequence @name(%x: memref<..>) {...}`; it belonged to aiex until November 2025."""
    op.name = "aie.runtime_sequence"
    _name(p, op)
    op.regions.append(p.region(p.arguments()))
    _attributes(p, op)


def logical_tile(p: Parser, op: Operation) -> None:
    """`aie.logical_tile<CoreTile>(?, 2)`: a tile of a kind, whose place may be left open."""
    p.expect("<")
    op.attributes["tile_type"] = Word(p.take("word"))
    p.expect(">")
    p.expect("(")
    for name, after in (("col", ","), ("row", ")")):
        if not p.accept("?"):
            op.attributes[name] = Number(p.integer(), "i32")
        p.expect(after)
    _attributes(p, op)
    op.result_types.append(INDEX)


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
    _type_of(p, op.operands[0])
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
                {"size": _entry(n), "stride": _entry(s)}
                for n, s in zip(sizes, strides, strict=True)
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
        packet = p.attribute()
        op.attributes["packet"] = (
            packet if isinstance(packet, Opaque) else Opaque("aie.packet_info", packet, "")
        )
    p.expect(")")
    _attributes(p, op)
    p.expect(":")
    _type_of(p, op.operands[0])


def _type_of(p: Parser, value: str) -> None:
    """Pass the type of a value."""
    kind, known = p.type(), p.types.get(value)
    if known not in (None, kind):
        p.fail(f"{value} is {known}, not {kind}", back=1)


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
        p.fail("a constant has a type", back=1)


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


SPECIAL = {
    "aie.bd_chain": chain,
    "aie.buffer": buffer,
    "aie.device": device,
    "aie.dma": dma,
    "aie.dma_bd": descriptor,
    "aie.logical_tile": logical_tile,
    "aie.objectfifo": objectfifo,
    "aie.runtime_sequence": sequence,
    "aiex.npu.dma_memcpy_nd": memcpy,
    "aiex.runtime_sequence": sequence,
    "arith.constant": constant,
    "builtin.module": module,
    "memref.global": memref_global,
    "module": module,
}
