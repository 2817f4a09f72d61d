"""cast(w) - z of integers without the subtraction that a cast of its own takes.

An integer's cast to a 16-bit float puts its code into the mantissa of a power of two and subtracts that
(`cast_rules.py`). Where only z is subtracted then, a whole number of the same range, it is enough to
subtract P + z from P + w: both are exact, and so is the difference, as it is in two steps. P + z is
computed once for all weights that share z.
"""

from __future__ import annotations

from dslc.codegen.c_family.casts.bits import Positions
from dslc.codegen.c_family.casts.cast_rules import biased_rule, pair
from dslc.codegen.c_family.casts.extraction import Words
from dslc.codegen.c_family.casts.word_loops import emit_words
from dslc.codegen.c_family.emission import Deferred, Emission
from dslc.compiler.dtypes import DType, Kind
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import results, walk

_MOVES = (ins.Repeat, ins.Broadcast, ins.Reshape, ins.Transpose, ins.ConvertLayout, ins.Extract)


def feeds_difference(e: Emission, cast: ins.Cast) -> bool:
    """Whether a cast is read by nothing but a subtraction from it of whole numbers of its range."""
    dtype, to = cast.x.type.dtype, cast.out.type.dtype
    readers = e.readers.get(cast.out, [])
    if len(readers) != 1 or biased_rule(dtype, to) is None:
        return False
    reader = readers[0]
    if not isinstance(reader, ins.Binary) or reader.op != "sub" or reader.x is not cast.out:
        return False
    numbers = None if reader.y is cast.out else _whole_numbers(e, reader.y)
    return numbers is not None and _within(numbers, dtype)


def minus(e: Emission, s: ins.Binary, deferred: Deferred) -> None:
    """out = deferred - y."""
    to = s.out.type.dtype
    rule = biased_rule(deferred.dtype, to)
    assert rule is not None
    y = e.tile(s.y)
    tile = e.new(s.out, zero=False)

    def difference(words: Words, at: Positions, index: str) -> str:
        text, offset = rule(words, at)
        other = f"add_{to.name}x2({y.name}[{index}], {pair(offset, to)})"
        return f"sub_{to.name}x2({text}, {other})"

    emit_words(e.out, deferred.bits, tile.name, 2, difference)


def _within(numbers: tuple[int, int], dtype: DType) -> bool:
    """Whether they can be added to every offset of a biased rule exactly.

    Offsets are P, of signed codes P + 2^(B-1), where P >= 2^B and the grid from P to 2 P has all whole
    numbers; below P it is finer.
    """
    middle = 1 << (dtype.bits - 1)
    low, high = (n + middle * (dtype.kind is Kind.INT) for n in numbers)
    return low >= -middle and high < 1 << dtype.bits


def _whole_numbers(e: Emission, value: Value) -> tuple[int, int] | None:
    """The range of a tile's elements where they are whole numbers, None where that is not known."""
    defining = next((s for s in walk(e.kernel.body) if value in results(s)), None)
    match defining:
        case ins.Cast(x=x) if x.type.dtype.is_integer and x.type.dtype.bits <= 8:
            return x.type.dtype.integer_range
        case ins.Full(value=ex.Const(value=number)) if float(number).is_integer():
            return int(number), int(number)
        case _ if isinstance(defining, _MOVES):
            return _whole_numbers(e, defining.x)
    return None
