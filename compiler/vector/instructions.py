"""Instructions between registers. Those that reach memory are in `vector/memory_instructions.py`.

Operands of an elementwise instruction and its result have the same lanes. Results are those of the
language: integers wrap, floats are rounded once to their dtype, to nearest even. Which operations of
which dtypes a machine has is no concern of these: legalisation makes others of them.

Fields of type Register are results, those of type Operand are read; all others are attributes.
"""

from __future__ import annotations

from dataclasses import dataclass

from dslc.compiler.diagnostics import Loc
from dslc.compiler.ir.expr import ARITHMETIC_OPS, COMPARE_OPS
from dslc.compiler.ir.expr import UNARY_OPS as TILE_UNARY_OPS
from dslc.compiler.ir.located import loc_field as _loc
from dslc.compiler.vector.values import Operand, Register

UNARY_OPS = (*TILE_UNARY_OPS, "trunc")
"""Those of tiles, and `trunc`: a float rounded towards 0."""

MACHINE_OPS = ("quotient", "remainder", "lshift", "rshift", "mulhi", "scale", "multishift")
"""What machines have in place of an operation of the language.

`quotient` and `remainder` round towards 0; the divisor is not 0 and the quotient is in range. `lshift`
and `rshift` shift by 0 to bits - 1; `rshift` keeps the sign of signed integers. `mulhi` is the upper
half of a product of integers. `scale` is x * 2^y of floats, y a whole number, rounded once.
`multishift` is of u8, eight lanes together: of the 64 bits of eight lanes of x, each lane has the 8
that begin at bit y modulo 64, and go on at bit 0 past bit 63.
"""

BINARY_OPS = (*ARITHMETIC_OPS, *COMPARE_OPS, *MACHINE_OPS)
REDUCE_OPS = ("add", "mul", "min", "max", "and", "or", "xor")


@dataclass(frozen=True, slots=True, eq=False)
class Unary:
    """out = op(x), op from UNARY_OPS; `not` of bools, `invert` of integers.

    Transcendental functions are within the error that docs/compiler/vector.md states.
    """

    out: Register
    op: str
    x: Operand
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Binary:
    """out = op(x, y), op from BINARY_OPS; comparisons give bools, all others the dtype of x and y.

    `floordiv` and `mod` round towards minus infinity, and integers divided by 0 give 0. Shifts by less
    than 0 or by the width or more give 0. `min` and `max` of a NaN are NaN; the sign of a 0 that they
    choose is not defined. `and`, `or` and `xor` are of integers or of bools.
    """

    out: Register
    op: str
    x: Operand
    y: Operand
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Fma:
    """out = x * y + z, rounded once; integers wrap."""

    out: Register
    x: Operand
    y: Operand
    z: Operand
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Select:
    """out = x where condition, else y. The condition is a mask, or one bool for all lanes.

    x and y may be pointers, where the condition is one bool.
    """

    out: Register
    condition: Operand
    x: Operand
    y: Operand
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Convert:
    """The values in another dtype, as `cast` of the language has it (`dslc.compiler.dtypes.cast`).

    To a float rounds once to nearest even. Float to integer truncates and saturates, NaN gives 0;
    integer to integer wraps. `saturate` clamps to the range of the result's dtype. `in_range` promises
    that a float's whole part is in the range of the integers that it becomes; nothing is defined
    otherwise, and the interpreter refuses it.
    """

    out: Register
    x: Operand
    saturate: bool = False
    in_range: bool = False
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """Floats rounded to the nearest integers, ties to even, which are in range of out's dtype."""

    out: Register
    x: Operand
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Bitcast:
    """The same bits as another dtype.

    Where the widths of a lane differ, the bits of all lanes together are divided anew, the first lane
    in the lowest bits; both widths are then 8 bits or more, or bytes (u8) become narrower codes.
    """

    out: Register
    x: Operand
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Broadcast:
    """A scalar in all lanes."""

    out: Register
    x: Operand
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Shuffle:
    """Lane i is lane indices[i] of x, or of x and then y where there is y. Indices are constants."""

    out: Register
    x: Operand
    y: Operand | None = None
    indices: tuple[int, ...] = ()
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Permute:
    """Lane i is lane index[i] of the table; index is a vector of integers, taken modulo the table's
    lanes, which are a power of two.
    """

    out: Register
    table: Operand
    index: Operand
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Extract:
    """One lane as a scalar; `lane` is a scalar of dtype index and within x."""

    out: Register
    x: Operand
    lane: Operand
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Insert:
    """x with one lane replaced by a scalar; `lane` is a scalar of dtype index and within x."""

    out: Register
    x: Operand
    value: Operand
    lane: Operand
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Reduce:
    """A scalar of all lanes of x, op from REDUCE_OPS.

    The order is fixed: the upper half is combined with the lower (which has the middle lane of an odd
    number), until one lane is left.
    """

    out: Register
    op: str
    x: Operand
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Dot:
    """out = acc + the sum of products that the atom of that name (`vector/atoms.py`) makes of a and b.

    An atom that does not accumulate has no acc.
    """

    out: Register
    atom: str
    a: Operand
    b: Operand
    acc: Operand | None = None
    loc: Loc | None = _loc()
