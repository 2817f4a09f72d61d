"""Dot on the tensor cores: mma.sync of a warp, wgmma of a warpgroup."""

from __future__ import annotations

from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.products import matrix
from dslc.codegen.cuda import wgmma
from dslc.compiler.ir import instructions as ins


def dot(e: Emission, s: ins.Dot) -> None:
    """out = a @ b (+ acc)."""
    matrix.dot(e, s, wgmma.dot)


EMITTERS: dict[type, Emitter] = {ins.Dot: dot}
