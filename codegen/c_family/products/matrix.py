"""Dot on a warp's matrix unit: instructions over the registers that the layouts match.

An instruction is a device function, named after its atom and the operands' dtypes, of pointers to the
registers of one lane's fragments: `mma_m16n8k16_f16_f16(d, a, b)`.
"""

from __future__ import annotations

from collections.abc import Callable

from dslc.codegen.c_family import control
from dslc.codegen.c_family.ctypes_of import is_packed
from dslc.codegen.c_family.emission import Emission
from dslc.codegen.c_family.exchanges.remap import gather
from dslc.codegen.c_family.products import thread_products
from dslc.codegen.c_family.products.instruction_operands import Mismatch, plan
from dslc.codegen.c_family.products.instructions import Call, emit_calls
from dslc.codegen.c_family.products.scaled import added_after_loop, choose, emit_scaled
from dslc.codegen.c_family.registers import Tile, tile_of
from dslc.codegen.c_family.scalars import unsupported
from dslc.codegen.c_family.writer import Writer
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import DType
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import Layout, permute
from dslc.compiler.targets import Atom
from dslc.compiler.targets.target import SWAP


def name_of(atom: Atom, a: str, b: str) -> str:
    """The function of an instruction on operands of these dtype names."""
    return f"{atom.name}_{a}_{b}".replace(".", "_")


def elements_in_register(dtype: DType) -> int:
    """How many elements an operand's register holds."""
    return 32 // dtype.bits if is_packed(dtype) else 1


Way = Callable[[Emission, ins.Dot, Atom], None]


def dot(e: Emission, s: ins.Dot, asynchronous: Way | None = None) -> None:
    """out = a @ b (+ acc); `asynchronous` products are of machines that have them."""
    if s.is_scaled:
        raise unsupported("scales of blocks in a product that no unit makes")
    if s.atom is None:
        thread_products.dot(e, s)
        return
    atom = e.target.atom(s.atom.removesuffix(SWAP))
    left, right = (s.b, s.a) if s.atom.endswith(SWAP) else (s.a, s.b)
    if atom is None or not atom.takes(left.type.dtype.name, right.type.dtype.name):
        text = f"{s.atom} does not multiply {s.a.type.dtype} by {s.b.type.dtype}"
        raise error("DSL0591", text, s.loc)
    try:
        if s.is_async and asynchronous is not None:
            asynchronous(e, s, atom)
        else:
            _product(e, s, atom, left, right)
    except Mismatch as problem:
        text = f"{s.atom} cannot multiply tiles of these layouts: {problem}"
        hint = f"a is {s.a.type.layout}, b is {s.b.type.layout}, the result {s.out.type.layout}"
        raise error("DSL0591", text, s.loc, hint=hint) from None


def _product(e: Emission, s: ins.Dot, atom: Atom, left: Value, right: Value) -> None:
    """With a swap, d^T = b^T a^T: the atom's rows are the columns of the product."""
    swapped = left is not s.a
    deferred = next((x for x in (left, right) if x in e.deferred), None)
    tiles = [tile_of(x, x.name) if x is deferred else e.tile(x) for x in (left, right)]
    a, b = (transposed(t) if swapped else t for t in tiles)
    per = elements_in_register(a.dtype)
    c_layout = transposed(tile_of(s.out, "")).layout if swapped else tile_of(s.out, "").layout
    planned = plan(a.layout, b.layout, c_layout, _layouts(atom), per)
    once = added_after_loop(e, s)
    choice = None
    if deferred is not None:
        choice = choose(e.deferred[deferred], deferred, planned, deferred is left, once=once)
    if deferred is not None:
        if choice is None:
            tile = e.tile(deferred)
            name = tile.name
        else:
            name = e.out.name(deferred.name or "t")
        a, b = (t.renamed(name) if x is deferred else t for t, x in ((a, left), (b, right)))
    if once and s.acc is not None:
        e.alias(s.out, e.tile(s.acc))
        out = e.tile(s.out)
    else:
        out = e.new(s.out, zero=s.acc is None)
        if s.acc is not None:
            control.copy(e, out, e.tile(s.acc))
    c = transposed(out) if swapped else out
    a = a if planned.gather_a is None else gather(e.out, a, planned.gather_a)
    b = b if planned.gather_b is None else gather(e.out, b, planned.gather_b)
    call = Call(name_of(atom, a.dtype.name, b.dtype.name), a, b, c, per)
    if choice is not None and deferred is not None:
        emit_scaled(
            e, call, planned, choice, e.deferred[deferred].bits, deferred is left, once=once
        )
    else:
        emit_calls(e.out, call, planned.steps)


def transposed(x: Tile) -> Tile:
    """The same registers as a tile with its last two axes exchanged."""
    *batch, m, n = range(x.layout.rank)
    return Tile(x.name, x.dtype, permute(x.layout, [*batch, n, m]))


def emit_product(out: Writer, atom: Atom, a: Tile, b: Tile, c: Tile) -> None:
    """The instructions of c += a b. Mismatch where the layouts do not fit the atom."""
    per = elements_in_register(a.dtype)
    planned = plan(a.layout, b.layout, c.layout, _layouts(atom), per)
    a = a if planned.gather_a is None else gather(out, a, planned.gather_a)
    b = b if planned.gather_b is None else gather(out, b, planned.gather_b)
    function = name_of(atom, a.dtype.name, b.dtype.name)
    emit_calls(out, Call(function, a, b, c, per), planned.steps)


def _layouts(atom: Atom) -> tuple[Layout, Layout, Layout]:
    assert atom.a is not None
    assert atom.b is not None
    return atom.a, atom.b, atom.c
