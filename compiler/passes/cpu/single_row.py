"""A turn whose products have one row that matters does that row alone.

Before (tests/ir/single-row/example.tir):

    grid m in range(0, M, 16), n in range(0, N, 16)
    %acc = full f32(0.0) : f32[16, 16]
    %acc_5 = for k in range(0, K, 16) carry (%acc_1 : f32[16, 16] = %acc) {
      %acc_2 = load @a[m : +16, k : +16] : f16[16, 16]
      %acc_3 = load @b[k : +16, n : +16] : f16[16, 16]
      %acc_4 = dot %acc_2, %acc_3, acc=%acc_1 : f32[16, 16]
      yield %acc_4
    }
    store @c[m : +16, n : +16], %acc_5

After:

    if M - m == 1 {
      %acc = full f32(0.0) : f32[1, 16]
      %acc_5 = for k_1 in range(0, K, 16) carry (%acc_1 : f32[1, 16] = %acc) {
        %acc_2 = load @a[m : +1, k_1 : +16] : f16[1, 16]
        %acc_3 = load @b[k_1 : +16, n : +16] : f16[16, 16]
        %acc_4 = dot %acc_2, %acc_3, acc=%acc_1 : f32[1, 16]
        yield %acc_4
      }
      store @c[m : +1, n : +16], %acc_5
    } else {
      %acc_6 = full f32(0.0) : f32[16, 16]
      ...
    }

A single row reads each weight once: what a generator does for it is nothing like what it does for many.
Decoding in language models is such a product. The rows are found by `axis_extents`: axes that have one
coordinate throughout the turn and along which the stores drop what lies past one end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from dslc.compiler.analysis.axis_extents import classes_of
from dslc.compiler.dtypes import BOOL
from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.rewrite import clone_body, map_kernels, scalar_names
from dslc.compiler.ir.traverse import walk
from dslc.compiler.passes.padding.resized import Resized


@dataclass(frozen=True, slots=True)
class SingleRow:
    """Gives kernels of products a body for turns of one row."""

    name: ClassVar[str] = "single-row"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with both bodies where there is something to choose."""
        return map_kernels(program, _choose)


def _choose(kernel: Kernel) -> Kernel:
    classes = classes_of(kernel)
    ends = classes.extents()
    for stmt in walk(kernel.body):
        if not isinstance(stmt, ins.Dot):
            continue
        rows = (stmt.out, stmt.out.type.rank - 2)
        if rows not in ends or stmt.out.type.shape[-2] == 1:
            continue
        members = classes.members(rows)
        if any(value.type.layout is not None for value, _ in members):
            continue
        short = Resized(dict.fromkeys(members, 1)).body(kernel.body)
        copy, _ = clone_body(short, scalar_names(kernel))
        one = ex.Binary("eq", ends[rows], ex.index(1), BOOL)
        return replace(kernel, body=(ins.If(one, copy, kernel.body, loc=kernel.loc),))
    return kernel
