"""Dot on the tensor cores: mma.sync over the fragments that the layouts divide into."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from dslc.codegen.c_family import control, products
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.scalars import unsupported
from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import Layout, divide, permute
from dslc.compiler.targets import Atom, find_target
from numpy.typing import NDArray

_FUNCTIONS = {
    ("mma.m16n8k16", "f16"): "mma_m16n8k16_f16",
    ("mma.m16n8k16", "bf16"): "mma_m16n8k16_bf16",
    ("mma.m16n8k8.tf32", "tf32"): "mma_m16n8k8_tf32",
    ("mma.m16n8k32", "i8"): "mma_m16n8k32_s8",
    ("mma.m16n8k32.f8", "f8e4m3"): "mma_m16n8k32_e4m3",
}
SWAP = ".swap"


@dataclass(frozen=True, slots=True)
class Fragments:
    """One operand as fragments: for warp w and local fragment f its (row, column) in fragments."""

    at: NDArray[np.int64]  # [warps, fragments, 2]

    def find(self, wanted: NDArray[np.int64]) -> int | None:
        """The local fragment that every warp has at `wanted` [warps, 2]."""
        same = (self.at == wanted[:, None, :]).all(axis=(0, 2))
        where = np.flatnonzero(same)
        return int(where[0]) if len(where) else None


def fragments(layout: Layout, atom: Layout) -> Fragments:
    """The layout divided by an atom's."""
    outer = divide(layout, atom)
    return Fragments(outer.table())


def dot(e: Emission, s: ins.Dot) -> None:
    """out = a @ b (+ acc)."""
    if s.atom is None:
        products.dot(e, s)
        return
    swapped = s.atom.endswith(SWAP)
    atom = _atom(s.atom.removesuffix(SWAP))
    a, b = e.tile(s.a), e.tile(s.b)
    function = _FUNCTIONS.get((atom.name, a.dtype.name))
    if function is None or a.dtype != b.dtype:
        raise unsupported(f"{s.atom} on {a.dtype} and {b.dtype}")
    out = e.new(s.out, zero=s.acc is None)
    if s.acc is not None:
        control.copy(e, out, e.tile(s.acc))
    _emit(
        e, function, atom, (a.name, a.layout), (b.name, b.layout), (out.name, out.layout), swapped
    )


def _atom(name: str) -> Atom:
    found = find_target("cuda:sm_90a").atom(name)
    assert found is not None, name
    return found


def _emit(
    e: Emission,
    function: str,
    atom: Atom,
    a: tuple[str, Layout],
    b: tuple[str, Layout],
    c: tuple[str, Layout],
    swapped: bool,
) -> None:
    assert atom.a is not None
    assert atom.b is not None
    if swapped:  # d^T = b^T a^T: the atom's rows are the columns of the product
        a, b, c = (b[0], _turn(b[1])), (a[0], _turn(a[1])), (c[0], _turn(c[1]))
    batch = c[1].rank - 2
    if batch:
        raise unsupported("a batched product on the tensor cores")
    fa, fb, fc = fragments(a[1], atom.a), fragments(b[1], atom.b), fragments(c[1], atom.c)
    ka = a[1].shape[-1] // atom.k
    registers = [_words(x.locals, n) for x, n in ((atom.a, a), (atom.b, b))]
    for f in range(fc.at.shape[1]):
        for k in range(ka):
            ks = np.full(len(fc.at), k)
            i = fa.find(np.stack([fc.at[:, f, 0], ks], axis=-1))
            j = fb.find(np.stack([ks, fc.at[:, f, 1]], axis=-1))
            if i is None or j is None:
                raise unsupported("a product whose warps do not hold what they multiply")
            left = f"&{a[0]}[{i * registers[0]}]"
            right = f"&{b[0]}[{j * registers[1]}]"
            e.out.line(f"{function}(&{c[0]}[{f * atom.c.locals}], {left}, {right});")


def _turn(layout: Layout) -> Layout:
    *batch, m, n = range(layout.rank)
    return permute(layout, [*batch, n, m])


def _words(count: int, operand: tuple[str, Layout]) -> int:
    return count // 2  # two halves a register


EMITTERS: dict[type, Emitter] = {ins.Dot: dot}
