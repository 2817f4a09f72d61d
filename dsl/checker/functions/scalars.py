"""Functions of scalars."""

from __future__ import annotations

from dslc.checker import arithmetic
from dslc.checker.calls import Argument, function
from dslc.checker.context import Context, expect_memory
from dslc.checker.failure import fail
from dslc.checker.items import Item
from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import simplify


def axis_in(axis: Argument, rank: int) -> int:
    """An axis from 0 or from the end."""
    number = axis.integer()
    if not -rank <= number < rank:
        hint = f"axes are 0 to {rank - 1}, or from the last: -1 to -{rank}"
        fail("DSL0226", f"axis {number} of something with {rank} axes", axis.loc, hint=hint)
    return number % rank


@function
def dim(c: Context, t: Argument, axis: Argument) -> Item:
    """The extent of an axis of a tensor or a tile."""
    item = t.item()
    if isinstance(item, Value):
        return item.type.shape[axis_in(axis, item.type.rank)]
    memory = expect_memory(item, t.loc)
    extent = memory.shape[axis_in(axis, memory.rank)]
    known = c.known(extent)
    return known if known is not None else extent


@function
def cdiv(c: Context, a: Argument, b: Argument) -> Item:
    """a / b rounded up."""
    x, y = a.item(), b.item()
    if isinstance(x, Value) or isinstance(y, Value):
        fail("DSL0210", "cdiv divides scalars", a.loc, hint="write (x + y - 1) // y")
    if isinstance(x, float) or isinstance(y, float):
        fail("DSL0214", "cdiv divides integers", a.loc)
    if isinstance(x, int) and isinstance(y, int):
        return -arithmetic.fold("floordiv", -x, y, a.loc)
    arithmetic.check_divisor("floordiv", x, y, b.loc)
    whole = arithmetic.scalar_binary("floordiv", x, y, a.loc)
    dim_or_number = y in c.dims.values() or isinstance(y, int)
    if dim_or_number and whole.dtype.bits >= 32 and not (isinstance(y, int) and y < 0):
        above = arithmetic.scalar_binary(
            "add", x, arithmetic.binary(c.emit, "sub", y, 1, b.loc), a.loc
        )
        more = arithmetic.scalar_binary("floordiv", above, y, a.loc)
        return simplify(more) if more.dtype == INDEX else more
    # Of any sign, and where the sum of both would wrap.
    rest = arithmetic.scalar_binary("mod", x, y, a.loc)
    rounds = ex.Binary("ne", rest, ex.Const(0, rest.dtype), BOOL)
    one, none = ex.Const(1, whole.dtype), ex.Const(0, whole.dtype)
    return ex.Binary("add", whole, ex.Select(rounds, one, none, whole.dtype), whole.dtype)


@function
def turns_at_once(c: Context) -> Item:
    """How many turns the machine that is compiled for runs at once: its multiprocessors, or cores."""
    return c.machine.units if c.machine is not None else 1


@function
def block_index(c: Context) -> Item:
    """The indices of this turn of `grid(...)`."""
    if not c.block_index:
        fail("DSL0215", "block_index() needs grid(x, y) first in the kernel", c.emit.loc)
    return c.block_index if len(c.block_index) > 1 else c.block_index[0]
