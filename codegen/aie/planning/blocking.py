"""Which tiles lie block by block: operands of products in a core's matrix shape, and their results.

A load that only products read comes in blocks, the DMA of a memory tile makes them; a store of a
product's result leaves in blocks and is brought into rows there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dslc.codegen.aie.compute.emission import Blocks
from dslc.codegen.aie.dtypes import bytes_of
from dslc.codegen.aie.planning.scopes import Access
from dslc.codegen.aie.planning.streams import Stream
from dslc.compiler.ir import Kernel, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Name, definitions, handed, users, walk
from dslc.compiler.targets import Atom, Target


@dataclass(slots=True)
class Blocking:
    """The matrix shape of each product that has one, and the blocks of tiles."""

    atoms: dict[ins.Dot, Atom] = field(default_factory=dict)
    blocks: dict[Value, Blocks] = field(default_factory=dict)


def find_blocking(kernel: Kernel, target: Target, streams: Sequence[Stream]) -> Blocking:
    """The blocks of a kernel's tiles; those of streams are set."""
    blocking = Blocking()
    for stmt in walk(kernel.body):
        if isinstance(stmt, ins.Dot) and (atom := _atom(stmt, target)) is not None:
            blocking.atoms[stmt] = atom
            blocking.blocks[stmt.out] = (atom.m, atom.n)
    _hand_on(kernel, blocking.blocks)
    defined, readers = definitions(kernel.body), users(kernel.body)
    for stream in streams:
        if len(stream.parts) == 1:
            (access,) = stream.parts
            blocks = _stream_blocks(access, blocking, defined, readers)
            if blocks is not None and _is_legal(stream, access, blocks):
                stream.blocks = blocks
    return blocking


def _atom(stmt: ins.Dot, target: Target) -> Atom | None:
    """The first matrix shape whose blocks fill the operands."""
    if stmt.out.type.rank != 2:
        return None
    (m, k), n = stmt.a.type.shape, stmt.b.type.shape[1]
    a, b = stmt.a.type.dtype, stmt.b.type.dtype
    for atom in target.atoms:
        fits = m % atom.m == 0 and k % atom.k == 0 and n % atom.n == 0
        words = atom.k * bytes_of(a) % 4 == 0 and atom.n * bytes_of(b) % 4 == 0
        if fits and words and atom.takes(a.name, b.name):
            return atom
    return None


def _hand_on(kernel: Kernel, blocks: dict[Value, Blocks]) -> None:
    """Carried values lie as what is yielded lies."""
    for stmt in reversed(list(walk(kernel.body))):
        for carried in handed(stmt):
            if isinstance(carried, ins.Carried) and isinstance(carried.yielded, Value):
                own = _made_of(carried.yielded, blocks, definitions(kernel.body))
                if own is not None:
                    for value in (carried.inner, carried.result):
                        assert isinstance(value, Value)
                        blocks[value] = own


def _made_of(
    value: Value, blocks: Mapping[Value, Blocks], defined: Mapping[Name, Stmt]
) -> Blocks | None:
    """The blocks of what a tile is computed of, element by element: the first found in depth."""
    open_, seen = [value], {value}
    while open_:
        at = open_.pop()
        if at in blocks:
            return blocks[at]
        stmt = defined.get(at)
        if isinstance(stmt, ins.ELEMENTWISE):
            names = ("x", "y", "z", "condition")
            parts = [p for n in names if isinstance(p := getattr(stmt, n, None), Value)]
            open_ += [p for p in reversed(parts) if p not in seen]
            seen.update(parts)
    return None


def _stream_blocks(
    access: Access,
    found: Blocking,
    defined: Mapping[Name, Stmt],
    readers: Mapping[Name, Iterable[Stmt]],
) -> Blocks | None:
    stmt = access.stmt
    if isinstance(stmt, ins.Store):
        return _made_of(stmt.x, found.blocks, defined) if stmt.x.type.rank == 2 else None
    wanted = set()
    for reader in readers.get(stmt.out, ()):
        if isinstance(reader, ins.Transpose) and reader.axes == (1, 0):
            wanted.add(_transposed_blocks(reader, found, readers))
            continue
        if not isinstance(reader, ins.Dot) or reader not in found.atoms:
            return None
        atom = found.atoms[reader]
        if stmt.out is reader.a:
            wanted.add((atom.m, atom.k))
        if stmt.out is reader.b:
            wanted.add((atom.k, atom.n))
        if stmt.out is reader.acc:
            wanted.add((atom.m, atom.n))
    return wanted.pop() if len(wanted) == 1 else None


def _transposed_blocks(
    stmt: ins.Transpose, found: Blocking, readers: Mapping[Name, Iterable[Stmt]]
) -> Blocks | None:
    """The blocks of a tile that products alone read, and read transposed."""
    wanted: set[Blocks | None] = set()
    for reader in readers.get(stmt.out, ()):
        atom = found.atoms.get(reader) if isinstance(reader, ins.Dot) else None
        if atom is None or not isinstance(reader, ins.Dot) or stmt.out is reader.acc:
            return None
        wanted.add((atom.k, atom.m) if stmt.out is reader.a else (atom.n, atom.k))
    return wanted.pop() if len(wanted) == 1 else None


def _is_legal(stream: Stream, access: Access, blocks: Blocks) -> bool:
    """Whether the object is the tile, whole, and its blocks are words."""
    shape = access.region.shape
    if len(shape) != 2 or stream.matrix is None:
        return False
    whole = stream.elements == shape[0] * shape[1] and stream.matrix == shape
    fits = shape[0] % blocks[0] == 0 and shape[1] % blocks[1] == 0
    return whole and fits and blocks[1] * bytes_of(stream.memory.dtype) % 4 == 0
