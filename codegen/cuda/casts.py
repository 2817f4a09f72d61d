"""Cast: a word of results at a time where a rule makes it, in loops over the source's words.

What no rule makes (a target that cannot hold the values, an odd count) takes the general cast. A cast
that one product alone reads is left to it.
"""

from __future__ import annotations

from dslc.codegen.c_family import elementwise
from dslc.codegen.c_family.bits import Bits, Positions
from dslc.codegen.c_family.emission import Emission, Emitter, Late
from dslc.codegen.c_family.registers import Tile, tile_of
from dslc.codegen.c_family.writer import Writer
from dslc.codegen.cuda.cast_rules import Rule, rule_for
from dslc.codegen.cuda.extraction import Words
from dslc.codegen.cuda.scaled_rules import scaled_rule_for
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins


def cast(e: Emission, s: ins.Cast) -> None:
    """Another dtype."""
    dtype, to = s.x.type.dtype, s.out.type.dtype
    rule = rule_for(dtype, to)
    layout = s.out.type.layout
    lanes = 32 // to.bits
    if rule is None or s.saturate or layout is None or layout.locals % lanes:
        elementwise.cast(e, s)
        return
    bits = e.bits_of(s.x)
    if scaled_rule_for(dtype, to, 1) is not None and _feeds_one_product(e, s.out):
        e.late[s.out] = Late(bits, dtype, _exactly)
        return
    tile = e.new(s.out, zero=False)
    emit_words(e.out, bits, tile.name, lanes, rule)


def _exactly(e: Emission, value: Value, late: Late) -> Tile:
    """The tile of a cast that no product took over."""
    to = value.type.dtype
    rule = rule_for(late.dtype, to)
    assert rule is not None
    tile = tile_of(value, e.out.name(value.name or "t"))
    e.out.line(f"{tile.declaration};")
    emit_words(e.out, late.bits, tile.name, 32 // to.bits, rule)
    return tile


def _feeds_one_product(e: Emission, value: Value) -> bool:
    """Whether one Dot on the matrix units is all that reads a tile, or what only renames it."""
    readers = e.readers.get(value, [])
    if len(readers) != 1:
        return False
    match readers[0]:
        case ins.Dot(a=a, b=b, atom=atom):
            return atom is not None and (a is value) != (b is value)
        case ins.Reshape() | ins.Transpose() | ins.ConvertLayout() as move:
            out = move.out
            return _feeds_one_product(e, out)
    return False


def emit_words(out: Writer, bits: Bits, name: str, lanes: int, rule: Rule) -> None:
    """The words of a result, in a loop over stretches that differ in the words read only."""
    grouped = bits.at.reshape(-1, lanes, bits.at.shape[1])
    length, step = _period(grouped)
    stretch = grouped[:length]
    read = sorted({int(b) // 32 for b in stretch.reshape(-1)})
    var = out.name("i")
    with out.loop(var, len(grouped) // length):
        names = {}
        for word in read:
            names[word] = out.name("w")
            out.line(f"const unsigned {names[word]} = {bits.name}[{_sum(var, step, word)}];")
        words = Words(out, names)
        for k, at in enumerate(stretch):
            result = rule(words, at)
            out.line(f"{name}[{_sum(var, length, k)}] = {result};")


def _sum(var: str, factor: int, offset: int) -> str:
    if factor == 0:
        return str(offset)
    product = var if factor == 1 else f"{var} * {factor}"
    return f"{product} + {offset}" if offset else product


def _period(grouped: Positions) -> tuple[int, int]:
    """The least count of results after which the same bits are taken some words further on."""
    count = len(grouped)
    for length in (n for n in range(1, count) if count % n == 0):
        step = int(grouped[length, 0, 0] - grouped[0, 0, 0])
        if step % 32 == 0 and step > 0 and (grouped[length:] - grouped[:-length] == step).all():
            return length, step // 32
    return count, 0


EMITTERS: dict[type, Emitter] = {ins.Cast: cast}
