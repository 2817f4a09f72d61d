"""Products of small floats by the unit that takes any two of them, and powers of two for their blocks.

A lane's 32 elements along k are one operand of an instruction, whatever their bits; their scale is one
byte, and an instruction picks it out of a word (AMD CDNA4 instruction set reference, "Matrix arithmetic
instructions", V_MFMA_SCALE). The scale of a lane is that of the elements which it holds itself.
"""

from __future__ import annotations

import numpy as np
from dslc.codegen.c_family import control
from dslc.codegen.c_family.emission import Emission
from dslc.codegen.c_family.exchanges.remap import gather
from dslc.codegen.c_family.products.instruction_operands import Mismatch, plan, sides
from dslc.codegen.c_family.products.matrix import dot as plain_dot
from dslc.codegen.c_family.products.matrix import name_of, transposed
from dslc.codegen.c_family.registers import Tile
from dslc.codegen.hip.mfma import SCALED
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes.dtype import MX_BLOCK
from dslc.compiler.ir import instructions as ins
from dslc.compiler.targets import Atom
from dslc.compiler.targets.target import SWAP

_ONE = ("0", "0x7f7f7f7fu")  # the byte and the word of scales that are 1


def dot(e: Emission, s: ins.Dot) -> None:
    """out = a @ b (+ acc), with the scales of blocks; DSL0591 where layouts do not fit the unit."""
    atom = e.target.atom(s.atom.removesuffix(SWAP)) if s.atom is not None else None
    if atom is None or not atom.scaled:
        plain_dot(e, s)
        return
    try:
        _product(e, s, atom)
    except Mismatch as problem:
        text = f"{s.atom} cannot multiply tiles of these layouts: {problem}"
        raise error("DSL0591", text, s.loc) from None


def _product(e: Emission, s: ins.Dot, atom: Atom) -> None:
    assert s.atom is not None
    assert atom.a is not None
    assert atom.b is not None
    values = [(s.a, s.scale_a), (s.b, s.scale_b)]
    out = e.new(s.out, zero=s.acc is None)
    if s.acc is not None:
        control.copy(e, out, e.tile(s.acc))
    tiles = [(e.tile(x), None if scale is None else e.tile(scale)) for x, scale in values]
    if s.atom.endswith(SWAP):  # d^T = b^T a^T
        tiles = [(transposed(x), None if y is None else transposed(y)) for x, y in reversed(tiles)]
        out = transposed(out)
    (a, scale_a), (b, scale_b) = tiles
    planned = plan(a.layout, b.layout, out.layout, (atom.a, atom.b, atom.c), MX_BLOCK)
    at_a = _Scales(a, scale_a, 1, planned.gather_a)
    at_b = _Scales(b, scale_b, 0, planned.gather_b)
    a = a if planned.gather_a is None else gather(e.out, a, planned.gather_a)
    b = b if planned.gather_b is None else gather(e.out, b, planned.gather_b)
    name = name_of(atom, a.dtype.name, b.dtype.name)
    for step in planned.steps:
        if step.c != tuple(range(step.c[0], step.c[0] + len(step.c))):
            raise Mismatch("a thread's sums of one instruction are not neighbours")
        given = f"&{out.name}[{step.c[0]}], {_fragment(a, step.a)}, {_fragment(b, step.b)}"
        if not s.is_scaled:
            e.out.line(f"{name}({given});")
            continue
        (byte_a, word_a), (byte_b, word_b) = at_a.of(step.a[0]), at_b.of(step.b[0])
        e.out.line(f"{name}{SCALED}<{byte_a}, {byte_b}>({given}, {word_a}, {word_b});")


def _fragment(tile: Tile, first: tuple[int, ...]) -> str:
    """The registers of one instruction's elements."""
    (element,) = first
    return f"&{tile.name}[{element * tile.dtype.bits // 32}]"


class _Scales:
    """Which scale belongs to the elements of an operand from a place on; k is its last axis, or not."""

    def __init__(
        self, operand: Tile, scales: Tile | None, k: int, order: tuple[int, ...] | None
    ) -> None:
        self.scales, self.order = scales, order
        if scales is None:
            return
        rank = operand.layout.rank
        axes = (rank - 2, rank - 1) if k else (rank - 1, rank - 2)
        own, their = sides(operand.layout, *axes), sides(scales.layout, *axes)
        self.rows, self.blocks = own.rows, own.depths // MX_BLOCK
        self.scale_rows, self.scale_blocks = their.rows, their.depths

    def of(self, element: int) -> tuple[str, str]:
        """The byte, and the word that it is in."""
        if self.scales is None:
            return _ONE
        own = element if self.order is None else self.order[element]
        same = (self.scale_rows == self.rows[own]) & (self.scale_blocks == self.blocks[own])
        held = np.flatnonzero(same.all(axis=1))
        if not len(held):
            raise Mismatch("a lane does not hold the scales of its elements")
        return str(held[0] % 4), f"{self.scales.name}[{held[0] // 4}]"
