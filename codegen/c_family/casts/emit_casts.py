"""Cast: a word of results at a time where a rule makes it, in loops over the source's words.

What no rule makes (a target that cannot hold the values, an odd count) takes the general cast. A cast
that one product alone reads is left to it, and so is one that an exact difference reads.
"""

from __future__ import annotations

from dslc.codegen.c_family import elementwise
from dslc.codegen.c_family.casts.cast_rules import rule_for
from dslc.codegen.c_family.casts.differences import feeds_difference, minus
from dslc.codegen.c_family.casts.scaled_rules import scaled_rule_for
from dslc.codegen.c_family.casts.word_loops import emit_words, indexed
from dslc.codegen.c_family.emission import Deferred, Emission, Emitter
from dslc.codegen.c_family.registers import Tile, tile_of
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
        e.deferred[s.out] = Deferred(bits, dtype, _exactly)
        return
    if feeds_difference(e, s):
        e.deferred[s.out] = Deferred(bits, dtype, _exactly, minus)
        return
    tile = e.new(s.out, zero=False)
    emit_words(e.out, bits, tile.name, lanes, indexed(rule))


def _exactly(e: Emission, value: Value, deferred: Deferred) -> Tile:
    """The tile of a cast that no product took over."""
    to = value.type.dtype
    rule = rule_for(deferred.dtype, to)
    assert rule is not None
    tile = tile_of(value, e.out.name(value.name or "t"))
    e.out.line(f"{tile.declaration};")
    emit_words(e.out, deferred.bits, tile.name, 32 // to.bits, indexed(rule))
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


EMITTERS: dict[type, Emitter] = {ins.Cast: cast}
