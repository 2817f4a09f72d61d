"""Parameters as an NPU takes them: arrays of whole bytes, scalars as the words of one array.

    kernel k(w: u4[K, 128] packed row, scale: f32, ...)
    %q = load @w[k : +64, n : +64] : u4[64, 64]

becomes

    kernel k(w: u8[K, 64], scale_word: i32[1], ...)
    %words = load @scale_word[0 : +1] : i32[1]
    %word = extract %words [0] : i32[]
    %bits = view %word : f32[]
    let scale: f32 = read(%bits)
    %b = load @w[k : +64, n // 2 : +32] : u8[64, 32]
    %q = view %b : u4[64, 64]

A host's sequence has no values that change from call to call but those in its arrays.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from dslc.codegen.row_codes import with_row_codes
from dslc.compiler.artifact import Json
from dslc.compiler.diagnostics import Loc, error
from dslc.compiler.dtypes import BF16, BOOL, F16, F32, I32, INDEX, U8, DType
from dslc.compiler.ir import (
    AxisSlice,
    Call,
    Kernel,
    Memory,
    Program,
    Region,
    Role,
    TileType,
    Value,
)
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, simplify
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Param
from dslc.compiler.ir.rewrite import Rewriter, Substitution, fresh_name
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.manifest import expression_text


def are_bytes(param: Param) -> bool:
    """Whether an array holds packed bytes; `codegen.row_codes` left those of which it can be."""
    return isinstance(param, Memory) and param.packed == "row" and param.dtype.is_low_bit


def as_arrays(kernel: Kernel) -> Kernel:
    """The kernel over arrays alone, whose packed rows are bytes."""
    over, _ = with_row_codes(kernel)
    assert isinstance(over, Kernel)
    kernel = over
    rows = {m: _bytes(m) for m in kernel.tensors if are_bytes(m)}
    if rows:
        kernel = _Rows(rows).kernel(kernel)
    scalars = scalars_of(kernel)
    if not scalars:
        return kernel
    words, body = _unpacked(scalars, {m.name for m in kernel.tensors}, kernel.loc)
    return dataclasses.replace(kernel, params=(*kernel.tensors, words), body=(*body, *kernel.body))


def program_as_arrays(program: Program) -> tuple[Program, dict[Param, list[Json]]]:
    """A program over arrays alone, and for those that hold scalars the expressions of their words.

    Equal kernels are one; scalars whose values are known are constants in them.
    """
    _refuse(program)
    over, _ = with_row_codes(program)
    assert isinstance(over, Program)
    program = over
    rows = {m: _bytes(m) for m in program.params if isinstance(m, Memory) and are_bytes(m)}
    known: dict[str, Kernel] = {}
    words: dict[str, Memory] = {}
    texts: dict[Param, list[Json]] = {}
    taken = {m.name for m in (*program.params, *program.buffers)}
    calls = []
    for call in program.calls:
        kernel, given = _known_scalars(call)
        given_tensors = [a for a in call.args if isinstance(a, Memory)]
        over_arrays = known.setdefault(print_program(kernel), as_arrays(kernel))
        args: list[Memory | ex.Expr] = [rows.get(a, a) for a in given_tensors]
        if given:
            own = scalar_words(given.items())
            if repr(own) not in words:
                name = fresh_name("scalars_word", taken)
                words[repr(own)] = Memory(name, I32, (ex.index(len(given)),), Role.IN)
                texts[words[repr(own)]] = own
            args.append(words[repr(own)])
        calls.append(Call(over_arrays, tuple(args), call.loc))
    tensors = [rows.get(m, m) for m in program.params if isinstance(m, Memory)]
    params = (*tensors, *words.values())
    return dataclasses.replace(program, params=params, calls=tuple(calls)), texts


def _refuse(program: Program) -> None:
    """DSL0590 for what the transfers of a sequence, which is always the same, do not have."""
    for view in program.views:
        text = f"a part of {view.base.name}: an NPU's kernels take tensors whole"
        hint = "take the part as a tensor of the program's own, or its place as a scalar"
        raise error("DSL0590", text, view.memory.loc, hint=hint)
    for call in program.calls:
        if call.when is not None:
            text = f"{call.kernel.name} is called on a condition: an NPU's sequence has none"
            hint = "fix what decides with -D, or choose in the kernel"
            raise error("DSL0590", text, call.loc, hint=hint)


def _known_scalars(call: Call) -> tuple[Kernel, dict[ex.Var, ex.Expr]]:
    """The kernel of a call with constants for scalars that are known, and what the others are given."""
    known: dict[ex.Var, ex.Expr] = {}
    given: dict[ex.Var, ex.Expr] = {}
    for param, arg in zip(call.kernel.params, call.args, strict=True):
        if isinstance(param, ex.Var) and not isinstance(arg, Memory):
            (given if constant(arg) is None else known)[param] = arg
    if not known:
        return call.kernel, given
    kernel = Substitution(scalars=known).kernel(call.kernel)
    params = tuple(p for p in kernel.params if p not in known)
    return dataclasses.replace(kernel, params=params), given


def scalar_words(scalars: Iterable[ex.Var | tuple[ex.Var, ex.Expr]]) -> list[Json]:
    """The words of scalars: an expression over the caller's, and the type whose bits it gives."""
    pairs = [s if isinstance(s, tuple) else (s, s) for s in scalars]
    return [[expression_text(value), var.dtype.name] for var, value in pairs]


def scalars_of(kernel: Kernel) -> list[ex.Var]:
    """The parameters that are scalars, in order."""
    return [p for p in kernel.params if isinstance(p, ex.Var)]


def _unpacked(scalars: list[ex.Var], taken: set[str], loc: Loc | None) -> tuple[Memory, list[Stmt]]:
    """The array of scalars, and the statements that give them their names again."""
    name = "_".join([*(s.name for s in scalars), "word"])
    while name in taken:
        name += "s"
    count = len(scalars)
    memory = Memory(name, I32, (ex.index(count),), Role.IN)
    whole = Value(TileType(I32, (count,)), name)
    every = AxisSlice(ex.index(0), count, checked=False)
    body: list[Stmt] = [ins.Load(whole, Region(memory, (every,)))]
    for number, scalar in enumerate(scalars):
        word = Value(TileType(I32, ()), scalar.name)
        body.append(ins.Extract(word, whole, (number,), (1,), (0,)))
        body += _named(scalar, word, loc)
    return memory, body


def _named(scalar: ex.Var, word: Value, loc: Loc | None) -> Iterable[Stmt]:
    """A scalar from its word: its bits where it is an f32, else its value."""
    dtype = scalar.dtype
    if dtype in (F32, BF16, F16):
        bits = Value(TileType(F32, ()), scalar.name)
        read: ex.Expr = ex.Read(bits)
        value = read if dtype == F32 else ex.Convert(read, dtype)
        return ins.View(bits, word), ins.Let(scalar, value)
    if not (dtype == BOOL or (dtype.is_integer and dtype.bits <= I32.bits)):
        raise error(
            "DSL0590",
            f"{scalar.name} is a scalar of {dtype}: an NPU takes numbers of up to 32 bits",
            loc,
            hint=f"make it {'f32' if dtype.is_float else 'i32'}",
        )
    number: ex.Expr = ex.Read(word)
    return (ins.Let(scalar, number if dtype == I32 else ex.Convert(number, dtype)),)


def _bytes(memory: Memory) -> Memory:
    *outer, width = memory.shape
    bits = ex.Binary("mul", width, ex.index(memory.dtype.bits), INDEX)
    count = simplify(ex.Binary("floordiv", bits, ex.index(8), INDEX))
    return dataclasses.replace(memory, dtype=U8, shape=(*outer, count), packed=None)


class _Rows(Rewriter):
    """Loads of packed rows as loads of bytes and views."""

    def __init__(self, rows: dict[Memory, Memory]) -> None:
        super().__init__()
        self._memories.update(rows)
        self._rows = rows

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A load of rows is one of their bytes, then a view."""
        if not (isinstance(stmt, ins.Load) and stmt.region.memory in self._rows):
            return super().statement(stmt)
        memory = stmt.region.memory
        region = _byte_region(stmt.region, self._rows[memory], memory.dtype)
        *shape, _ = stmt.out.type.shape
        taken = Value(TileType(U8, (*shape, region.axes[-1].size)), f"{stmt.out.name}_bytes")
        return (
            dataclasses.replace(stmt, out=taken, region=region),
            ins.View(stmt.out, taken, loc=stmt.loc),
        )


def _byte_region(region: Region, memory: Memory, dtype: DType) -> Region:
    """The same part of a tensor's bytes, which are whole ones."""
    *axes, last = region.axes
    bits = ex.Binary("mul", last.start, ex.index(dtype.bits), INDEX)
    start = simplify(ex.Binary("floordiv", bits, ex.index(8), INDEX))
    whole = dataclasses.replace(last, start=start, size=last.size * dtype.bits // 8)
    return Region(memory, (*axes, whole))
