"""Random reads of tensors and buffers: slices, points, steps, starts outside, other=, gather."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from support.oracle.dtypes import DTYPES
from support.oracle.scope import INF, Made, Scope, range_of
from support.oracle.tree import Affine, Expr, Shape, Sub, Tensor

_NUMBERS = (1, 2, 3, 5, 7, 8, 9, 16, 17)


def _extent(s: Scope, wanted: int) -> int | str:
    if s.dims and s.chance(0.5):
        return s.random.choice(list(s.dims))
    return wanted if s.chance(0.4) else s.random.choice(_NUMBERS)


def _tensor(s: Scope, dtype: str, shape: Shape) -> Tensor | None:
    """A parameter that is read: one that is there, or a new one."""
    fit = [
        t
        for t in (*s.tensors, *s.buffers)
        if t.dtype == dtype and t.mode in ("in", "buffer") and len(t.extents) >= max(len(shape), 1)
    ]
    whole = "bits" in s.profile.lacks and DTYPES[dtype].bits < 8 and dtype != "bool"
    if whole:
        fit = [t for t in fit if len(t.extents) == len(shape) and t.extents[-1] == shape[-1]]
        if not shape or shape[-1] % 8:
            return None
    if fit and (s.chance(0.6) or _inputs(s) >= s.profile.inputs):
        return s.random.choice(fit)
    if _inputs(s) >= s.profile.inputs:
        return None
    extents = [_extent(s, e) for e in shape] or [_extent(s, 4)]
    if whole:
        extents[-1] = shape[-1]
    if len(extents) < 3 and s.chance(0.25) and not whole:
        extents.insert(s.random.randint(0, len(extents)), s.random.choice(_NUMBERS[:6]))
    if dtype == "e8m0":
        extents = [max(e, 4) if isinstance(e, int) else 8 for e in extents]
    d = DTYPES[dtype]
    low = d.bits < 8 and d.kind in ("int", "uint", "float")
    draw = s.random.choice(("plain", "plain", "special")) if d.is_float else "any"
    strided = s.chance(0.12) and not low and "strided" not in s.profile.lacks
    packed = low and s.chance(0.4) and "packed" not in s.profile.lacks
    made = Tensor(s.name("x"), dtype, tuple(extents), "in", draw, strided, packed)
    s.tensors.append(made)
    return made


def _inputs(s: Scope) -> int:
    return sum(t.mode == "in" for t in s.tensors)


def size(s: Scope, extent: int | str) -> int:
    return extent if isinstance(extent, int) else s.dims[extent]


def start(s: Scope, extent: int | str, length: int) -> Affine:
    """Where a slice starts: at its turn's block, in a loop's, near the ends."""
    for name, dim, block in s.grid:
        if (dim == extent and block == length and s.chance(0.8)) or s.chance(0.08):
            return Affine(s.random.choice((0, 0, 0, -1, 2)), ((1, name),))
    if s.chance(0.4):
        return Affine()
    return s.index(max(size(s, extent), 1))


def axis_sub(s: Scope, extent: int | str, length: int) -> Sub:
    if extent == length and s.chance(0.5):
        return Sub("all")
    step = s.random.choice((1, 1, 1, 1, 2, 3)) if "steps" not in s.profile.lacks else 1
    return ended(s, Sub("slice", start(s, extent, length), length, step), extent)


def ended(s: Scope, sub: Sub, extent: int | str) -> Sub:
    """At times a slice with an end: a constant, a scalar, a place beside its own start."""
    if sub.kind != "slice" or "ends" in s.profile.lacks or not s.chance(0.2):
        return sub
    end = s.index(max(size(s, extent), 1))
    # What lies at a known distance is no end but a length.
    return sub if end.terms == sub.start.terms else replace(sub, end=end)


def masked(s: Scope, shape: Shape, mask: Callable[[Scope, Shape], Expr]) -> Expr | None:
    """At times a mask of a shape, or of one that broadcasts to it."""
    if not shape or "masks" in s.profile.lacks or not s.chance(0.2):
        return None
    less = tuple(1 if s.chance(0.3) else n for n in shape)
    return mask(s, less[s.random.choice((0, 0, 0, 1)) :] or less)


def load(
    s: Scope, dtype: str, shape: Shape, mask: Callable[[Scope, Shape], Expr] | None = None
) -> Made | None:
    """A region of a tensor as a tile of that shape; `mask` makes bools of a shape."""
    tensor = _tensor(s, dtype, shape)
    if tensor is None:
        return None
    if dtype == "e8m0" or tensor.mode == "buffer":
        return _inside(s, tensor, shape)
    spare = len(tensor.extents) - len(shape)
    wanted = list(shape)
    subs: list[Sub] = []
    for i, extent in enumerate(tensor.extents):
        left = len(tensor.extents) - i
        if spare and (spare == left or s.chance(0.5)):
            spare -= 1
            subs.append(Sub("point", start(s, extent, 1)))
            continue
        subs.append(axis_sub(s, extent, wanted.pop(0)))
    if "bits" in s.profile.lacks and DTYPES[dtype].bits < 8 and dtype != "bool":
        subs[-1] = Sub("all")
    other = _other(s, dtype)
    held = None if mask is None else masked(s, shape, mask)
    where = () if held is None else (held,)
    made = Expr("load", dtype, shape, where, (tensor.name, tuple(subs), other))
    high, low = range_of(dtype, tensor.draw)
    if other in (float("inf"), float("-inf")):
        high = INF
    return Made(made, high, low)


def _inside(s: Scope, tensor: Tensor, shape: Shape) -> Made | None:
    """Elements that exist, by constants."""
    if len(tensor.extents) != len(shape):
        return None
    if any(not isinstance(e, int) or n > e for e, n in zip(tensor.extents, shape, strict=True)):
        return None
    subs = tuple(
        Sub("slice", Affine(s.random.randint(0, int(e) - n)), n)
        for e, n in zip(tensor.extents, shape, strict=True)
    )
    made = Expr("load", tensor.dtype, shape, (), (tensor.name, subs, None))
    return Made(made, *range_of(tensor.dtype, tensor.draw))


def _other(s: Scope, dtype: str) -> int | float | bool | None:
    if not s.chance(0.15) or not (DTYPES[dtype].computes or dtype == "bool"):
        return None
    if DTYPES[dtype].kind == "bool":
        return True
    if DTYPES[dtype].is_float:
        return s.random.choice((1.0, -2.0, 0.5, float("inf"), float("-inf"), float("nan")))
    d = DTYPES[dtype]
    return s.random.choice(
        [v for v in (1, -1, 3, d.least, d.greatest) if d.least <= v <= d.greatest]
    )


def gather(s: Scope, dtype: str, shape: Shape, ids: Callable[[Scope, Shape], Expr]) -> Made | None:
    """Rows or columns by number; the numbers have one axis."""
    tensor = _tensor(s, dtype, shape)
    if tensor is None or tensor.mode == "buffer":
        return None
    if dtype == "e8m0" or tensor.packed:
        return None
    if "bits" in s.profile.lacks and DTYPES[dtype].bits < 8:
        return None
    place = s.random.randrange(len(shape))
    points = set(s.random.sample(range(len(tensor.extents)), len(tensor.extents) - len(shape)))
    kept = [i for i in range(len(tensor.extents)) if i not in points]
    axis, lengths = kept[place], dict(zip(kept, shape, strict=True))
    subs = tuple(
        Sub("point", start(s, extent, 1)) if i in points else
        Sub("all") if i == axis else
        ended(s, Sub("slice", start(s, extent, lengths[i]), lengths[i]), extent)
        for i, extent in enumerate(tensor.extents)
    )  # fmt: skip
    made = Expr("gather", dtype, shape, (ids(s, (shape[place],)),), (tensor.name, subs, axis))
    return Made(made, *range_of(dtype, tensor.draw))
