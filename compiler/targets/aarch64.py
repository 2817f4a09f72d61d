"""AArch64: the matrix instructions of NEON as layouts of one thread (Arm ARM, SIMD and FP).

B is given as k x n; its register holds B transposed, so that its layout runs down the columns.
"""

from __future__ import annotations

from dslc.compiler.layout import column_local, local
from dslc.compiler.targets.target import Atom, MemorySpace, Target

FMLA_F32 = Atom("fmla.4s", 1, 4, 1, (("f32", "f32", "f32"),), local(1, 1), local(1, 4), local(1, 4))
SDOT = Atom(
    "sdot.lane", 1, 4, 4, (("i8", "i8", "i32"),), local(1, 4), column_local(4, 4), local(1, 4)
)
UDOT = Atom(
    "udot.lane", 1, 4, 4, (("u8", "u8", "i32"),), local(1, 4), column_local(4, 4), local(1, 4)
)
SMMLA = Atom("smmla", 2, 2, 8, (("i8", "i8", "i32"),), local(2, 8), column_local(8, 2), local(2, 2))
UMMLA = Atom("ummla", 2, 2, 8, (("u8", "u8", "i32"),), local(2, 8), column_local(8, 2), local(2, 2))
USMMLA = Atom(
    "usmmla", 2, 2, 8, (("u8", "i8", "i32"),), local(2, 8), column_local(8, 2), local(2, 2)
)
BFMMLA = Atom(
    "bfmmla", 2, 2, 4, (("bf16", "bf16", "f32"),), local(2, 4), column_local(4, 2), local(2, 2)
)

_MEMORIES = (MemorySpace("register", 32 * 16, "core"),)
_DOTPROD = (FMLA_F32, SDOT, UDOT)
_I8MM = (*_DOTPROD, SMMLA, UMMLA, USMMLA)

BASE = Target("aarch64:base", "aarch64", "Armv8.0-A", 1, 1, _MEMORIES, (FMLA_F32,))
DOTPROD = Target(
    "aarch64:dotprod", "aarch64", "Armv8.2-A with dotprod and fp16", 1, 1, _MEMORIES, _DOTPROD
)
I8MM = Target("aarch64:i8mm", "aarch64", "Armv8.6-A with i8mm", 1, 1, _MEMORIES, _I8MM)
BF16 = Target(
    "aarch64:bf16", "aarch64", "Armv8.6-A with i8mm and bf16", 1, 1, _MEMORIES, (*_I8MM, BFMMLA)
)
ALL = Target("aarch64:all", "aarch64", "all of these in one library", 1, 1, _MEMORIES)

TARGETS = (BASE, DOTPROD, I8MM, BF16, ALL)
