"""The table of the language: every operation by dtype and by shape class, as programs of the oracle.

for name, program in programs(profile("interp"), "i8", "ragged"): ...

What is listed here is compared with the language's own registry by the tests, so that a new function
is in the table or has a reason to stand outside.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from support.oracle.cells import LOOSE, operations
from support.oracle.dtypes import DTYPES
from support.oracle.expressions import number
from support.oracle.printer import INFIX
from support.oracle.profiles import Profile
from support.oracle.tree import Affine, Expr, Program, Scatter, Shape, Stmt, Store, Sub, Tensor

# What has no values of its own, or needs layouts, threads or a program around it.
OUTSIDE = {
    "block_index": "of a grid", "commit": "explicit", "copy_async": "explicit", "print": "text",
    "register": "explicit", "semaphore_release": "explicit", "semaphore_wait": "explicit",
    "shared": "explicit", "sync": "explicit", "view": "explicit", "wait": "explicit",
    "atomic_add": "tests/programs/test_atomics.py", "buffer": "random programs",
    **dict.fromkeys(("atomic_max", "atomic_min"), "tests/programs/test_index_tiles.py"),
    **dict.fromkeys(("atomic_exchange", "atomic_cas"), "tests/programs/test_index_tiles.py"),
    "cdiv": "of index scalars", "dim": "of index scalars", "select": "random programs",
    "turns_at_once": "a constant of the machine", "cast": "casts()", "dot": "products()",
    "or": "random programs", "and": "random programs",
    "store": "random programs", "reduce": "tests/programs/test_axes.py",
    "scan": "tests/programs/test_axes.py",
}  # fmt: skip
CLASSES = ("whole", "ragged", "one", "odd", "strided", "offset", "transposed")


def _load(name: str, dtype: str, kind: str) -> tuple[Tensor, Expr]:
    """A tensor and the tile of a turn, [rows, columns], in a shape class."""
    rows, columns = extent(kind)
    m = Affine(0, ((1, "m"),))
    draw = "special" if DTYPES[dtype].is_float else "any"
    extents: tuple[int | str, ...] = ("M", columns)
    subs = (Sub("slice", m, rows), Sub("all"))
    if kind == "strided":
        extents = (29, 2 * columns)
        subs = (Sub("slice", Affine(0, ((2, "m"),)), rows, 2), Sub("slice", Affine(1), columns, 2))
    if kind == "offset":
        subs = (Sub("slice", m.plus(-3), rows), Sub("slice", Affine(2), columns))
    tensor = Tensor(name, dtype, extents, "in", draw)
    if kind == "transposed":
        tensor = Tensor(name, dtype, (columns, "M"), "in", draw)
        turned = Expr("load", dtype, (columns, rows), (), (name, subs[::-1], None))
        return tensor, Expr("transpose", dtype, (rows, columns), (turned,), (None,))
    return tensor, Expr("load", dtype, (rows, columns), (), (name, subs, None))


def extent(kind: str) -> Shape:
    """Rows and columns of a turn's tile."""
    return {"one": (1, 8), "odd": (5, 7)}.get(kind, (8, 8))


def _rows(kind: str) -> int:
    return {"ragged": 13, "one": 3, "odd": 17}.get(kind, 16)


def programs(
    profile: Profile, dtype: str, kind: str, only: str | None = None
) -> Iterator[tuple[tuple[str, ...], Program]]:
    """Programs of as many operations as a machine writes tensors in a turn, with their names."""
    if dtype not in profile.dtypes:
        return
    (a, x), (b, y) = _load("a", dtype, kind), _load("b", dtype, kind)
    found = {op: make(x, y) for op, make in operations(dtype).items() if only in (None, op)}
    if DTYPES[dtype].bits < 8 and dtype != "bool" and "narrow" in profile.lacks:
        found = {op: e for op, e in found.items() if op in ("load", "concat", "reshape", "repeat")}
    if DTYPES[dtype].kind == "scale" and kind in ("ragged", "odd", "strided", "offset"):
        found = {}  # what is outside reads 0, which e8m0 has not
    names = list(found)
    for at in range(0, len(names), profile.outputs):
        some = tuple(names[at : at + profile.outputs])
        yield some, _program((a, b), {n: found[n] for n in some}, kind)


def _program(inputs: tuple[Tensor, ...], found: dict[str, Expr], kind: str) -> Program:
    stores: list[Stmt] = []
    tensors = list(inputs)
    loose = []
    m = Affine(0, ((1, "m"),))
    for i, (name, e) in enumerate(found.items()):
        tensors.append(Tensor(f"y{i}", e.dtype, ("M", e.shape[1]), "out"))
        stores.append(Store(f"y{i}", (Sub("slice", m, e.shape[0]), Sub("all")), e))
        loose += [f"y{i}"] if name in LOOSE or (name == "**" and e.dtype[0] in "fb") else []
    dims = (("M", _rows(kind)),)
    return Program(
        7, tuple(tensors), (), dims, (("m", "M", extent(kind)[0]),), tuple(stores), tuple(loose)
    )


def casts(
    profile: Profile, source: str, saturate: bool
) -> Iterator[tuple[tuple[str, ...], Program]]:
    """Of every code of a dtype (or many numbers of a wide one) to every dtype."""
    if source not in profile.dtypes:
        return
    count = 1 << DTYPES[source].bits if DTYPES[source].bits <= 8 else 256
    columns = min(count, 16)
    draw = "codes" if DTYPES[source].bits <= 8 else "special"
    rows = min(count // columns, 8)
    x = Tensor("a", source, ("M", columns), "in", draw)
    subs = (Sub("slice", Affine(0, ((1, "m"),)), rows), Sub("all"))
    tile = Expr("load", source, (rows, columns), (), ("a", subs, None))
    names = [n for n in profile.dtypes if n != source and not _is_odd(source, n)]
    for at in range(0, len(names), profile.outputs):
        some = names[at : at + profile.outputs]
        made = {n: Expr("cast", n, tile.shape, (tile,), (saturate,)) for n in some}
        program = _program((x,), made, "whole")
        yield (
            tuple(some),
            Program(
                7,
                program.tensors,
                (),
                (("M", count // columns),),
                (("m", "M", rows),),
                program.body,
            ),
        )


def _is_odd(source: str, to: str) -> bool:
    """Casts of scales that no rule says: to integers, and of what is no float."""
    return "e8m0" in (source, to) and not (DTYPES[source].is_float or DTYPES[to].is_float)


def pairs(profile: Profile, dtype: str) -> Iterator[tuple[tuple[str, ...], Program]]:
    """All pairs of codes of an integer dtype of up to 8 bits, for every operation of two tiles."""
    if not profile.computes(dtype) or dtype not in profile.dtypes:
        return
    count = 1 << DTYPES[dtype].bits
    rows = min(count, 16)
    m = Affine(0, ((1, "m"),))
    left = Expr("load", dtype, (rows, 1), (), ("a", (Sub("slice", m, rows), Sub("new")), None))
    right = Expr("load", dtype, (1, count), (), ("b", (Sub("new"), Sub("all")), None))
    x, y = (Expr("broadcast", dtype, (rows, count), (e,)) for e in (left, right))
    inputs = (
        Tensor("a", dtype, ("M",), "in", "codes"),
        Tensor("b", dtype, (count,), "in", "codes"),
    )
    two = [op for op in operations(dtype) if op in INFIX - {"**"} or op in ("maximum", "minimum")]
    for at in range(0, len(two), profile.outputs):
        some = two[at : at + profile.outputs]
        made = {op: operations(dtype)[op](x, y) for op in some}
        program = _program(inputs, made, "whole")
        yield (
            tuple(some),
            Program(7, program.tensors, (), (("M", count),), (("m", "M", rows),), program.body),
        )


def products(
    profile: Profile, how: str, extents: tuple[int, int, int]
) -> Iterator[tuple[tuple[str, ...], Program]]:
    """Products of each dtype with itself and with the next of its kind."""
    m, n, k = extents
    integers = [d for d in profile.dtypes if DTYPES[d].is_integer]
    floats = [d for d in profile.dtypes if DTYPES[d].is_float]
    found = list(zip(integers, integers, strict=True))
    found += list(itertools.pairwise(integers))
    found += [(d, d) for d in floats]
    for left, right in found:
        to = "i32" if left in integers else "f64" if left == "f64" else "f32"
        first, second = (k, m) if "a" in how else (m, k), (n, k) if "b" in how else (k, n)
        a, b = Tensor("a", left, first, "in", "tiny"), Tensor("b", right, second, "in", "tiny")
        x, y = (
            Expr("load", t.dtype, shape, (), (t.name, (Sub("all"), Sub("all")), None))
            for t, shape in ((a, first), (b, second))
        )
        value = Expr("dot", to, (m, n), (x, y), (how,))
        store = Store("y", (Sub("all"), Sub("all")), value)
        out = Tensor("y", to, (m, n), "out")
        yield (f"dot {left} {right}",), Program(7, (a, b, out), (), (), (), (store,))


def rest(profile: Profile, dtype: str) -> Iterator[tuple[tuple[str, ...], Program]]:
    """Making tiles, and tensors by numbers."""
    d = DTYPES[dtype]
    if dtype not in profile.dtypes or d.kind == "scale":
        return
    ids = Tensor("ids", "i32", (5,), "in", "ids")
    table = Tensor("a", dtype, (7, 8))
    chosen = Expr("load", "i32", (5,), (), ("ids", (Sub("all"),), None))
    rows = Expr(
        "gather", dtype, (5, 8), (chosen,), ("a", (Sub("all"), Sub("slice", Affine(), 8)), 0)
    )
    out = Tensor("y", dtype, (5, 8), "out")
    store = Store("y", (Sub("all"), Sub("all")), rows)
    yield ("gather",), Program(7, (ids, table, out), (), (), (), (store,))
    whole = Expr("load", dtype, (5, 8), (), ("a", (Sub("slice", Affine(1), 5), Sub("all")), None))
    put = Scatter("y", (Sub("all"), Sub("slice", Affine(), 8)), chosen, whole, 0)
    yield (
        ("scatter",),
        Program(7, (ids, table, Tensor("y", dtype, (7, 8), "inout")), (), (), (), (put,)),
    )
    one = number(1.0 if d.is_float else d.kind == "bool" or min(1, d.greatest), dtype)
    for name, e in (
        ("full", Expr("full", dtype, (5, 8), (one,))),
        ("zeros", Expr("zeros", dtype, (5, 8))),
    ):
        yield (name,), Program(7, (out,), (), (), (), (Store("y", (Sub("all"), Sub("all")), e),))
    if dtype == "i32":
        line = Store("y", (Sub("all"),), Expr("arange", "i32", (9,)))
        yield ("arange",), Program(7, (Tensor("y", "i32", (9,), "out"),), (), (), (), (line,))
