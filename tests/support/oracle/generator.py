"""Random programs of the whole language.

program = generate(seed, profile("interp"))
"""

from __future__ import annotations

import random

from support.oracle.outputs import outputs
from support.oracle.profiles import Profile
from support.oracle.scope import Scope
from support.oracle.statements import block
from support.oracle.tree import Program, Tensor

_SIZES = (1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 24, 31, 33)
_BLOCKS = (1, 2, 3, 4, 5, 7, 8, 8, 16, 16)


def generate(seed: int, profile: Profile) -> Program:
    """The program of a seed: the same text every time."""
    r = random.Random(seed)
    s = Scope(r, profile)
    axes = r.choice((0, 1, 1, 2, 2))
    names = ("M", "N")[:axes] if axes else r.choice(((), ("M",)))
    s.dims = {name: r.choice(_SIZES) for name in names}
    s.grid = tuple((n.lower(), n, r.choice(_BLOCKS)) for n in names[:axes])
    if s.chance(0.5):
        s.scalars.append(("s", "i32", r.randint(0, 4)))
    if s.chance(0.3):
        s.scalars.append(("h", r.choice(("f32", "f16", "i8", "u16", "bf16")), r.choice((1, 2, 3))))
    body = block(s, r.randint(1, 5), 0)
    stores, loose = outputs(s)
    for name in s.dims:
        if not any(name in t.extents and not (t.strided or t.packed) for t in s.tensors):
            s.tensors.append(Tensor(s.name("x"), "i32", (name,)))
    return Program(
        seed, tuple(s.tensors), tuple(s.scalars), tuple(s.dims.items()), s.grid,
        (*body, *stores), loose,
    )  # fmt: skip
